// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The part of lowering kernels to LLVM that all targets share.

#ifndef TPOPT_LIB_CODEGEN_KERNELLOWERING_H
#define TPOPT_LIB_CODEGEN_KERNELLOWERING_H

#include "mlir/Pass/PassManager.h"

namespace tp::codegen {

/// The functions that a target supports directly.
struct MathSupport {
  bool hasExp2 = false;          ///< 2^x of f32, in hardware.
  bool hasBFloat16 = false;      ///< Conversions from and to bf16.
  bool hasQuickDivision = false; ///< NVIDIA's div.full, of f32.
  bool hasLibrary = false;       ///< The C library, for all others.
};

/// Expands functions of f32 to polynomials, for vectors and scalars alike.
/// Functions without a polynomial stay, and so do all of f64 except roots and
/// rounding.
///
/// The largest errors, in units of the last place: 2 of exp, or with `hasExp2`
/// 1 + |x|; 2 of sin and cos for |x| < 2^30; those of MLIR's polynomials for
/// others; with `hasQuickDivision`, 2 of quotients of vectors.
mlir::LogicalResult expandMath(mlir::Operation *module,
                               const MathSupport &support);

/// Adds the passes that lower to the LLVM dialect, except those for functions,
/// for branches, and for anything specific to one target.
void addKernelLowering(mlir::OpPassManager &manager,
                       const MathSupport &support);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_KERNELLOWERING_H
