// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Schedule.h"

#include "Arguments.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

static Value getLine(Formulas &emit, Value progress) {
  return emit.add(emit.scale(progress, -1), 1);
}

static Value getHalfCosine(Formulas &emit, Value progress) {
  Value cosine = emit.unary<CosOp>(emit.scale(progress, llvm::numbers::pi));
  return emit.scale(emit.add(cosine, 1), 0.5);
}

ArrayRef<Schedule::Kind> Schedule::getKinds() {
  static constexpr Kind kKinds[] = {
      {"constant", nullptr}, {"linear", getLine}, {"cosine", getHalfCosine}};
  return kKinds;
}

FailureOr<Schedule> Schedule::parse(StringRef text, Location loc) {
  FailureOr<Arguments> arguments =
      Arguments::parse(text, "schedule", ErrorCode::BadSchedule, loc);
  if (failed(arguments))
    return failure();
  const Kind *kind = llvm::find_if(getKinds(), [&](const Kind &kind) {
    return kind.name == arguments->getName();
  });
  if (kind == getKinds().end()) {
    InFlightDiagnostic error = arguments->complain();
    error << "unknown schedule '" << arguments->getName() << "': write ";
    llvm::interleave(
        getKinds(), [&](const Kind &kind) { error << kind.name; },
        [&] { error << " or "; });
    return error;
  }
  Schedule schedule;
  schedule.shape = kind->shape;
  schedule.warmup = arguments->getSteps("warmup").value_or(0);
  if (schedule.shape) {
    std::optional<int64_t> steps = arguments->getSteps("steps");
    schedule.min = arguments->getNumber("min", 0, kShare);
    if (failed(arguments->finish()))
      return failure();
    if (!steps || *steps <= schedule.warmup)
      return arguments->complain()
             << "'" << kind->name
             << "' expects steps=, the number of steps after which it ends, to "
                "be larger than "
             << "its warmup: write " << kind->name
             << "(warmup=" << schedule.warmup
             << ",steps=" << schedule.warmup + 1000 << ")";
    schedule.steps = *steps;
  }
  if (failed(arguments->finish()))
    return failure();
  return schedule;
}

Value Schedule::getFactor(Formulas &emit, Value step) const {
  Value factor = emit.constant(1, step);
  if (shape) {
    Value behind = emit.max(emit.add(step, -double(warmup)), 0);
    Value progress =
        emit.min(emit.div(behind, emit.constant(steps - warmup, step)), 1);
    factor = emit.add(emit.scale(shape(emit, progress), 1 - min), min);
  }
  if (warmup == 0)
    return factor;
  // The product is `rise` during the warmup, when `factor` is 1, and `factor`
  // afterwards, when the capped `rise` is 1.
  Value rise = emit.div(step, emit.constant(warmup, step));
  return emit.mul(factor, emit.min(rise, 1));
}
