// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How the learning rate changes from step to step.

#ifndef TPOPT_PASSES_TRAIN_SCHEDULE_H
#define TPOPT_PASSES_TRAIN_SCHEDULE_H

#include "dialects/TP/Formulas.h"

#include "mlir/IR/Location.h"

namespace tp {

/// A factor of the learning rate. It rises linearly from 0 to 1 over `warmup`
/// steps, then follows `shape` to `min`, which it reaches after `steps` steps
/// in total, and stays there. Before step `steps`, it equals the schedules of
/// the transformers library.
class Schedule {
public:
  /// Parses text such as "cosine(warmup=100,steps=1000,min=0.1)". If the text
  /// is wrong, emits an error and returns failure.
  static mlir::FailureOr<Schedule> parse(llvm::StringRef text,
                                         mlir::Location loc);

  /// The factor for a step. `step` is a scalar float that counts from 0.
  mlir::Value getFactor(Formulas &emit, mlir::Value step) const;

private:
  /// Maps `progress`, the fraction of the steps after the warmup that are done,
  /// to a factor that falls from 1 to 0.
  using Shape = mlir::Value (*)(Formulas &emit, mlir::Value progress);
  struct Kind {
    llvm::StringLiteral name;
    Shape shape; ///< Null if the factor stays 1.
  };
  static llvm::ArrayRef<Kind> getKinds();

  Shape shape = nullptr;
  int64_t warmup = 0, steps = 0;
  double min = 0;
};

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_SCHEDULE_H
