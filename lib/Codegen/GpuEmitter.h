// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Helpers to emit arithmetic and memory accesses of GPU kernels that are
// written instruction by instruction.

#ifndef TPOPT_LIB_CODEGEN_GPUEMITTER_H
#define TPOPT_LIB_CODEGEN_GPUEMITTER_H

#include "GpuFunction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tp::codegen {

/// Functions that create ops for arithmetic and memory accesses. Integers are
/// i32, except addresses; floats are f32 or vectors of f32.
class GpuEmitter {
protected:
  GpuEmitter(mlir::OpBuilder &builder, mlir::Location loc);

  // Arithmetic.
  mlir::Value number(int64_t value);
  mlir::Value real(double value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, number(b)); }
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value rem(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value atMost(mlir::Value a, mlir::Value b);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value addF(mlir::Value a, mlir::Value b);
  mlir::Value subF(mlir::Value a, mlir::Value b);
  mlir::Value mulF(mlir::Value a, mlir::Value b);
  mlir::Value maxF(mlir::Value a, mlir::Value b);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  /// 2^a.
  mlir::Value exp2(mlir::Value a);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value shuffle(mlir::Value value, int32_t distance);

  // Memory. Distances are in bytes.
  mlir::Value at(mlir::Value base, mlir::Value distance);
  mlir::Value at(mlir::Value base, int64_t distance);
  mlir::Value load(mlir::Type type, mlir::Value place);
  void store(mlir::Value value, mlir::Value place);
  /// The address `base` plus the sum of all steps. A step is a number of items
  /// and the size of an item in bytes.
  mlir::Value locate(mlir::Value base,
                     llvm::ArrayRef<std::pair<mlir::Value, int64_t>> steps);

  void ifTrue(mlir::Value condition, llvm::function_ref<void()> emit);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type i32, i64, f32;
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_GPUEMITTER_H
