// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Emitter: short functions that create ops, for decompositions, for the
/// ops of one device, and for imports.

#ifndef TPOPT_DIALECTS_TP_EMITTER_H
#define TPOPT_DIALECTS_TP_EMITTER_H

#include "tpopt/Dialect/TP/TP.h"

namespace tp {

/// Builds primitive ops at one location. Shapes and element types follow from
/// the operands.
class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// `shape` with the element type of `like`.
  static mlir::RankedTensorType withShape(mlir::Value like,
                                          llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, typeOf(like).getElementType());
  }

  template <typename OpT> mlir::Value unary(mlir::Value x) {
    return OpT::create(builder, loc, x.getType(), x);
  }
  template <typename OpT> mlir::Value binary(mlir::Value a, mlir::Value b) {
    return OpT::create(builder, loc, a.getType(), a, b);
  }
  /// A constant tensor shaped and typed like `like`.
  mlir::Value constant(double value, mlir::Value like) {
    return constant(value, withShape(like, typeOf(like).getShape()));
  }
  mlir::Value constant(double value, mlir::RankedTensorType type);
  /// A scalar.
  mlir::Value constant(mlir::TypedAttr number);

  mlir::Value convert(mlir::Value x, mlir::Type elementType);
  /// Converts to at least f32, the type in which transformer ops compute.
  mlir::Value widen(mlir::Value x);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dims);
  /// Repeats `row` along dimension `dim` of `like`. The shape of `row` is that
  /// of `like` without this dimension.
  mlir::Value repeatAlong(mlir::Value row, mlir::Value like, unsigned dim);
  mlir::Value reduce(ReductionKind kind, mlir::Value x, int64_t dim);
  mlir::Value reduce(ReductionKind kind, mlir::Value x,
                     llvm::ArrayRef<int64_t> dims);
  mlir::Value cumulative(ReductionKind kind, mlir::Value x, int64_t dim,
                         bool reverse);
  mlir::Value compare(ComparePredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value iota(unsigned dim, llvm::ArrayRef<int64_t> shape,
                   mlir::Type elementType);
  mlir::Value einsum(llvm::StringRef equation, mlir::Value a, mlir::Value b,
                     llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> sizes);
  /// The sizes follow from the starts and limits.
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> limits,
                    llvm::ArrayRef<int64_t> strides);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value bitcast(mlir::Value x, mlir::Type elementType);
  mlir::Value gather(mlir::Value x, mlir::Value indices, int64_t axis,
                     int64_t batchDims);
  /// Creates a scatter into an input shaped like `x`. The indices are as in
  /// `gather`.
  mlir::Value scatter(ScatterKind kind, mlir::Value x, mlir::Value indices,
                      mlir::Value updates, int64_t axis, int64_t batchDims);
  /// Like tp.dynamic_slice and tp.dynamic_update_slice: one scalar start per
  /// dimension.
  mlir::Value dynamicSlice(mlir::Value x, mlir::ValueRange starts,
                           llvm::ArrayRef<int64_t> sizes);
  mlir::Value dynamicUpdate(mlir::Value x, mlir::Value update,
                            mlir::ValueRange starts);
  /// Repeats a scalar in all of `shape`.
  mlir::Value splat(mlir::Value scalar, llvm::ArrayRef<int64_t> shape) {
    return broadcast(scalar, shape, {});
  }
  mlir::Value concat(llvm::ArrayRef<mlir::Value> parts, unsigned dim);
  /// Pads `x` along `dim` to `size` elements: `low` zeros in front, and the
  /// rest behind.
  mlir::Value pad(mlir::Value x, unsigned dim, int64_t low, int64_t size);
  mlir::Value softmax(mlir::Value x, unsigned dim);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// Returns a mask of the shape of `logits`. In each row, the element at the
/// row's label is true.
mlir::Value isLabel(Emitter &emit, mlir::Value labels, mlir::Value logits);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_EMITTER_H
