// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Target-independent analysis of the values of a row program: which values have
// one element per row, which have one per column, and in which phase each is
// known.

#ifndef TPOPT_LIB_CODEGEN_ROWANALYSIS_H
#define TPOPT_LIB_CODEGEN_ROWANALYSIS_H

#include "tpopt/Dialect/Step/Step.h"

namespace tp::codegen {

class RowAnalysis {
public:
  explicit RowAnalysis(step::RowsOp rows);

  /// Returns true if a value has one element per column.
  bool isPoint(mlir::Value value) const { return points.contains(value); }
  /// The number of successive reductions that a value depends on.
  unsigned getPhase(mlir::Value value) const { return phases.lookup(value); }
  unsigned getPhase(step::StoreOp store) const;
  unsigned getNumPhases() const { return numPhases; }
  /// Returns true if a store writes an element for every column.
  bool isPointStore(step::StoreOp store) const;
  /// Returns true if a value is more expensive to recompute than to keep for
  /// the later phase that needs it.
  bool isWorthKeeping(mlir::Value value) const { return dear.contains(value); }
  bool hasReductions() const { return numPhases > 1; }

private:
  bool isNeededLater(mlir::Value value) const;

  int64_t columns;
  llvm::DenseSet<mlir::Value> points, dear;
  llvm::DenseMap<mlir::Value, unsigned> phases;
  unsigned numPhases = 1;
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_ROWANALYSIS_H
