// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Windows that slide over a tensor, as in `reduce_window` and
/// `select_and_scatter`.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_WINDOWS_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_WINDOWS_H

#include "Conversion.h"

namespace tp::stablehlo {

/// The windows of an operation, per dimension.
struct Windows {
  llvm::SmallVector<int64_t> sizes, strides, baseDilations, dilations, low,
      high;

  bool isTrivial(size_t dim) const {
    return sizes[dim] == 1 && strides[dim] == 1 && baseDilations[dim] == 1 &&
           low[dim] == 0 && high[dim] == 0;
  }
  bool hasPadding() const {
    auto isPositive = [](int64_t count) { return count > 0; };
    auto isSpread = [](int64_t dilation) { return dilation > 1; };
    return llvm::any_of(low, isPositive) || llvm::any_of(high, isPositive) ||
           llvm::any_of(baseDilations, isSpread);
  }
};

/// Reads the windows of `c.op` over a tensor of `shape`. Emits an error if the
/// numbers of windows differ from `output`.
mlir::FailureOr<Windows> readWindows(Conversion &c, Sizes shape, Sizes output);

/// Combines two lists of values of one shape, element by element.
using CombineFn =
    llvm::function_ref<Results(llvm::ArrayRef<mlir::Value> pairs, Sizes shape)>;

/// Combines the elements of each window by `combine`. `fills` are the elements
/// that surround the values.
Results emitWindows(Conversion &c, llvm::SmallVector<mlir::Value> values,
                    mlir::ValueRange fills, const Windows &windows,
                    Sizes output, CombineFn combine);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_WINDOWS_H
