// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Codegen/TargetCode.h"

#include "tpopt/Codegen/ObjectCode.h"
#include "tpopt/Codegen/Ptx.h"

using namespace mlir;
using namespace tp;

void tp::registerTargetDialects(DialectRegistry &registry) {
  registerKernelDialects(registry);
  registerGpuKernelDialects(registry);
}
