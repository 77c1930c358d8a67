// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where integers address a dimension: what is looked up, cut out, written to.

#ifndef TPOPT_PASSES_VERIFY_INDEXUSES_H
#define TPOPT_PASSES_VERIFY_INDEXUSES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tp {

/// What an operand addresses.
struct AddressedDim {
  int64_t extent; ///< Of the dimension.
  int64_t last;   ///< The greatest index inside: of a part, where it may begin.
};

/// None if the operand is no index.
std::optional<AddressedDim> getAddressedDim(mlir::OpOperand &use);

/// The operands that address a dimension by what the elements of the integer
/// value `value` go into, unchanged or as a part of an index.
llvm::SmallVector<mlir::OpOperand *> findIndexUses(mlir::Value value);

/// The largest extent of a dimension that they address; none if there is none.
std::optional<int64_t> getIndexedExtent(mlir::Value value);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_INDEXUSES_H
