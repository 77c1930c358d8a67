// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds where integers address a dimension: in look-ups, slices and writes.

#ifndef TPOPT_PASSES_VERIFY_INDEXUSES_H
#define TPOPT_PASSES_VERIFY_INDEXUSES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tp {

/// The dimension that an operand addresses.
struct AddressedDim {
  int64_t extent; ///< The extent of the dimension.
  int64_t last;   ///< The greatest valid index, or start of a part.
};

/// None if the operand is not an index.
std::optional<AddressedDim> getAddressedDim(mlir::OpOperand &use);

/// Returns the operands that address a dimension with elements of the integer
/// value `value`, or with integers computed from these elements.
llvm::SmallVector<mlir::OpOperand *> findIndexUses(mlir::Value value);

/// Returns the size of the largest dimension into which elements of `value` are
/// indices; none if the elements are not used as indices.
std::optional<int64_t> getIndexedExtent(mlir::Value value);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_INDEXUSES_H
