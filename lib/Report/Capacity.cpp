// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Capacity.h"

#include "lib/Cost/ProgramCost.h"
#include "lib/Report/Summary.h"
#include "tpopt/Support/ErrorCodes.h"

using namespace mlir;
using namespace tp;

bool tp::reportTooLittleMemory(FunctionOpInterface function,
                               ShardingTable &table, int64_t capacity,
                               DiagnosticSeverity severity) {
  if (capacity == 0)
    return false;
  int64_t held = cost::getHeldBytes(function, table);
  if (held <= capacity)
    return false;
  function.getContext()->getDiagEngine().emit(function.getLoc(), severity)
      << prefix(ErrorCode::TooLittleMemory) << "@" << function.getName()
      << " needs up to " << formatBytes(held)
      << " of memory on a device, which may use " << formatBytes(capacity)
      << ", and no plan was found that needs less: use more devices or a "
         "smaller batch, cut more along the axes (plan=, zero=), or raise "
         "memory=";
  return true;
}
