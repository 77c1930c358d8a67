// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The collectives: each knows the step of a reshard plan that it is.

#include "tpopt/Dialect/SPMD/SPMD.h"
#define COLLECTIVE(OP)                                                         \
  mlir::LogicalResult tp::spmd::OP::verify() { return mlir::success(); }
COLLECTIVE(AllReduceOp)
COLLECTIVE(ReduceScatterOp) COLLECTIVE(AllGatherOp) COLLECTIVE(AllSliceOp)
    COLLECTIVE(AllToAllOp) COLLECTIVE(CollectivePermuteOp)
        COLLECTIVE(ToPartialOp)
