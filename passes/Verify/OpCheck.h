// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks one op of the global program against the ops that compute it on a
// device.
//
// Every value of a local program represents a value of the global program: its
// type says how the device's buffer relates to the whole tensor. If each op's
// local form preserves this relation between its operands and its results, then
// by induction the local program computes the same as the global program. This
// is checked here for one op, by running both forms in a prime field on random
// data: partial sums are split at random, and padding is garbage.
//
//     global:  %y = einsum "ik,kj->ij" %x, %w     4096x4096, 4096x512
//     local:   %m = spmd.mask %x ..; %y = einsum %m, %w    on 64 devices
//     run as:  6x7, 7x2 on 3 devices
//
// Sizes are shrunk (see lib/Sharding/Algebra/Shrink.h) as far as ops allow.

#ifndef TPOPT_PASSES_VERIFY_OPCHECK_H
#define TPOPT_PASSES_VERIFY_OPCHECK_H

#include "lib/Interpreter/FieldEvaluator.h"
#include "lib/Interpreter/Interpreter.h"

#include <string>

namespace tp {

/// An op and its local form.
struct Segment {
  mlir::Operation *whole;
  /// The local ops in program order. They read only each other and `operands`.
  llvm::SmallVector<mlir::Operation *> local;
  /// The values of the local program that represent the operands of `whole`,
  /// and those that represent its results.
  llvm::SmallVector<mlir::Value> operands, results;
  /// Which operands have zeros in their padding.
  llvm::SmallVector<bool> zeroPadded;
};

/// The result of a check.
struct CheckResult {
  enum Kind {
    Equal,
    Different,
    /// The global op cannot be run, so no partition of it can be right.
    /// `message` says why, and contains the error code.
    Contradictory,
    /// Nothing was run: `message` says why.
    NotCovered,
  } kind = NotCovered;
  std::string message;
  /// If `kind` is Different: the segment as a module for tp-verify-partition.
  std::string reproducer;

  bool isFailure() const { return kind == Different || kind == Contradictory; }
};

/// Checks one segment of a program over `mesh`. The result depends only on the
/// arguments.
CheckResult checkSegment(const Segment &segment, const Mesh &mesh,
                         uint64_t seed);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_OPCHECK_H
