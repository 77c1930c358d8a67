// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Codegen/TargetCode.h"

#include "tpopt/Codegen/ObjectCode.h"
#include "tpopt/Codegen/Ptx.h"
#include "tpopt/Support/ErrorCodes.h"

#include "runtime/Core/ArtifactFormat.h"

using namespace mlir;
using namespace tp;

LogicalResult tp::checkTarget(Operation *op, StringRef name) {
  if (name == tprt::kCpuTarget || name == tprt::kCudaTarget)
    return success();
  return op->emitError() << prefix(ErrorCode::UnknownTarget)
                         << "there is no target '" << name
                         << "': write target=" << tprt::kCpuTarget
                         << " or target=" << tprt::kCudaTarget;
}

std::unique_ptr<TargetCode> tp::createTargetCode(MLIRContext *context,
                                                 StringRef target,
                                                 ArrayRef<std::string> chips) {
  if (target == tprt::kCudaTarget)
    return createCudaCode(chips);
  return createCpuCode(context);
}

void tp::registerTargetDialects(DialectRegistry &registry) {
  registerKernelDialects(registry);
  registerGpuKernelDialects(registry);
}
