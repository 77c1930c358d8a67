// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The steps that a target's runtime executes without kernels.
///
/// Programs are lowered for a target: whatever its runtime or its libraries
/// cannot do becomes a kernel. For example, a matrix product of f16 followed by
/// a residual, a bias and a silu:
///
///     const Target *cuda = Target::find("cuda");
///     cuda->getFactorType(f16, {m, n, k}).type // f16; on a CPU f32
///     cuda->canFollow(f16, f16, {residual, bias}) // true
///     // false: cuBLASLt has no silu; a row program computes it.
///     cuda->canFollow(f16, f16, {residual, bias, silu})
///
/// |                  | CPU (oneDNN)           | CUDA (cuBLASLt)             |
/// | ---------------- | ---------------------- | --------------------------- |
/// | factors          | f32, bf16              | f32, bf16, f16              |
/// | products         | f32, or the factors'   | the same                    |
/// | after a product  | activations, rows and  | a residual of C's type, a   |
/// |                  | matrices laid out like | row (bias) of it, then relu |
/// |                  | C, in any order        | or gelu_tanh; one of each   |
/// | factors' layout  | stride 1 along rows or | the same                    |
/// |                  | columns; no overlap    |                             |
/// | copies           | of any strides         | contiguous                  |
/// | fills            | of any strides         | contiguous, of repeated     |
/// |                  |                        | words of 1, 2 or 4 bytes    |
/// | sums over ranks  | integers, floats of 16 | the same without integers   |
/// |                  | bits and more          | of 16 bits                  |
/// | attention        | decomposed, causal in  | one kernel, or one and a    |
/// |                  | blocks of queries      | row program                 |
/// | sorts            | one step               | one kernel, or several for  |
/// |                  |                        | long rows                   |
/// | in flight        | a collective per link  | one collective              |
///
/// With `fp8`, CUDA also multiplies f8E4M3FN factors, on chips from sm_89 on:
///
/// | products          | f32, bf16, f16                                       |
/// | after a product   | a residual; or a bias, if C is bf16 or f16, and relu |
/// | sizes             | n and k multiples of 16                              |
/// | factors' layout   | contiguous along k                                   |
/// | all matrices      | begin at multiples of 16 bytes, as do their rows     |
///
/// The CUDA runtime contains no device code. It executes these steps by calling
/// the CUDA driver and NVIDIA's libraries.

#ifndef TPOPT_TARGET_TARGET_H
#define TPOPT_TARGET_TARGET_H

#include "tpopt/Dialect/Step/Step.h"

#include <string>

namespace tp::codegen {

/// One op applied to the result of a matrix product.
struct PostOpPattern {
  /// The second operand of the op. The first is the result of the product.
  enum class Operand : uint8_t {
    None,
    Number, ///< One number for all elements, of the result's type.
    Row,    ///< The same for all rows, of the result's type: a bias.
    Full,   ///< A matrix of the result's type.
    Other
  };
  step::PostOp kind;
  Operand operand = Operand::None;
};

/// The sizes of a product of an m x k and a k x n matrix.
struct ProductSize {
  int64_t m, n, k;
};

/// The type in which the library multiplies elements.
struct FactorType {
  mlir::Type type;
  /// Why the elements are not multiplied in their own type, if that was
  /// requested; otherwise empty.
  std::string obstacle;
};

/// An operand of a batch of products; strides are in elements.
struct Matrix {
  mlir::Type element;
  int64_t rows, columns;
  int64_t rowStride, columnStride;
  /// The number of elements before each matrix in its allocation is a multiple
  /// of this number.
  int64_t begin;
};

inline Matrix transpose(const Matrix &matrix) {
  return {matrix.element,      matrix.columns,   matrix.rows,
          matrix.columnStride, matrix.rowStride, matrix.begin};
}

/// The matrix in the last two dimensions of `type`, the type of a matmul's
/// operand. With each iteration of a loop, the start of the operand advances by
/// `by` elements.
Matrix getMatrix(mlir::MemRefType type, int64_t by);

class Target {
public:
  virtual ~Target() = default;
  /// Null if no target has this name, or if `fp8` is set and the target cannot
  /// multiply f8E4M3FN.
  static const Target *find(llvm::StringRef name, bool fp8 = false);

