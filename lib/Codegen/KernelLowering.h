// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The part of lowering kernels to LLVM that all targets share.

#ifndef TPOPT_LIB_CODEGEN_KERNELLOWERING_H
#define TPOPT_LIB_CODEGEN_KERNELLOWERING_H

#include "mlir/Pass/PassManager.h"

namespace tp::codegen {

/// Which math functions a target supports. Others are expanded to simpler ops.
struct MathSupport {
  bool hasExp2 = false;          ///< 2^x of f32, in hardware.
  bool hasBFloat16 = false;      ///< Conversions from and to bf16.
  bool hasQuickDivision = false; ///< NVIDIA's div.full, of f32.
  bool hasLibrary = false;       ///< The C library has all other functions.
};

/// Expands functions of f32 to polynomials, for both vectors and scalars.
/// Functions without a polynomial do not change, and neither do functions of
/// f64, except roots and rounding.
///
/// The largest errors, in units of the last place, are 2 for exp, or 1 + |x|
/// with `hasExp2`; 2 for sin and cos if |x| < 2^30; and 2 for quotients of
/// vectors with `hasQuickDivision`. Other functions have the errors of MLIR's
/// polynomials.
mlir::LogicalResult expandMath(mlir::Operation *module,
                               const MathSupport &support);

/// Adds the passes that lower to the LLVM dialect, except those for functions,
/// for branches, and for anything specific to one target.
void addKernelLowering(mlir::OpPassManager &manager,
                       const MathSupport &support);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_KERNELLOWERING_H
