// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds the steps of a block that touch the same memory.

#ifndef TPOPT_PASSES_SCHEDULE_CONFLICTS_H
#define TPOPT_PASSES_SCHEDULE_CONFLICTS_H

#include "tpopt/Dialect/Step/Step.h"

#include "llvm/ADT/DenseMap.h"

namespace tp::schedule {

/// Bytes of an argument, an alloc or a constant, and how they are accessed.
struct Access {
  mlir::Value root;
  int64_t begin, end;
  bool isWrite;
  /// The accessed view, if its offset depends on the device's position;
  /// otherwise null. If set, `begin` and `end` cover the view's bytes at all
  /// positions.
  step::ViewOp placed = {};
  /// Bytes by which the access advances in each iteration of the loop around
  /// the step. If not 0, `begin` and `end` are those of the first iteration.
  int64_t moves = 0;

  /// Returns true if both touch the same byte in the same iteration, at any
  /// device position, and at least one of them writes.
  bool conflicts(const Access &other) const;
};

/// The accesses of a step and of all steps inside it. The accesses of a
/// collective belong to its start: it may read its source and write its
/// destination until it is done.
llvm::SmallVector<Access, 4> getAccesses(mlir::Operation *step);

/// Numbered steps with their accesses. Answers which steps conflict.
class Conflicts {
public:
  /// Steps must be added in ascending order.
  void add(unsigned number, llvm::ArrayRef<Access> accesses);

  /// The steps before and after `number` that conflict with `accesses`; each
  /// step once, in ascending order.
  struct Neighbours {
    llvm::SmallVector<unsigned> before, behind;
  };
  Neighbours find(unsigned number, llvm::ArrayRef<Access> accesses) const;

private:
  struct Entry {
    unsigned number;
    Access access;
  };
  llvm::DenseMap<mlir::Value, std::vector<Entry>> byRoot;
};

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_CONFLICTS_H
