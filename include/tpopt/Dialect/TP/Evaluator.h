// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The tensor kernels that give ops their meaning.
///
/// An op defines its meaning by calling these kernels (EvaluateOpInterface).
/// The Evaluator determines the numbers that they compute with: doubles for
/// reference results, elements of prime fields for proofs. The op's verifier
/// has checked that the operands fit each other. Kernels also get the type of
/// the result: its shape, and the element type to which the result is rounded.
/// Sums and contractions accumulate in full precision and round once.

#ifndef TPOPT_DIALECT_TP_EVALUATOR_H
#define TPOPT_DIALECT_TP_EVALUATOR_H

#include "tpopt/Sharding/Sharding.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Support/LLVM.h"

#include <memory>

#include "tpopt/Dialect/TP/TPEnums.h.inc"

namespace tp {

/// A tensor as an evaluator stores it. Immutable and shared.
class TensorData {
public:
  explicit TensorData(mlir::RankedTensorType type) : type(type) {}
  virtual ~TensorData() = default;
  mlir::RankedTensorType getType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }

private:
  mlir::RankedTensorType type;
};
using TensorValue = std::shared_ptr<const TensorData>;

enum class UnaryKind : uint8_t {
  Neg,
  Abs,
  Sign,
  Exp,
  Log,
  Log1p,
  Expm1,
  Sqrt,
  Rsqrt,
  Cbrt,
  Sin,
  Cos,
  Tan,
  Tanh,
  Erf,
  Logistic,
  Floor,
  Ceil,
  RoundEven,
  StopGradient, ///< The value itself.
  Not,
  Popcount,
  CountLeadingZeros
};
enum class BinaryKind : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Min,
  Pow,
  Rem,
  Atan2,
  And,
  Or,
  Xor,
  ShiftLeft,
  ShiftRightArithmetic,
  ShiftRightLogical
};

/// The kernels. Integers are exact in every evaluator, because they are used as
/// indices.
class Evaluator {
public:
  using Type = mlir::RankedTensorType;
  virtual ~Evaluator() = default;

  virtual TensorValue constant(mlir::ElementsAttr value, Type type) = 0;
  /// Each element is its index along `dim`.
  virtual TensorValue iota(unsigned dim, Type type) = 0;
  virtual TensorValue unary(UnaryKind kind, TensorValue x, Type type) = 0;
  virtual TensorValue binary(BinaryKind kind, TensorValue a, TensorValue b,
                             Type type) = 0;
  virtual TensorValue compare(ComparePredicate predicate, TensorValue a,
                              TensorValue b, Type type) = 0;
  virtual TensorValue select(TensorValue condition, TensorValue a,
                             TensorValue b, Type type) = 0;
  virtual TensorValue convert(TensorValue x, Type type) = 0;
  /// The same bits, read as another type.
  virtual TensorValue bitcast(TensorValue x, Type type) = 0;

  /// `labels` name the dimensions of both operands and the result; a label that
  /// is not in the result is summed over: "ik,kj->ij".
  virtual TensorValue contract(llvm::StringRef equation, TensorValue a,
                               TensorValue b, Type type) = 0;
  virtual TensorValue reduce(ReductionKind kind, TensorValue x,
                             llvm::ArrayRef<int64_t> dims, Type type) = 0;

  /// Dimension i of `x` becomes dimension `dims[i]` of the result. Along the
  /// result's other dimensions, `x` is repeated.
  virtual TensorValue broadcast(TensorValue x, llvm::ArrayRef<int64_t> dims,
                                Type type) = 0;
  /// Dimension i of the result is dimension `permutation[i]` of `x`.
  virtual TensorValue
  transpose(TensorValue x, llvm::ArrayRef<int64_t> permutation, Type type) = 0;
  virtual TensorValue reshape(TensorValue x, Type type) = 0;
  virtual TensorValue slice(TensorValue x, llvm::ArrayRef<int64_t> starts,
                            llvm::ArrayRef<int64_t> strides, Type type) = 0;
  virtual TensorValue concat(llvm::ArrayRef<TensorValue> parts, unsigned dim,
                             Type type) = 0;
  /// Adds `low` elements of the scalar `value` before `x` in each dimension.
  /// `type`, the type of the result, says how many elements follow `x`.
  virtual TensorValue pad(TensorValue x, TensorValue value,
                          llvm::ArrayRef<int64_t> low, Type type) = 0;

  /// Each of `dims` becomes two dimensions: the window, and the position in the
  /// window. Windows start `strides` elements apart, from element `starts` on;
  /// elements in a window are `dilations` apart. See tp.window.
  virtual TensorValue window(TensorValue x, llvm::ArrayRef<int64_t> dims,
                             llvm::ArrayRef<int64_t> starts,
                             llvm::ArrayRef<int64_t> strides,
                             llvm::ArrayRef<int64_t> dilations, Type type) = 0;

  /// x[batch.., .., indices[batch.., i..], ..]: see tp.gather. Indices out of
  /// range give zeros.
  virtual TensorValue gather(TensorValue x, TensorValue indices, unsigned axis,
                             unsigned batchDims, Type type) = 0;
  /// See tp.scatter. Updates whose indices are out of range are dropped.
  virtual TensorValue scatter(ScatterKind kind, TensorValue x,
                              TensorValue indices, TensorValue updates,
                              unsigned axis, unsigned batchDims, Type type) = 0;
  /// `starts` are scalars, clamped so that the slice lies inside of `x`.
  virtual TensorValue dynamicSlice(TensorValue x,
                                   llvm::ArrayRef<TensorValue> starts,
                                   Type type) = 0;
  virtual TensorValue dynamicUpdateSlice(TensorValue x, TensorValue update,
                                         llvm::ArrayRef<TensorValue> starts,
                                         Type type) = 0;
  /// A stable sort along `dim`: the sorted values, and the position in `x` that
  /// each came from.
  virtual std::pair<TensorValue, TensorValue> sort(TensorValue x, unsigned dim,
                                                   bool descending, Type values,
                                                   Type indices) = 0;

  /// The elements of an integer tensor in row-major order, for control flow.
  virtual llvm::SmallVector<int64_t> getIntegers(TensorValue x) = 0;
};

} // namespace tp

#endif // TPOPT_DIALECT_TP_EVALUATOR_H
