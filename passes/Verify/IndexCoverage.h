// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Whether indices were drawn inside and outside of what they address.
//
// A scatter that never hits may be left out, and one that never misses need not
// look where it writes. Indices that are computed from several arguments are
// hard to draw, so it is counted, op by op, where they came to lie:
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
  /// Of the whole program. What no data reaches, such as the outside by an
  /// index that is clamped, is not waited for.
  explicit IndexCoverage(mlir::func::FuncOp function);

  /// To be called by an interpreter before each op.
  void record(mlir::Operation *op,
              llvm::ArrayRef<interp::DeviceValues> operands);
  /// Whether something was reached for the first time since the last call.
  bool takeNews() { return std::exchange(hasNews, false); }
  bool isComplete() const;
  /// Whether nothing addresses, branches or loops by a value.
  bool isEmpty() const { return targets.empty(); }
  /// Warns of what `numSets` data sets have not reached.
  void warn(unsigned numSets) const;

private:
  /// One operand of an op; of a loop, the first op of its body.
  struct Target {
    enum Kind { Index, Branch, Loop } kind;
    mlir::Operation *op;
    unsigned operand;
    /// Places in the order of the table above.
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
