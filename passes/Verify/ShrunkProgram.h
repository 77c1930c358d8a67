// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A whole program on other sizes.
//
//     %x: tensor<4x256x576xf32>, %w: tensor<576x49152xf32>
//     %y = tp.einsum "bsi,io->bso" %x, %w
//
// becomes the same program on tensor<3x3x3xf32> and tensor<3x3xf32>: dimensions
// that the rules of ops tie to each other keep equal sizes.

#ifndef TPOPT_PASSES_VERIFY_SHRUNKPROGRAM_H
#define TPOPT_PASSES_VERIFY_SHRUNKPROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tp {

/// A module with `function` alone, on sizes as small as its ops can have. Ops
/// whose meaning depends on sizes, such as means, are decomposed before: their
/// numbers stay. What an op's attributes fix, as the bounds of a slice, stays
/// as it is, and so does what is tied to it. Each of `pairs`, an argument and a
/// result by number, keep one shape, and so do each two of `equalResults`.
/// Directives are left out.
///
/// The small program need not compute what the large one does: a shorter slice
/// takes other elements. A difference that shows on it is to be confirmed.
mlir::OwningOpRef<mlir::ModuleOp>
shrinkProgram(mlir::func::FuncOp function,
              llvm::ArrayRef<std::pair<unsigned, unsigned>> pairs,
              llvm::ArrayRef<std::pair<unsigned, unsigned>> equalResults = {});

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_SHRUNKPROGRAM_H
