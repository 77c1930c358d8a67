// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Matrix products of a warpgroup on Hopper: wgmma.mma_async.
//
// Four warps together multiply 64 x 16 by 16 x N, and continue while the tensor
// core computes. Right operands are read from shared memory, and left ones from
// shared memory or from registers. Sums are in registers, with the layout of
// mma.m16n8k16 and 16 rows per warp. Products in progress become a *group* when
// they are committed. The registers of a group's operands must not be used
// until a wait for the group:
//
//     fenceProxy, barrier       // copies that have arrived may be multiplied
//     sums = fence(sums)        // registers that other code wrote
//     sums = multiply(a, b, sums) .. commit
//     sums = wait(0, sums)
//
// Registers are both operands and results of fences and waits, so that code
// that uses the registers is not moved across a fence or a wait.
//
// Operands in shared memory are in *panels* of 64 elements of 16 bits: rows of
// 128 bytes, eight to an atom of 1024 bytes. Piece c of row r is stored at
// position c ^ (r % 8) (the 128-byte swizzle). Panels begin at multiples of
// 1024 bytes.

#ifndef TPOPT_LIB_CODEGEN_WGMMA_H
#define TPOPT_LIB_CODEGEN_WGMMA_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace tp::codegen {

inline constexpr int64_t kWarpgroup = 4; ///< Warps of a warpgroup.
inline constexpr int64_t kPanelElements = 64, kPanelRowBytes = 128;
inline constexpr int64_t kAtomRows = 8, kAtomBytes = kAtomRows * kPanelRowBytes;

/// The rows of an operand's panels run either along the depth of the product,
/// or along the columns of the product.
enum class Major { Depth, Columns };

class Wgmma {
public:
  /// `element` is f16 or bf16.
  Wgmma(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element)
      : builder(builder), loc(loc), element(element) {}

  /// The descriptor of an operand whose panels begin at an address in shared
  /// memory and are `panelBytes` apart.
  mlir::Value getDescriptor(mlir::Value address, int64_t panelBytes);
  /// The descriptor of the address `bytes` further on; `bytes` is a multiple of
  /// 16.
  mlir::Value advance(mlir::Value descriptor, int64_t bytes);

  /// Makes this thread's writes to shared memory visible to wgmma.
  void fenceProxy();
  llvm::SmallVector<mlir::Value> fence(mlir::ValueRange registers);
  /// Starts new sums: the product of a 64 x 16 matrix and a 16 x `columns`
  /// matrix. `a` and `b` are their descriptors in shared memory.
  llvm::SmallVector<mlir::Value> begin(int64_t columns, mlir::Value a,
                                       mlir::Value b);
  /// Adds to `sums` the product of a 64 x 16 matrix `a` and a matrix `b` with
  /// 16 rows. `a` is a descriptor or a fragment in four registers; `b` is a
  /// descriptor of a matrix with the layout `major`.
  llvm::SmallVector<mlir::Value> multiply(mlir::ValueRange a, mlir::Value b,
                                          Major major, mlir::ValueRange sums);
  void commit();
  /// Waits for all committed groups of products except the `pending` most
  /// recent ones.
  llvm::SmallVector<mlir::Value> wait(int64_t pending,
                                      mlir::ValueRange registers);

private:
  llvm::SmallVector<mlir::Value> emit(mlir::ValueRange a, mlir::Value b,
                                      Major major, mlir::ValueRange sums,
                                      int64_t columns);
  /// Emits an inline-assembly instruction that must not be moved. Its results
  /// have the types `types`. The operands `tied` are in the registers of the
  /// results.
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
