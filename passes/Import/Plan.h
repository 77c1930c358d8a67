// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A plan: patterns of argument names, or results' names, and how these are cut.

#ifndef TPOPT_PASSES_IMPORT_PLAN_H
#define TPOPT_PASSES_IMPORT_PLAN_H

#include "NamePattern.h"

#include "tpopt/Sharding/Sharding.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/JSON.h"

namespace tp {

/// What a word of a plan asks for.
struct PlanWord {
  enum class Action {
    Colwise,
    Rowwise,
    Replicate,
    Experts,     ///< Cuts dimension 0 of a stack of experts.
    Activations, ///< Is about what flows through a module: cuts no argument.
  };
  Action action;
  bool isPacked = false; ///< Each part of the dimension is cut by itself.
  /// Is about looking rows up, even if the table is a head, too.
  bool isEmbedding = false;
};

struct PlanRule {
  NamePattern pattern;
  std::optional<PlanWord> word;     ///< None if `axes` says it all.
  llvm::SmallVector<AxisList> axes; ///< Of every dimension, without a word.
  /// Of a plan that transformers ships: `*` is a number, words are about
  /// tensors as they are stored, and the plan serves many models.
  bool isShipped;
  mlir::Location loc;
};

class Plan {
public:
  /// Megatron's tensor parallelism for the families that are imported.
  static Plan getMegatron(mlir::MLIRContext *context);
  /// Reads a plan file over `mesh`; failure after an error.
  static mlir::FailureOr<Plan> read(mlir::MLIRContext *context,
                                    llvm::StringRef path, const Mesh &mesh);

  llvm::ArrayRef<PlanRule> getRules() const { return rules; }
  /// Whether some word cuts along the axis of the options.
  bool cutsByWords() const;
  /// Whether parameters that no rule is about are whole on every device, as
  /// transformers keeps what a plan of its own does not name.
  bool keepsOthersWhole() const { return isShipped; }

private:
  mlir::LogicalResult add(llvm::StringRef text, std::optional<PlanWord> word,
                          llvm::ArrayRef<AxisList> axes, bool isShipped,
                          mlir::Location loc);
  mlir::LogicalResult addEntry(llvm::StringRef pattern,
                               const llvm::json::Value &value, bool isShipped,
                               const Mesh &mesh, mlir::Location loc);

  std::vector<PlanRule> rules;
  bool isShipped = false; ///< Some of it is a plan that transformers ships.
};

/// Whether a rule is about the argument `name`: as it stands, without a leading
/// `model.`, or down to its module, "layers.0.self_attn.q_proj". A rule about
/// activations is about all that its module has.
bool matches(const PlanRule &rule, llvm::StringRef name);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_PLAN_H
