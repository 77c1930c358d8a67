// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How the learning rate goes from step to step.

#ifndef TPOPT_PASSES_TRAIN_SCHEDULE_H
#define TPOPT_PASSES_TRAIN_SCHEDULE_H

#include "dialects/TP/Formulas.h"

#include "mlir/IR/Location.h"

namespace tp {

/// A factor of the learning rate: it rises linearly from 0 over `warmup` steps,
/// and then goes its way, to `min` of it after `steps` steps in all, where it
/// stays. The same as the schedules of the transformers library while these
/// steps last.
class Schedule {
public:
  /// Reads "cosine(warmup=100,steps=1000,min=0.1)"; failure after an error.
  static mlir::FailureOr<Schedule> parse(llvm::StringRef text,
                                         mlir::Location loc);

  /// The factor for a step, a scalar float that counts from 0.
  mlir::Value getFactor(Formulas &emit, mlir::Value step) const;

private:
  /// What is left after the share `progress` of the steps behind the warmup.
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
