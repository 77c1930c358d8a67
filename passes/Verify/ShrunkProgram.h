// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds a program with smaller sizes.
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

/// Returns a module that contains only `function`, with sizes as small as its
/// ops allow. Ops whose meaning depends on sizes, such as means, are decomposed
/// first, so that their constants do not change. Sizes that an op's attributes
/// fix, such as the bounds of a slice, do not change, nor do sizes tied to
/// them. The argument and the result of each of `pairs` keep equal shapes, as
/// do the two results of each of `equalResults`. Sharding directives are
/// dropped.
///
/// The small program may compute something other than the large one: for
/// example, a shorter slice takes other elements. So an error found in the
/// small program has to be confirmed on the large one.
mlir::OwningOpRef<mlir::ModuleOp>
shrinkProgram(mlir::func::FuncOp function,
              llvm::ArrayRef<std::pair<unsigned, unsigned>> pairs,
              llvm::ArrayRef<std::pair<unsigned, unsigned>> equalResults = {});

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_SHRUNKPROGRAM_H
