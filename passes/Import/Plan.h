// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A plan: patterns for the names of arguments or results, and the shardings of
// these.

#ifndef TPOPT_PASSES_IMPORT_PLAN_H
#define TPOPT_PASSES_IMPORT_PLAN_H

#include "NamePattern.h"

#include "tpopt/Sharding/Sharding.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/JSON.h"

namespace tp {

/// The meaning of a word of a plan.
struct PlanWord {
  enum class Action {
    Colwise,
    Rowwise,
    Replicate,
    Experts,     ///< Shards dimension 0 of a stack of experts.
    Activations, ///< Only about a module's activations.
  };
  Action action;
  bool isPacked = false; ///< Each part of the dimension is split by itself.
  /// The word is about looking rows up, even if the table is also the output
  /// head.
  bool isEmbedding = false;
};

struct PlanRule {
  NamePattern pattern;
  std::optional<PlanWord> word;     ///< None if `axes` is given.
  llvm::SmallVector<AxisList> axes; ///< Per dimension, if there is no word.
  /// The rule comes from a plan that transformers ships: `*` stands for a
  /// number, words refer to the stored form of tensors, and the plan serves
  /// many models.
  bool isShipped;
  mlir::Location loc;
};

class Plan {
public:
  /// Megatron's tensor parallelism, for the families that can be imported.
  static Plan getMegatron(mlir::MLIRContext *context);
  /// Reads a plan file over `mesh`; failure after an error.
  static mlir::FailureOr<Plan> read(mlir::MLIRContext *context,
                                    llvm::StringRef path, const Mesh &mesh);

  llvm::ArrayRef<PlanRule> getRules() const { return rules; }
  /// Returns true if some word shards along the axis that the options give.
  bool cutsByWords() const;
  /// Returns true if parameters that no rule matches are kept whole on every
  /// device, as transformers does with parameters that its plans do not name.
  bool keepsOthersWhole() const { return isShipped; }

private:
  mlir::LogicalResult add(llvm::StringRef text, std::optional<PlanWord> word,
                          llvm::ArrayRef<AxisList> axes, bool isShipped,
                          mlir::Location loc);
  mlir::LogicalResult addEntry(llvm::StringRef pattern,
                               const llvm::json::Value &value, bool isShipped,
                               const Mesh &mesh, mlir::Location loc);

  std::vector<PlanRule> rules;
  bool isShipped = false; ///< Part of the plan is one that transformers ships.
};

/// Returns true if a rule matches the argument `name`: as written, without a
/// leading `model.`, or down to its module, "layers.0.self_attn.q_proj". A rule
/// about activations matches everything in its module.
bool matches(const PlanRule &rule, llvm::StringRef name);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_PLAN_H
