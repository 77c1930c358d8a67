// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Codegen/TargetCode.h"

#include "lib/Codegen/ObjectCode.h"
#include "lib/Codegen/Ptx.h"
#include "tpopt/Support/ErrorCodes.h"

#include "runtime/Core/ArtifactFormat.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

void tp::codegen::registerTargetDialects(DialectRegistry &registry) {
  registerKernelDialects(registry);
  registerGpuKernelDialects(registry);
}

static InFlightDiagnostic refuseGpuOption(Operation *op, StringRef option) {
  return op->emitError() << prefix(ErrorCode::GpuOption) << option
                         << " is only for GPUs, but the target is "
                         << tprt::kCpuTarget
                         << ": write target=" << tprt::kCudaTarget
                         << ", or leave it out";
}

FailureOr<std::unique_ptr<TargetCode>>
tp::codegen::createTargetCode(Operation *op, const Target &target,
                              const CodeOptions &options) {
  if (target.getName() == tprt::kCudaTarget)
    return createCudaCode(op, options, target);
  if (!options.chips.empty())
    return refuseGpuOption(op, "chips=");
  if (!options.ptxas.empty())
    return refuseGpuOption(op, "ptxas=");
  return createCpuCode(op->getContext());
}
