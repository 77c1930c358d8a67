// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Which steps of a block touch the same memory.

#ifndef TPOPT_PASSES_SCHEDULE_CONFLICTS_H
#define TPOPT_PASSES_SCHEDULE_CONFLICTS_H

#include "tpopt/Dialect/Step/Step.h"

#include "llvm/ADT/DenseMap.h"

namespace tp::schedule {

/// Bytes of an argument, an alloc or a constant, and what is done with them.
struct Access {
  mlir::Value root;
  int64_t begin, end;
  bool isWrite;
  /// The view, where it lies at the device's place; else null. Then the bytes
  /// are those that it has at any place.
  step::ViewOp placed = {};
  /// Bytes that it moves by with each iteration of the loop around the step.
  /// Begin and end are those of the first iteration then.
  int64_t moves = 0;

  /// Whether both touch a byte in the same iteration, at any place, and one
  /// writes it.
  bool conflicts(const Access &other) const;
};

/// What a step does, and all steps in it. A collective's are those of its
/// start: it may read its source and write its destination until it is done.
llvm::SmallVector<Access, 4> getAccesses(mlir::Operation *step);

/// Steps by number and what they touch, to be asked who is in the way of whom.
class Conflicts {
public:
  /// Numbers ascend.
  void add(unsigned number, llvm::ArrayRef<Access> accesses);

  /// The steps before and behind `number` that touch what `accesses` do, one of
  /// both writing; each once, in ascending order.
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
