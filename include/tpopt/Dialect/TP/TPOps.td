// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All ops of the `tp` dialect, a file per family.

#ifndef TPOPT_DIALECT_TP_TPOPS
#define TPOPT_DIALECT_TP_TPOPS

include "tpopt/Dialect/TP/TPRecords.td"
include "tpopt/Dialect/TP/EinsumOps.td"
include "tpopt/Dialect/TP/ElementwiseOps.td"
include "tpopt/Dialect/TP/ShapeOps.td"
include "tpopt/Dialect/TP/IndexingOps.td"
include "tpopt/Dialect/TP/ControlFlowOps.td"
include "tpopt/Dialect/TP/TransformerOps.td"

#endif // TPOPT_DIALECT_TP_TPOPS
