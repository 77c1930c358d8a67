// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What a target's runtime executes besides kernels.
///
/// Programs are lowered for a target: what its runtime or its libraries cannot
/// do becomes a kernel. A matrix product of f16 with a bias, a residual and a
/// silu behind it:
///
///     const Target *cuda = Target::find("cuda");
///     cuda->getFactorType(f16, {m, n, k}).type // f16; on a CPU f32
///     // Yes, both are cuBLASLt's; and no, silu is a row program.
///     cuda->canFollow(f16, f16, {residual, bias})
///     cuda->canFollow(f16, f16, {residual, bias, silu})
///
/// |                  | CPU (oneDNN)           | CUDA (cuBLASLt)             |
/// | ---------------- | ---------------------- | --------------------------- |
/// | factors          | f32, bf16              | f32, bf16, f16              |
/// | products         | f32, or the factors'   | the same                    |
/// | after a product  | activations, rows and  | a residual of C's type, a   |
/// |                  | matrices that lie as C | row (bias) of it, then relu |
/// |                  | does, in any order     | or gelu_tanh; one of each   |
/// | their matrices   | stride 1 along one     | and rows, or columns, that  |
/// |                  | dimension              | do not overlap              |
/// | copies           | of any strides         | contiguous                  |
/// | fills            | of any strides         | contiguous, of repeated     |
/// |                  |                        | words of 1, 2 or 4 bytes    |
/// | sums of ranks    | integers, floats of 16 | the same without integers   |
/// |                  | bits and more          | of 16 bits                  |
/// | attention        | decomposed, causal in  | one kernel, or one and a    |
/// |                  | blocks of queries      | row program                 |
/// | sorts            | one step               | one kernel, or several for  |
/// |                  |                        | long rows                   |
///
/// With `fp8`, CUDA has f8E4M3FN among its factors, on chips from sm_89 on:
///
/// | products          | f32, bf16, f16                                       |
/// | after a product   | a residual; or a bias, if C is bf16 or f16, and relu |
/// | sizes             | n and k multiples of 16                              |
/// | factors' matrices | contiguous along k                                   |
/// | all matrices      | begin, and have their rows, at multiples of 16 bytes |
///
/// The CUDA runtime holds no code for devices, and its driver has an entry for
/// each of these.

#ifndef TPOPT_TARGET_TARGET_H
#define TPOPT_TARGET_TARGET_H

#include "tpopt/Dialect/Step/Step.h"

#include <string>

namespace tp::codegen {

/// One op behind a matrix product.
struct PostOpPattern {
  /// What it adds or multiplies by, next to the product's result.
  enum class Operand : uint8_t {
    None,
    Number, ///< The same for all elements, of the result's type.
    Row,    ///< The same for all rows, of the result's type: a bias.
    Full,   ///< A matrix of the result's type.
    Other
  };
  step::PostOp kind;
  Operand operand = Operand::None;
};

/// The sizes of products of m x k and k x n.
struct ProductSize {
  int64_t m, n, k;
};

/// What elements are multiplied as.
struct FactorType {
  mlir::Type type;
  /// Why not as what they are, where that was asked for; else empty.
  std::string obstacle;
};

/// An operand of a batch of products; strides are in elements.
struct Matrix {
  mlir::Type element;
  int64_t rows, columns;
  int64_t rowStride, columnStride;
  /// Divides the number of elements before each matrix in its allocation.
  int64_t begin;
};

inline Matrix transpose(const Matrix &matrix) {
  return {matrix.element,      matrix.columns,   matrix.rows,
          matrix.columnStride, matrix.rowStride, matrix.begin};
}

/// What lies in the last two dimensions of a matmul's operand, which moves by
/// so many elements from turn to turn of a loop.
Matrix getMatrix(mlir::MemRefType type, int64_t by);

class Target {
public:
  virtual ~Target() = default;
  /// Null if there is none of this name, or none that multiplies f8E4M3FN where
  /// `fp8` asks for that.
  static const Target *find(llvm::StringRef name, bool fp8 = false);

  /// A `k..Target` of the artifact's format.
  virtual llvm::StringRef getName() const = 0;
  /// The float that the matrix library multiplies elements of a float as; f64
  /// is a row program's.
  virtual FactorType getFactorType(mlir::Type element,
                                   const ProductSize &size) const = 0;
  /// Whether the library gives products of such factors in this type.
  virtual bool writes(mlir::Type factor, mlir::Type result) const = 0;
  /// Whether the library reads such a factor: A, or B transposed, so that its
  /// rows are summed over.
  virtual bool readsMatrix(const Matrix &factor) const = 0;
  /// Whether the library writes such a C, and reads such an operand of a
  /// post-op, where it multiplies such factors.
  virtual bool writesMatrix(mlir::Type factor, const Matrix &result) const = 0;
  /// Whether the library reads such an operand of a post-op beside such a C. If
  /// not, both have to be dense.
  virtual bool readsBeside(const Matrix &result, const Matrix &other) const = 0;
  /// Whether the library computes these behind a product, in this order.
  virtual bool canFollow(mlir::Type factor, mlir::Type result,
                         llvm::ArrayRef<PostOpPattern> posts) const = 0;
  /// Whether that has one form only: a residual comes before a bias, and
  /// operands have stride 1 along the columns.
  virtual bool hasFixedEpilogue() const = 0;
  /// Whether the runtime copies between such buffers, of equal shapes.
  virtual bool copies(mlir::MemRefType from, mlir::MemRefType to) const = 0;
  virtual bool fills(mlir::MemRefType to, mlir::Attribute value) const = 0;
  /// The size in bytes of the workspace that the matrix library allocates once
  /// per device; 0 if it is not known at compile time.
  virtual int64_t getWorkspaceBytes() const = 0;
  /// The size up to which a copy stays in the caches until the next step.
  virtual int64_t getCacheBytes() const = 0;
  /// Whether collectives combine such elements.
  virtual bool combines(mlir::Type element) const = 0;
  /// Whether it has kernels for attention; others cut what is causal into
  /// blocks of queries.
  virtual bool hasAttention() const = 0;
  /// Whether it sorts by kernels, and long rows by several (`Sort.h`); the
  /// runtime of others sorts any row in one step.
  virtual bool sortsByKernels() const = 0;

  /// Whether the runtime does by kernels what is no step: collectives among
  /// ranks that share a memory, and random inputs.
  virtual bool servesByKernels() const = 0;
  /// Whether the runtime times steps that give the same (`step.choose`).
  virtual bool choosesSteps() const = 0;
  /// Whether it was asked for with `fp8`: f8E4M3FN is multiplied as such.
  virtual bool multipliesFloat8() const = 0;

  /// Whether the runtime executes a copy, a fill or a matmul as it is.
  bool executes(mlir::Operation *step) const;
};

/// How a matmul's post-op sees an operand, given the type of C.
PostOpPattern::Operand classifyPostOpOperand(mlir::MemRefType operand,
                                             mlir::MemRefType result);

/// The target of a name; emits an error at `op` if there is none, or none that
/// multiplies f8E4M3FN where `fp8` asks for that.
mlir::FailureOr<const Target *> getTarget(mlir::Operation *op,
                                          llvm::StringRef name, bool fp8);

} // namespace tp::codegen

#endif // TPOPT_TARGET_TARGET_H
