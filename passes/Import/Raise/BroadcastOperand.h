// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Values as patterns see them: without the data movement in between.
///
/// Exporters write `x - mean(x)` as
///
///     %sum = tp.reduce sum %x dims = [2] : 4x8x32 -> 4x8
///     %keep = tp.broadcast %sum dims = [0, 1] : 4x8 -> 4x8x1
///     %mean = tp.div %keep, %thirtytwo : 4x8x1
///     %flat = tp.reshape %mean : 4x8x1 -> 4x8
///     %wide = tp.broadcast %flat dims = [0, 1] : 4x8 -> 4x8x32
///     %y = tp.sub %x, %wide : 4x8x32
///
/// and each exporter does it in its own way. A BroadcastOperand is the source
/// value of such a chain and, for each of the source's dims, the dim of the
/// pattern's root that it runs along: `BroadcastOperand::of(%y).operand(1)` is
/// %mean along dims 0 and 1 of %y. BroadcastOperands over the same root can be
/// compared whatever data movement produced them.
///
/// Nothing here looks further than a few ops, so that matching is linear.

#ifndef TPOPT_PASSES_IMPORT_RAISE_BROADCASTOPERAND_H
#define TPOPT_PASSES_IMPORT_RAISE_BROADCASTOPERAND_H

#include "dialects/TP/Emitter.h"

#include <optional>

namespace tp::raise {

inline mlir::Type elementOf(mlir::Value value) {
  return typeOf(value).getElementType();
}

/// A value that is broadcast over the dims of a root.
class BroadcastOperand {
public:
  BroadcastOperand() = default;
  /// Finds the source of `value`; the dims of the root are the dims of `value`.
  static BroadcastOperand of(mlir::Value value);
  /// Finds the source of `value` for any root: dim i of the value is dim
  /// `dims[i]` of the root.
  static BroadcastOperand of(mlir::Value value, llvm::ArrayRef<int64_t> dims);

  mlir::Value getSource() const { return source; }
  /// For each dim of the source, the dim of the root that it runs along; kNone
  /// if it has size 1.
  llvm::ArrayRef<int64_t> getDims() const { return dims; }
  static constexpr int64_t kNone = -1;

  template <typename OpT> OpT as() const { return source.getDefiningOp<OpT>(); }
  /// Returns operand `index` of the op that defines the source. This operand
  /// must have the shape of the source.
  BroadcastOperand operand(unsigned index) const;
  /// If the source is a reduction along one dim, returns its input. The reduced
  /// dim is numbered `dim`.
  BroadcastOperand reduced(int64_t dim) const;

  /// Returns the number that all elements equal, if it is known.
  std::optional<double> getNumber() const;
  bool isNumber(double number) const;
  bool isAlong(int64_t dim) const { return llvm::is_contained(dims, dim); }
  /// Returns true if the source runs along `dim` alone.
  bool isRow(int64_t dim) const;

  /// Returns true if this and `other` run along the same dims of the root, and
  /// their sources are the same value or are computed in the same way.
  bool operator==(const BroadcastOperand &other) const;

  /// Creates the source, broadcast to `shape`, which is the root's shape.
  mlir::Value materialize(Emitter &emit, llvm::ArrayRef<int64_t> shape) const;
  /// Creates a value whose dims are the dims `order` of the root and have the
  /// sizes `sizes`. The source must not run along other dims; it is repeated
  /// along dims that it does not have.
  mlir::Value arrange(Emitter &emit, llvm::ArrayRef<int64_t> order,
                      llvm::ArrayRef<int64_t> sizes) const;

private:
  BroadcastOperand(mlir::Value source, llvm::SmallVector<int64_t, 4> dims)
      : source(source), dims(std::move(dims)) {}
  /// Looks through data movement, and through arithmetic that changes nothing.
  void lookThrough();
  bool lookThroughMovement();
  bool lookThroughIdentity();

  mlir::Value source;
  llvm::SmallVector<int64_t, 4> dims;
};

/// Returns true if two values are computed by the same ops. Compares more ops
/// than operator==.
bool isWrittenAlike(mlir::Value a, mlir::Value b);

/// Returns the dim of the root along which `reduction` reduces `term`; nullopt
/// if it is not such a reduction.
std::optional<int64_t> getReducedDim(const BroadcastOperand &reduction,
                                     ReductionKind kind,
                                     const BroadcastOperand &term);

/// Returns the term that `mean` is the mean of, along dim `dim` of the root.
std::optional<BroadcastOperand> getMeanOf(const BroadcastOperand &mean,
                                          int64_t dim);

/// Returns x if `square` is x * x, or x to the second power.
std::optional<BroadcastOperand> getSquared(const BroadcastOperand &square);

/// A number times a term; the number is 1 if none is written.
struct Scaled {
  static Scaled of(const BroadcastOperand &term);

  double coefficient = 1;
  BroadcastOperand term;
};

/// A product taken apart: `coefficient` times the product of the factors
/// `over`, divided by the product of the factors `under`.
struct Product {
  /// Takes `term` apart, but no factor that equals `whole`.
  static Product of(const BroadcastOperand &term,
                    const BroadcastOperand *whole = nullptr);

  double coefficient = 1;
  llvm::SmallVector<BroadcastOperand, 4> over, under;
};

/// Returns true if `number` is `wanted`, up to the rounding of a few operations
/// on the type `element`.
bool isRounded(double number, double wanted, mlir::Type element);

/// Returns true if intermediate values of this type are as exact as those
/// inside transformer ops.
inline bool isWide(mlir::Type element) {
  return mlir::isa<mlir::FloatType>(element) &&
         element.getIntOrFloatBitWidth() >= 32;
}

} // namespace tp::raise

#endif // TPOPT_PASSES_IMPORT_RAISE_BROADCASTOPERAND_H
