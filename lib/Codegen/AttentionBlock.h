// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The common part of the kernels of attention and of its gradients. It
// determines which queries and keys a block works on, and which of these
// queries attend to which keys.
//
// The queries of all heads that share a key-value head are the *rows* of one
// problem. If there are `groups` such heads, row r is the query at position r /
// groups of head r % groups.

#ifndef TPOPT_LIB_CODEGEN_ATTENTIONBLOCK_H
#define TPOPT_LIB_CODEGEN_ATTENTIONBLOCK_H

#include "GpuEmitter.h"

#include "lib/Codegen/Attention.h"

namespace tp::codegen {

AttentionSize getAttentionSize(step::AttentionOpInterface op);

inline constexpr double kLog2E = 1.4426950408889634; ///< log2(e)

/// The alignment of shared memory, which is that of a swizzled atom.
inline constexpr int64_t kSharedAlignment = 1024;

class AttentionBlock : protected GpuEmitter {
protected:
  AttentionBlock(mlir::OpBuilder &builder, step::AttentionOpInterface op,
                 mlir::gpu::GPUFuncOp function);

  /// The kernel's argument for an operand of the step; null if there is no
  /// operand.
  mlir::Value getArgument(mlir::Value operand);
  mlir::MemRefType typeOf(mlir::Value argument) const;
  /// The stride of a dimension of `argument`, in bytes.
  int64_t getStride(mlir::Value argument, unsigned dim) const;

  /// Computes the batch entry and the head that a block works on. `block` is
  /// the number of this head among the heads of all batch entries.
  void beginHead(mlir::Value block);
  /// The address of the block's head in an operand [b,s,k,..].
  mlir::Value getHead(mlir::Value argument);
  /// The address of row `row` of the block's head in an operand [b,s,k,g,..].
  mlir::Value getRow(mlir::Value argument, mlir::Value row);
  /// The address of key `key` of the block's head in an operand [b,t,k,..].
  mlir::Value getKey(mlir::Value argument, mlir::Value key);
  /// The position of a row's query. It is compared with the positions of keys
  /// to find which keys the row attends to.
  mlir::Value getPosition(mlir::Value row);
  /// The score of a row and a key, or minus infinity if the key is hidden.
  mlir::Value hide(mlir::Value score, mlir::Value row, mlir::Value position,
                   mlir::Value key);
  /// The factor by which a score is multiplied, so that 2 to the power of the
  /// product is the exponential of the scaled score.
  mlir::Value getScale();

  step::AttentionOpInterface op;
  mlir::gpu::GPUFuncOp function;
  mlir::Type element;
  int64_t elementBytes;
  // Sizes.
  int64_t heads, groups, keys;
  int64_t rows; ///< Per key-value head.

  mlir::Value query, key, value, offset, lengths, mask;
  std::optional<int64_t> window;
  mlir::Value thread;
  mlir::Value shared; ///< Shared memory, sized by the launch.
  mlir::Value batch, head;
  mlir::Value begin; ///< The position of the first query; null if it is 0.
  mlir::Value limit; ///< The number of keys that exist.

private:
  mlir::Value loadNumber(mlir::Value argument);
  mlir::Value isMasked(mlir::Value row, mlir::Value key);
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_ATTENTIONBLOCK_H
