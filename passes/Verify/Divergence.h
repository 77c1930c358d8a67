// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds where two runs of a program diverge.

#ifndef TPOPT_PASSES_VERIFY_DIVERGENCE_H
#define TPOPT_PASSES_VERIFY_DIVERGENCE_H

#include "lib/Interpreter/Interpreter.h"

#include "llvm/ADT/MapVector.h"

#include <string>

namespace tp {

/// Describes the first element in which two tensors of one shape differ, as in
/// `at [1, 2] it is 5, the whole program has 7 (3 of 24 elements differ)`. None
/// if they are equal. `isEqual` gets the position and the two elements.
std::optional<std::string> findDifference(
    interp::DenseEvaluator &evaluator, const TensorValue &local,
    const TensorValue &whole,
    llvm::function_ref<bool(int64_t, interp::Element, interp::Element)>
        isEqual);
/// Describes the first element that differs by more than `tolerance`.
std::optional<std::string> findDifference(interp::DenseEvaluator &evaluator,
                                          const TensorValue &local,
                                          const TensorValue &whole,
                                          double tolerance);

/// The values that the named ops of a run computed. An op is named by
/// `loc("name")`.
class Trace {
public:
  /// The interpreter must call this after each op.
  void record(mlir::Operation *op,
              llvm::ArrayRef<interp::DeviceValues> results);

  /// For each name and global type, the last op with that name and type: it
  /// computes the final form of the value. Entries are in order of execution.
  llvm::MapVector<std::pair<llvm::StringRef, mlir::Type>, mlir::Operation *>
  getFinalOps() const;
  /// The results of `op`, one for each time it ran.
  llvm::ArrayRef<interp::DeviceValues> getRuns(mlir::Operation *op) const {
    return runs.find(op)->second;
  }

private:
  llvm::MapVector<mlir::Operation *, std::vector<interp::DeviceValues>> runs;
};

/// Runs both programs again. Emits a remark at the first named op of the local
/// program that computes a different value than its counterpart in the whole
/// program, or a remark that there is no such op.
void explainDifference(interp::DenseEvaluator &evaluator,
                       interp::InterpreterOptions options,
                       const interp::Program &local,
                       llvm::ArrayRef<TensorValue> localArguments,
                       const interp::Program &whole,
                       llvm::ArrayRef<TensorValue> wholeArguments);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_DIVERGENCE_H
