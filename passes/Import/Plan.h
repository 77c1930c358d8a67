// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A plan: patterns for the names of arguments or results, each with a sharding.

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
    Activations, ///< Applies only to activations.
  };
  Action action;
  bool isPacked = false; ///< Each part is sharded separately.
  /// True for the words `embedding_*`: a table is sharded as an embedding, even
  /// if it is also the weight of the output head.
  bool isEmbedding = false;
};

struct PlanRule {
  NamePattern pattern;
  std::optional<PlanWord> word;     ///< None if `axes` is given.
  llvm::SmallVector<AxisList> axes; ///< Per dimension, if there is no word.
  /// True if the rule comes from a plan that Hugging Face Transformers ships.
  /// In these plans, `*` matches only a number, and words apply to tensors as
  /// they are stored. A plan covers many models, so that some rules may match
  /// nothing.
  bool isShipped;
  mlir::Location loc;
};

class Plan {
public:
  /// Megatron's tensor parallelism, for the model families that can be
  /// imported.
  static Plan getMegatron(mlir::MLIRContext *context);
  /// Reads a plan file for `mesh`; emits an error on failure.
  static mlir::FailureOr<Plan> read(mlir::MLIRContext *context,
                                    llvm::StringRef path, const Mesh &mesh);

  llvm::ArrayRef<PlanRule> getRules() const { return rules; }
  /// Returns true if some word shards along the axis that is given as an
  /// option.
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
  bool isShipped = false; ///< Part of the plan comes from transformers.
};

/// Returns true if a rule matches the argument `name` or a shorter form of it:
/// without a leading `model.`, or only up to the name of the module, as in
/// "layers.0.self_attn.q_proj". A rule about activations matches everything in
/// its module.
bool matches(const PlanRule &rule, llvm::StringRef name);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_PLAN_H
