// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A plan: patterns of argument names, or results' names, and how these are cut.

#ifndef TPOPT_PASSES_IMPORT_PLAN_H
#define TPOPT_PASSES_IMPORT_PLAN_H

#include "tpopt/Sharding/Sharding.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/GlobPattern.h"

namespace tp {

struct PlanRule {
  enum class Action { Colwise, Rowwise, Replicate, Explicit };

  /// Owned by the context, since `glob` points into it.
  llvm::StringRef pattern;
  llvm::GlobPattern glob;
  Action action;
  llvm::SmallVector<AxisList> axes; ///< Of every dimension, if Explicit.
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

private:
  mlir::LogicalResult add(llvm::StringRef text, PlanRule::Action action,
                          llvm::ArrayRef<AxisList> axes, mlir::Location loc);

  std::vector<PlanRule> rules;
};

/// Whether a rule is about the argument `name`: as it stands, without a leading
/// `model.`, or down to its module, "layers.0.self_attn.q_proj".
bool matches(const PlanRule &rule, llvm::StringRef name);

/// Up to three of `names` that are most like `pattern`, numbers written `*`.
std::string getNearNames(llvm::StringRef pattern,
                         llvm::ArrayRef<llvm::StringRef> names);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_PLAN_H
