// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Steps in which values determine where elements go: scatters and sorts.
///
///     add   [1 2]   at row 2   into   [0 0]   gives   [3 4]
///           [3 4]          0          [0 0]           [0 0]
///           [5 6]          2          [0 0]           [6 8]
///           [7 7]          9, which is no row: dropped
///
/// Every element of a destination receives its updates in the order that
/// ScatterRow defines, whatever the team's size, so that all machines compute
/// the same bits. The artifact's verifier has checked sizes and types.

#ifndef TPRT_CPU_INDEXED_H
#define TPRT_CPU_INDEXED_H

#include "runtime/CPU/Team.h"
#include "runtime/Core/ArtifactFormat.h"

namespace tprt {

/// The pointers are the addresses of the row's buffers.
void runScatter(const ScatterRow &row, const char *updates, const char *indices,
                char *destination, Team &team);

void runSort(const SortRow &row, const char *source, char *values,
             char *indices, Team &team);

} // namespace tprt

#endif // TPRT_CPU_INDEXED_H