  /// One of the constants `k..Target` of the artifact format.
  virtual llvm::StringRef getName() const = 0;
  /// The float type in which the matrix library multiplies elements of the
  /// float type `element`. Products of f64 are left to row programs.
  virtual FactorType getFactorType(mlir::Type element,
                                   const ProductSize &size) const = 0;
  /// Returns true if the library can write products of factors of type `factor`
  /// as type `result`.
  virtual bool writes(mlir::Type factor, mlir::Type result) const = 0;
  /// Returns true if the library can read this factor of a product. The columns
  /// of the matrix must be the summed dimension: pass A, or B transposed.
  virtual bool readsMatrix(const Matrix &factor) const = 0;
  /// Returns true if the library, when it multiplies factors of this type, can
  /// write this matrix as C, or read it as the operand of a post-op.
  virtual bool writesMatrix(mlir::Type factor, const Matrix &result) const = 0;
  /// Returns true if the library can read a post-op's operand with the layout
  /// of `other` when C has the layout of `result`. If not, both have to be
  /// dense.
  virtual bool readsBeside(const Matrix &result, const Matrix &other) const = 0;
  /// Returns true if the library can apply these ops to a product, in this
  /// order.
  virtual bool canFollow(mlir::Type factor, mlir::Type result,
                         llvm::ArrayRef<PostOpPattern> posts) const = 0;
  /// Returns true if the post-ops have one fixed form: a residual comes before
  /// a bias, and operands have stride 1 along the columns.
  virtual bool hasFixedEpilogue() const = 0;
  /// Returns true if the runtime can copy between these buffers, which have
  /// equal shapes.
  virtual bool copies(mlir::MemRefType from, mlir::MemRefType to) const = 0;
  virtual bool fills(mlir::MemRefType to, mlir::Attribute value) const = 0;
  /// The size in bytes of the workspace that the matrix library allocates once
  /// per device; 0 if it is not known at compile time.
  virtual int64_t getWorkspaceBytes() const = 0;
  /// The size up to which a copy is expected to stay in the caches until the
  /// next step.
  virtual int64_t getCacheBytes() const = 0;
  /// Returns true if collectives on different links (`cost::getLinks`) can be
  /// in flight at the same time. Otherwise one collective is, on any link.
  virtual bool separatesLinks() const = 0;
  /// Returns true if collectives can combine elements of this type.
  virtual bool combines(mlir::Type element) const = 0;
  /// Returns true if the target has kernels for attention. For other targets,
  /// causal attention is split into blocks of queries.
  virtual bool hasAttention() const = 0;
  /// Returns true if the target sorts with kernels; a long row takes several
  /// (`Sort.h`). On other targets the runtime sorts any row in one step.
  virtual bool sortsByKernels() const = 0;

  /// Returns true if the runtime needs kernels for work that is not part of a
  /// program's steps: collectives among ranks that share a memory, and random
  /// inputs.
  virtual bool servesByKernels() const = 0;
  /// Returns true if the runtime can measure the times of alternative steps
  /// with equal results, and use one of the steps (`step.choose`).
  virtual bool choosesSteps() const = 0;
  /// Returns true if the target was requested with `fp8`, so that f8E4M3FN is
  /// multiplied without widening it.
  virtual bool multipliesFloat8() const = 0;

  /// Returns true if the runtime can execute this copy, fill or matmul without
  /// a kernel.
  bool executes(mlir::Operation *step) const;
};

/// How a matmul's post-op reads an operand, given the type of C.
PostOpPattern::Operand classifyPostOpOperand(mlir::MemRefType operand,
                                             mlir::MemRefType result);

/// The target called `name`. Emits an error at `op` if there is none, or if
/// `fp8` is set and the target cannot multiply f8E4M3FN.
mlir::FailureOr<const Target *> getTarget(mlir::Operation *op,
                                          llvm::StringRef name, bool fp8);

} // namespace tp::codegen

#endif // TPOPT_TARGET_TARGET_H
