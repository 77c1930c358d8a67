// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How a gradient updates its parameter.

#ifndef TPOPT_PASSES_TRAIN_OPTIMIZER_H
#define TPOPT_PASSES_TRAIN_OPTIMIZER_H

#include "Arguments.h"
#include "dialects/TP/Formulas.h"

#include <memory>

namespace tp {

/// A tensor that an optimizer stores for a parameter. It is initially zero.
struct StateTensor {
  llvm::StringRef name;
  /// The numbers of those dimensions of the parameter that this tensor has.
  llvm::SmallVector<int64_t> dims;
};

/// The operands of an update. All have the element type of the states.
struct UpdateValues {
  mlir::Value parameter, gradient;
  mlir::Value rate;                        ///< The learning rate, a scalar.
  llvm::ArrayRef<mlir::Value> corrections; ///< From `getCorrections`.
  bool decays;                             ///< Whether the parameter decays.
};

/// An optimizer with its hyperparameters. Its formulas, and their order, are
/// those of the class with the same name in torch.optim, if there is one.
class Optimizer {
public:
  virtual ~Optimizer() = default;

  /// Parses text such as "adamw(lr=3e-4,betas=(0.9,0.95))". If the text is
  /// wrong, emits an error and returns null.
  static std::unique_ptr<Optimizer> parse(llvm::StringRef text,
                                          mlir::Location loc);

  llvm::StringRef getName() const { return name; }
  double getRate() const { return rate; }
  /// Returns true if parameters decay by default. The recipe can exclude some.
  bool hasWeightDecay() const { return weightDecay != 0; }

  /// The states of a parameter with `rank` dimensions.
  virtual llvm::SmallVector<StateTensor> getStates(int64_t rank) const = 0;
  /// Scalars that all parameters share in a step. `count` is the number of the
  /// step, a scalar float that starts at 1.
  virtual llvm::SmallVector<mlir::Value>
  getCorrections(Formulas &, mlir::Value /*rate*/,
                 mlir::Value /*count*/) const {
    return {};
  }
  /// The new parameter. New states replace those in `states`.
  virtual mlir::Value
  update(Formulas &emit, const UpdateValues &values,
         llvm::MutableArrayRef<mlir::Value> states) const = 0;

protected:
  /// Reads the arguments that all optimizers have.
  void read(Arguments &arguments, double defaultRate, double defaultDecay) {
    rate = arguments.getNumber("lr", defaultRate, kNotNegative);
    weightDecay =
        arguments.getNumber("weight_decay", defaultDecay, kNotNegative);
  }
  /// The gradient of the loss plus a penalty on large weights.
  mlir::Value getPenalized(Formulas &emit, const UpdateValues &values) const;
  /// The scalar by which a step multiplies weights whose decay is separate from
  /// the gradient; null if no weights decay.
  mlir::Value getKept(Formulas &emit, mlir::Value rate) const;
  /// The parameter, multiplied by `kept` if it decays.
  mlir::Value getDecayed(Formulas &emit, const UpdateValues &values,
                         mlir::Value kept) const;

private:
  std::string name;
  double rate = 0, weightDecay = 0;
};

// The optimizers. Each reads the arguments that it knows; any others are
// errors.
std::unique_ptr<Optimizer> makeSgd(Arguments &arguments);
std::unique_ptr<Optimizer> makeAdam(Arguments &arguments);
std::unique_ptr<Optimizer> makeAdamW(Arguments &arguments);
std::unique_ptr<Optimizer> makeLion(Arguments &arguments);
std::unique_ptr<Optimizer> makeAdafactor(Arguments &arguments);

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_OPTIMIZER_H
