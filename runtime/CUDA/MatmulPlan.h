// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A matmul of the artifact as cuBLASLt wants it said. Pure arithmetic.
///
/// The artifact is row-major, cuBLASLt column-major: a row-major matrix read so
/// is its transpose. So C = A B becomes C' = B' A', with the operands swapped
/// and nothing moved:
///
///     m=5 n=3 k=4, all dense     ->  first  = B as 3 x 4, ld 3
///                                    second = A as 4 x 5, ld 4
///                                    result = C as 3 x 5, ld 3
///
/// An operand that lies the other way round is marked as transposed. The last
/// of the merged batch dimensions is the library's strided batch, those before
/// it are `outer`: one call each.
///
/// Post-ops that fit one call: what C held or another matrix (the library's
/// beta C), a bias per column, and relu or the tanh form of gelu last. Others
/// are GpuStep: the compiler makes kernels of them.
///
/// f8E4M3FN is multiplied where `first` is transposed and `second` is not, so
/// that both lie along k; k and n are multiples of 16, and so are, in bytes,
/// all addresses and leading dimensions; what follows is a residual alone, or a
/// bias of bf16 or f16, as the result, and relu. Then batches are calls: the
/// library has no such batch with a bias.

#ifndef TPRT_CUDA_MATMULPLAN_H
#define TPRT_CUDA_MATMULPLAN_H

#include "runtime/Core/Artifact.h"
#include "runtime/Core/Batches.h"

namespace tprt {

/// Which post-op does what: indices among those of the row, -1 for none.
struct Epilogue {
  int bias = -1;
  int addend = -1; ///< A matrix of the shape of C.
  bool accumulates = false;
  PostOpKind activation = PostOpKind::Add; ///< Relu, GeluTanh; Add is none.
};

struct MatmulPlan {
  /// A matrix with `rows` elements beside each other, `ld` from one column to
  /// the next.
  struct Matrix {
    DType dtype;
    int64_t rows, columns, ld;
    bool isTransposed;
    int64_t batchStride;
    unsigned alignment; ///< In bytes, of every address it is used at.
  };
  Epilogue epilogue;
  Matrix first, second, result, addend; ///< B, A, C; addend is C without one.
  int64_t biasBatchStride = 0;
  unsigned biasAlignment = 0; ///< In bytes; 0 without one.
  int64_t batchCount = 1;
  std::vector<Batch> outer; ///< Strides of a, b, c, addend, bias.

  bool isFloat8() const { return first.dtype == DType::F8E4M3FN; }
  /// All that the choice of an algorithm depends on, as one word.
  std::string getKey() const;
};

absl::StatusOr<MatmulPlan> planMatmul(const Artifact &artifact,
                                      const MatmulRow &row);

} // namespace tprt

#endif // TPRT_CUDA_MATMULPLAN_H
