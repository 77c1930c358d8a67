// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Records whether indices were drawn both inside and outside of the dimension
// that they address.
//
// A test in which a scatter never hits cannot tell whether the scatter is
// there, and one in which it never misses cannot tell whether it checks bounds.
// It is hard to draw arguments for which computed indices cover all cases. So
// for each op, the cases that its indices have reached are recorded:
//
//     tp.scatter  index   inside, outside
//     tp.case     branch  0, 1, .. , none of them
//     tp.while            whether the body ran

#ifndef TPOPT_PASSES_VERIFY_INDEXCOVERAGE_H
#define TPOPT_PASSES_VERIFY_INDEXCOVERAGE_H

#include "lib/Interpreter/Interpreter.h"
#include "tpopt/Dialect/SPMD/RegionFlow.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tp {

class IndexCoverage {
public:
  /// Requires all cases of all indices in `function`, except those that no data
  /// can reach, such as an out-of-range value of a clamped index.
  explicit IndexCoverage(mlir::func::FuncOp function);

  /// The interpreter must call this before each op.
  void record(mlir::Operation *op,
              llvm::ArrayRef<interp::DeviceValues> operands);
  /// Returns true if a case was reached for the first time since the last call.
  bool takeNews() { return std::exchange(hasNews, false); }
  bool isComplete() const;
  /// Returns true if no op uses a value as an index, a branch number or a loop
  /// condition.
  bool isEmpty() const { return targets.empty(); }
  /// Warns about the cases that `numSets` data sets have not reached.
  void warn(unsigned numSets) const;

private:
  /// One operand of an op. For a loop, `op` is the first op of its body.
  struct Target {
    enum Kind { Index, Branch, Loop } kind;
    mlir::Operation *op;
    unsigned operand;
    /// One bit for each case, in the order of the table in the file comment.
    llvm::SmallBitVector wanted, reached;
  };

  void addIndex(mlir::OpOperand &use, bool isDrawn);
  void addLoop(spmd::RegionFlowOpInterface loop);
  void record(Target &target, llvm::ArrayRef<interp::DeviceValues> operands);

  llvm::MapVector<mlir::Operation *, llvm::SmallVector<Target, 1>> targets;
  bool hasNews = false;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_INDEXCOVERAGE_H
