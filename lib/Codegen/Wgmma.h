// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Matrix products of a warpgroup on Hopper: wgmma.mma_async.
//
// Four warps multiply 64 x 16 by 16 x N together, and go on while the tensor
// core does. It reads right operands from shared memory, and left ones from
// there or from registers; sums are in registers, laid out as those of
// mma.m16n8k16 with 16 rows for each warp. What is under way is a *group* once
// it is committed. The registers of its operands must not be used until a wait
// for it:
//
//     fenceProxy, barrier       // copies that have arrived may be multiplied
//     sums = fence(sums)        // registers that others wrote
//     sums = multiply(a, b, sums) .. commit
//     sums = wait(0, sums)
//
// Registers go through fences and waits, as operands and results, so that
// nothing that computes with them is moved across.
//
// Operands in shared memory are in *panels* of 64 elements of 16 bits: rows of
// 128 bytes, eight to an atom of 1024, in which piece c of row r lies in place
// c ^ (r % 8) (the swizzle of 128 bytes). Panels begin at multiples of 1024.

#ifndef TPOPT_LIB_CODEGEN_WGMMA_H
#define TPOPT_LIB_CODEGEN_WGMMA_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace tp::codegen {

inline constexpr int64_t kWarpgroup = 4; ///< Warps.
inline constexpr int64_t kPanelElements = 64, kPanelRowBytes = 128;
inline constexpr int64_t kAtomRows = 8, kAtomBytes = kAtomRows * kPanelRowBytes;

/// How the tensor core goes through an operand: whether along the panel's rows
/// comes the depth of the product, or its columns.
enum class Major { Depth, Columns };

class Wgmma {
public:
  /// `element` is f16 or bf16.
  Wgmma(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element)
      : builder(builder), loc(loc), element(element) {}

  /// Of the operand whose panels begin at an address of shared memory, each
  /// `panelBytes` behind the one before.
  mlir::Value getDescriptor(mlir::Value address, int64_t panelBytes);
  /// Of what lies so many bytes behind, a multiple of 16.
  mlir::Value advance(mlir::Value descriptor, int64_t bytes);

  /// Makes what this thread has written to shared memory visible to products.
  void fenceProxy();
  llvm::SmallVector<mlir::Value> fence(mlir::ValueRange registers);
  /// Begins sums of 64 x 16 by 16 x `columns`, both of descriptors.
  llvm::SmallVector<mlir::Value> begin(int64_t columns, mlir::Value a,
                                       mlir::Value b);
  /// Adds such a product to sums. `a` is a descriptor or a fragment of four
  /// words; `major` is of `b`.
  llvm::SmallVector<mlir::Value> multiply(mlir::ValueRange a, mlir::Value b,
                                          Major major, mlir::ValueRange sums);
  void commit();
  /// Waits for all groups but the `pending` youngest.
  llvm::SmallVector<mlir::Value> wait(int64_t pending,
                                      mlir::ValueRange registers);

private:
  llvm::SmallVector<mlir::Value> emit(mlir::ValueRange a, mlir::Value b,
                                      Major major, mlir::ValueRange sums,
                                      int64_t columns);
  /// An instruction that cannot be moved, with results of these types. The
  /// operands `tied` are in the registers of the results.
  llvm::SmallVector<mlir::Value> emitAsm(llvm::StringRef text,
                                         mlir::TypeRange types,
                                         mlir::ValueRange operands,
                                         mlir::ValueRange tied);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type element;
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_WGMMA_H
