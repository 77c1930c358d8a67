// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How a parameter follows from its gradient.

#ifndef TPOPT_PASSES_TRAIN_OPTIMIZER_H
#define TPOPT_PASSES_TRAIN_OPTIMIZER_H

#include "Arguments.h"
#include "dialects/TP/Formulas.h"

#include <memory>

namespace tp {

/// A tensor that an optimizer keeps beside a parameter, zero at first.
struct StateTensor {
  llvm::StringRef name;
  /// The dimensions of the parameter that it has.
  llvm::SmallVector<int64_t> dims;
};

/// What an optimizer updates by. All of it has the type that the states have.
struct UpdateValues {
  mlir::Value parameter, gradient;
  mlir::Value rate;                        ///< The learning rate, a scalar.
  llvm::ArrayRef<mlir::Value> corrections; ///< As `getCorrections` gives them.
  bool decays;                             ///< Whether weights decay.
};

/// One optimizer with its numbers. Its formulas are those of the class of
/// torch.optim that has its name, in the same order.
class Optimizer {
public:
  virtual ~Optimizer() = default;

  /// Reads "adamw(lr=3e-4,betas=(0.9,0.95))"; null after an error.
  static std::unique_ptr<Optimizer> parse(llvm::StringRef text,
                                          mlir::Location loc);

  llvm::StringRef getName() const { return name; }
  double getRate() const { return rate; }
  /// Whether weights decay where they may.
  bool hasWeightDecay() const { return weightDecay != 0; }

  /// What is kept of a parameter of that many dimensions.
  virtual llvm::SmallVector<StateTensor> getStates(int64_t rank) const = 0;
  /// Scalars that all parameters of a step share. `count` is the number of the
  /// step from 1 on, a scalar float.
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
  /// Reads the arguments that all have.
  void read(Arguments &arguments, double defaultRate, double defaultDecay) {
    rate = arguments.getNumber("lr", defaultRate, kNotNegative);
    weightDecay =
        arguments.getNumber("weight_decay", defaultDecay, kNotNegative);
  }
  /// The gradient of the loss and of a penalty on large weights.
  mlir::Value getPenalized(Formulas &emit, const UpdateValues &values) const;
  /// What a step leaves of a weight that decays apart from the gradient, a
  /// scalar; null if none decays.
  mlir::Value getKept(Formulas &emit, mlir::Value rate) const;
  /// The parameter, decayed to `kept` of it.
  mlir::Value getDecayed(Formulas &emit, const UpdateValues &values,
                         mlir::Value kept) const;

private:
  std::string name;
  double rate = 0, weightDecay = 0;
};

// The optimizers. Each reads its arguments, what else there is is an error.
std::unique_ptr<Optimizer> makeSgd(Arguments &arguments);
std::unique_ptr<Optimizer> makeAdam(Arguments &arguments);
std::unique_ptr<Optimizer> makeAdamW(Arguments &arguments);
std::unique_ptr<Optimizer> makeLion(Arguments &arguments);
std::unique_ptr<Optimizer> makeAdafactor(Arguments &arguments);

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_OPTIMIZER_H
