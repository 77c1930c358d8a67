// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A matmul of the artifact in cuBLASLt's terms. Nothing here calls
/// cuBLASLt.
///
/// The artifact is row-major, cuBLASLt column-major: a row-major matrix read
/// column-major is its transpose. So C = A B becomes C' = B' A', with the
/// operands swapped and nothing moved:
///
///     m=5 n=3 k=4, all dense     ->  first  = B as 3 x 4, ld 3
///                                    second = A as 4 x 5, ld 4
///                                    result = C as 3 x 5, ld 3
///
/// An operand with the opposite layout is marked as transposed. The last of the
/// merged batch dimensions is the library's strided batch; the batch dimensions
/// before it are `outer`, and each of their elements takes a separate call.
///
/// Post-ops that fit into one call: adding the old value of C or another matrix
/// (the library's beta C), adding a bias per column, and relu or the tanh form
/// of gelu last. Other post-ops are refused with GpuStep: the compiler turns
/// them into kernels.
///
/// A product of f8E4M3FN needs `first` transposed and `second` not, so that
/// both are contiguous along k; k and n must be multiples of 16, and all
/// addresses and leading dimensions must be multiples of 16 bytes. The epilogue
/// may be a residual alone, or a bias (bf16 or f16, like the result) and then
/// relu. Batches then take one call each: the library does not support them
/// together with a bias.

#ifndef TPRT_CUDA_MATMULPLAN_H
#define TPRT_CUDA_MATMULPLAN_H

#include "runtime/Core/Artifact.h"
#include "runtime/Core/Batches.h"

namespace tprt {

/// The post-op in each role, as an index among the row's post-ops; -1 for none.
struct Epilogue {
  int bias = -1;
  int addend = -1; ///< A matrix with the shape of C.
  bool accumulates = false;
  PostOpKind activation = PostOpKind::Add; ///< Relu or GeluTanh; Add: none.
};

struct MatmulPlan {
  /// A column-major matrix: the `rows` elements of a column are contiguous, and
  /// columns start `ld` elements apart.
  struct Matrix {
    DType dtype;
    int64_t rows, columns, ld;
    bool isTransposed;
    int64_t batchStride;
    unsigned alignment; ///< In bytes, of every address that calls use.
  };
  Epilogue epilogue;
  Matrix first, second, result, addend; ///< B, A, C; addend is C by default.
  int64_t biasBatchStride = 0;
  unsigned biasAlignment = 0; ///< In bytes; 0 if there is no bias.
  int64_t batchCount = 1;
  std::vector<Batch> outer; ///< Strides of a, b, c, addend, bias.

  bool isFloat8() const { return first.dtype == DType::F8E4M3FN; }
  /// Returns everything that the choice of an algorithm depends on, as text
  /// without blanks.
  std::string getKey() const;
};

absl::StatusOr<MatmulPlan> planMatmul(const Artifact &artifact,
                                      const MatmulRow &row);

} // namespace tprt

#endif // TPRT_CUDA_MATMULPLAN_H
