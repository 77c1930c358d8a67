// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What SplitGathers and SplitProducts share: the pieces of a gather.

#ifndef TPOPT_PASSES_SCHEDULE_PIECES_H
#define TPOPT_PASSES_SCHEDULE_PIECES_H

#include "tpopt/Dialect/Step/Step.h"

namespace tp::schedule {

step::CollectiveDoneOp getDone(step::CollectiveStartOp start);

/// Returns the elements of each of at most `pieces` pieces of `elements`
/// elements, except the last piece. Kernels rely on the alignment of buffers,
/// so each piece begins at an aligned element.
int64_t getPieceSize(int64_t elements, int64_t pieces, mlir::Type element);

/// Creates a view of a buffer as [sizes], with these strides, that begins
/// `offset` elements after the buffer.
mlir::Value createView(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value buffer, llvm::ArrayRef<int64_t> sizes,
                       llvm::ArrayRef<int64_t> strides, int64_t offset);

/// Creates a collective like `start` from `source` to `destination`, and waits
/// for it.
void createPiece(mlir::OpBuilder &builder, step::CollectiveStartOp start,
                 mlir::Value source, mlir::Value destination);

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_PIECES_H
