// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the kernels of attention and of its gradients have in common: whose
// queries and keys a block has, and which of these see each other.
//
// The queries of the heads that share a key-value head are the *rows* of one
// problem: row r is position r / groups of head r % groups.

#ifndef TPOPT_LIB_CODEGEN_ATTENTIONBLOCK_H
#define TPOPT_LIB_CODEGEN_ATTENTIONBLOCK_H

#include "GpuEmitter.h"

#include "lib/Codegen/Attention.h"

namespace tp::codegen {

AttentionSize getAttentionSize(step::AttentionOpInterface op);

inline constexpr double kLog2E = 1.4426950408889634; ///< The log2 of e.

/// What shared memory begins at a multiple of: that of a swizzled atom.
inline constexpr int64_t kSharedAlignment = 1024;

class AttentionBlock : protected GpuEmitter {
protected:
  AttentionBlock(mlir::OpBuilder &builder, step::AttentionOpInterface op,
                 mlir::gpu::GPUFuncOp function);

  /// The argument that an operand of the step comes as; null without operand.
  mlir::Value getArgument(mlir::Value operand);
  mlir::MemRefType typeOf(mlir::Value argument) const;
  /// Of a dimension of `argument`, in bytes.
  int64_t getStride(mlir::Value argument, unsigned dim) const;

  /// Finds what a block of the `block`th head of all batch entries looks at.
  void beginHead(mlir::Value block);
  /// Where the head begins in an operand [b,s,k,..].
  mlir::Value getHead(mlir::Value argument);
  /// Where row `row` of the head begins in an operand [b,s,k,g,..].
  mlir::Value getRow(mlir::Value argument, mlir::Value row);
  /// Where key `key` of the head begins in an operand [b,t,k,..].
  mlir::Value getKey(mlir::Value argument, mlir::Value key);
  /// What is compared with keys to find out which of them a row sees.
  mlir::Value getPosition(mlir::Value row);
  /// The score of a row with a key, minus infinity if it is hidden.
  mlir::Value hide(mlir::Value score, mlir::Value row, mlir::Value position,
                   mlir::Value key);
  /// What a score is multiplied by for its exponential to be one of 2.
  mlir::Value getScale();

  step::AttentionOpInterface op;
  mlir::gpu::GPUFuncOp function;
  mlir::Type element;
  int64_t elementBytes;
  // Sizes.
  int64_t heads, groups, keys;
  int64_t rows; ///< For one key-value head.

  mlir::Value query, key, value, offset, lengths, mask;
  std::optional<int64_t> window;
  mlir::Value thread;
  mlir::Value shared; ///< All that the block shares: the launch says how much.
  mlir::Value batch, head;
  mlir::Value begin; ///< The position of the first query; null if it is 0.
  mlir::Value limit; ///< Keys that exist.

private:
  mlir::Value loadNumber(mlir::Value argument);
  mlir::Value isMasked(mlir::Value row, mlir::Value key);
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_ATTENTIONBLOCK_H
