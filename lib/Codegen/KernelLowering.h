// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The part of the way from kernels to LLVM that all targets have.

#ifndef TPOPT_LIB_CODEGEN_KERNELLOWERING_H
#define TPOPT_LIB_CODEGEN_KERNELLOWERING_H

#include "mlir/Pass/PassManager.h"

namespace tp::codegen {

/// What a target computes itself.
struct MathSupport {
  bool hasExp2 = false;          ///< 2^x of f32, in hardware.
  bool hasBFloat16 = false;      ///< Conversions from and to it.
  bool hasQuickDivision = false; ///< NVIDIA's div.full, of f32.
  bool hasLibrary = false; ///< The C library's functions, for what remains.
};

/// Writes functions of f32 as polynomials, for vectors and scalars alike. A
/// function without one, and all of f64 but roots and rounding, stays.
///
/// The largest errors, in units of the last place: exp 2 (with `hasExp2`,
/// 1 + |x|), sin and cos 2 for |x| < 2^30, others as MLIR's polynomials; with
/// `hasQuickDivision`, quotients of vectors 2.
mlir::LogicalResult expandMath(mlir::Operation *module,
                               const MathSupport &support);

/// Adds the passes to the llvm dialect, of all but functions, branches and what
/// is of one target only.
void addKernelLowering(mlir::OpPassManager &manager,
                       const MathSupport &support);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_KERNELLOWERING_H
