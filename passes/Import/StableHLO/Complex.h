// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Complex numbers, as pairs of real ones.
///
/// Rotary embeddings are written as products of complex numbers,
///
///     %2 = stablehlo.complex %0, %1 : tensor<7x4xcomplex<f32>>
///     %3 = stablehlo.multiply %2, %angles : tensor<7x4xcomplex<f32>>
///     %4 = stablehlo.real %3
///         : (tensor<7x4xcomplex<f32>>) -> tensor<7x4xf32>
///
/// which is %0 * cos - %1 * sin. What moves numbers, sums, products, which
/// contractions are, and exponentials are taken apart; not what a function, a
/// region or anything else has as a complex number.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_COMPLEX_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_COMPLEX_H

#include "mlir/IR/BuiltinOps.h"

namespace tp::stablehlo {

/// Writes operations on complex numbers as such on their real and imaginary
/// parts. Others stay, each after a `stablehlo.complex` of its own, and are
/// refused where they are imported.
void splitComplexNumbers(mlir::ModuleOp module);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_COMPLEX_H
