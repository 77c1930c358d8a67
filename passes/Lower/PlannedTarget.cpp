// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlannedTarget.h"

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Support/ErrorCodes.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// Formats a target as pass options.
static std::string format(StringRef target, bool fp8) {
  return ("target=" + target + (fp8 ? " fp8=true" : "")).str();
}

FailureOr<const Target *> tp::getPlannedTarget(ModuleOp module,
                                               StringRef option, bool fp8) {
  PlanRecord plan = PlanRecord::get(module);
  std::string name = !option.empty()        ? option.str()
                     : !plan.target.empty() ? plan.target
                                            : "cpu";
  bool isPlanned = !plan.target.empty();
  if (isPlanned && (name != plan.target || (fp8 && !plan.fp8)))
    return module.emitError()
           << prefix(ErrorCode::OtherTarget)
           << "expects the target that the module was planned for, "
           << format(plan.target, plan.fp8) << ", got " << format(name, fp8)
           << "; give the target only to the first pass";
  if (!isPlanned) {
    plan.target = name;
    plan.fp8 = fp8;
  }
  FailureOr<const Target *> target = getTarget(module, name, plan.fp8);
  if (succeeded(target))
    plan.set(module);
  return target;
}
