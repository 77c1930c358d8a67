// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The common part of all GPU kernels: their arguments, and arithmetic on
// addresses.

#ifndef TPOPT_LIB_CODEGEN_GPUFUNCTION_H
#define TPOPT_LIB_CODEGEN_GPUFUNCTION_H

#include "lib/Codegen/Kernels.h"

namespace tp::codegen {

inline constexpr int64_t kWarp = 32; ///< Threads of a warp.
/// Bytes of the widest memory access, and the alignment of buffers.
inline constexpr int64_t kAccessBytes = 16;
inline constexpr int64_t kMaxThreads = 1024;                  ///< Per block.
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3; ///< For pointers.

/// Creates the kernel `name` of `op` at the insertion point, with only a return
/// in its body. Its arguments are a bare pointer per operand, then an i64 per
/// scalar. Operands do not overlap, and those that are only read may be cached.
mlir::gpu::GPUFuncOp createGpuFunction(mlir::OpBuilder &builder,
                                       step::KernelOpInterface op,
                                       llvm::StringRef name, int64_t threads);

/// The launch for `items`, in blocks of `threads` that have `perBlock` items
/// each. Emits an error at `op` if that is more than a GPU can launch.
mlir::FailureOr<KernelLaunch> getLaunch(mlir::Operation *op, int64_t items,
                                        int64_t perBlock, int64_t threads);

/// The number of the current thread among all threads of the launch, whose
/// blocks have `threads` threads each.
mlir::Value getGlobalThread(mlir::OpBuilder &builder, mlir::Location loc,
                            int64_t threads);

/// A kernel in which every item of a grid has a thread.
struct ItemKernel {
  mlir::gpu::GPUFuncOp function;
  llvm::SmallVector<mlir::Value> index; ///< Indices of the thread's item.
  KernelLaunch launch;
};

/// Creates the kernel `name` of `op` for the items of a grid of `extents`, in
/// blocks of `threads`, and sets the insertion point to code that only threads
/// with an item execute. Emits an error at `op` if the grid is larger than a
/// GPU can launch.
mlir::FailureOr<ItemKernel> createItemKernel(mlir::OpBuilder &builder,
                                             step::KernelOpInterface op,
                                             llvm::StringRef name,
                                             llvm::ArrayRef<int64_t> extents,
                                             int64_t threads);

/// Arithmetic on offsets, in i64, and memory accesses.
class BufferOffsets {
public:
  BufferOffsets(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value number(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value scale(mlir::Value a, int64_t factor);
  /// The indices of element number `place` of a dense array of `sizes`, whose
  /// last dimension is contiguous.
  llvm::SmallVector<mlir::Value> split(mlir::Value place,
                                       llvm::ArrayRef<int64_t> sizes);
  /// The sum of each index times its stride.
  mlir::Value getOffset(mlir::ValueRange indices,
                        llvm::ArrayRef<int64_t> strides);
  mlir::Value isBelow(mlir::Value a, mlir::Value b); ///< Signed.
  mlir::Value load(mlir::Type type, mlir::Value pointer, mlir::Value offset);
  void store(mlir::Value value, mlir::Value pointer, mlir::Value offset);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// The type in which an element is stored, without signedness: a byte for i1.
mlir::Type getStoredType(mlir::Type element);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_GPUFUNCTION_H
