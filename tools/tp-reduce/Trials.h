// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the changes that leave a program interesting.

#ifndef TPOPT_TOOLS_TP_REDUCE_TRIALS_H
#define TPOPT_TOOLS_TP_REDUCE_TRIALS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Reducer/Tester.h"
#include "llvm/ADT/DenseMap.h"

namespace tp {

/// Runs the test script of a reduction. Results are cached, since the reduction
/// tree tries the same programs repeatedly.
class Trials {
public:
  /// `tester` must outlive this object.
  explicit Trials(const mlir::Tester &tester) : tester(tester) {}

  /// Changes `copy`, a copy of a function. `mapping` maps the operations of the
  /// function to those of the copy. Returns false if there is nothing to
  /// change. Outside of the copy, a change may only affect discardable
  /// attributes of the module.
  using Change = llvm::function_ref<bool(mlir::func::FuncOp copy,
                                         const mlir::IRMapping &mapping)>;

  /// Applies a change to a copy of the function. If the program stays
  /// interesting, the copy's operations replace those of the function.
  bool change(mlir::func::FuncOp function, mlir::PatternRewriter &rewriter,
              Change change);

  /// Erases an operation if the program stays interesting.
  bool erase(mlir::Operation *op, mlir::PatternRewriter &rewriter);

private:
  bool isInteresting(mlir::ModuleOp module);

  const mlir::Tester &tester;
  /// Keyed by a hash of the program.
  llvm::DenseMap<std::pair<uint64_t, uint64_t>, bool> answers;
};

} // namespace tp

#endif // TPOPT_TOOLS_TP_REDUCE_TRIALS_H
