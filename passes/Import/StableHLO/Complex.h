// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Replaces complex numbers by pairs of real ones.
///
/// Rotary embeddings are written as products of complex numbers,
///
///     %2 = stablehlo.complex %0, %1 : tensor<7x4xcomplex<f32>>
///     %3 = stablehlo.multiply %2, %angles : tensor<7x4xcomplex<f32>>
///     %4 = stablehlo.real %3
///         : (tensor<7x4xcomplex<f32>>) -> tensor<7x4xf32>
///
/// which is %0 * cos - %1 * sin. Data movement, sums, products (also
/// contractions) and exponentials are split. Other operations on complex
/// numbers, and complex arguments and results of functions and regions, are
/// not.

#ifndef TPOPT_PASSES_IMPORT_STABLEHLO_COMPLEX_H
#define TPOPT_PASSES_IMPORT_STABLEHLO_COMPLEX_H

#include "mlir/IR/BuiltinOps.h"

namespace tp::stablehlo {

/// Replaces operations on complex numbers by operations on their real and
/// imaginary parts. Operations that cannot be split stay, with a
/// `stablehlo.complex` for each operand, and are refused when they are
/// imported.
void splitComplexNumbers(mlir::ModuleOp module);

} // namespace tp::stablehlo

#endif // TPOPT_PASSES_IMPORT_STABLEHLO_COMPLEX_H
