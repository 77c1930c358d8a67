// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Values as patterns see them: without the movement between.
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
/// and each exporter in its own way. A BroadcastOperand is the value at the end
/// of such a chain, and for each of its dims the one of the pattern's root
/// along which it runs: `BroadcastOperand::of(%y).operand(1)` is %mean along
/// dims 0 and 1 of %y. BroadcastOperands over the same root may be compared
/// whatever movement brought them there.
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

/// A value spread over the dims of a root.
class BroadcastOperand {
public:
  BroadcastOperand() = default;
  /// What `value` is made of, over its own dims.
  static BroadcastOperand of(mlir::Value value);
  /// The same over a root, dim i of the value being `dims[i]` of the root's.
  static BroadcastOperand of(mlir::Value value, llvm::ArrayRef<int64_t> dims);

  mlir::Value getSource() const { return source; }
  /// For every dim of the source that of the root; kNone where it has size 1.
  llvm::ArrayRef<int64_t> getDims() const { return dims; }
  static constexpr int64_t kNone = -1;

  template <typename OpT> OpT as() const { return source.getDefiningOp<OpT>(); }
  /// An operand of the source, which an element-wise op defines.
  BroadcastOperand operand(unsigned index) const;
  /// What a reduction along one dim reduces, that dim being `dim` of the root.
  BroadcastOperand reduced(int64_t dim) const;

  /// The number that it is everywhere.
  std::optional<double> getNumber() const;
  bool isNumber(double number) const;
  bool isAlong(int64_t dim) const { return llvm::is_contained(dims, dim); }
  /// Along `dim` alone.
  bool isRow(int64_t dim) const;

  /// Whether they are the same function of the root's dims: one value, or two
  /// that are computed alike.
  bool operator==(const BroadcastOperand &other) const;

  /// A value of `shape`, that of the root.
  mlir::Value materialize(Emitter &emit, llvm::ArrayRef<int64_t> shape) const;
  /// A value whose dims are `order` of the root, of `sizes`; the term runs
  /// along no others. It is repeated along those that it lacks.
  mlir::Value arrange(Emitter &emit, llvm::ArrayRef<int64_t> order,
                      llvm::ArrayRef<int64_t> sizes) const;

private:
  BroadcastOperand(mlir::Value source, llvm::SmallVector<int64_t, 4> dims)
      : source(source), dims(std::move(dims)) {}
  /// Through movement, and through arithmetic that changes nothing.
  void lookThrough();
  bool lookThroughMovement();
  bool lookThroughIdentity();

  mlir::Value source;
  llvm::SmallVector<int64_t, 4> dims;
};

/// Whether two values are written alike, however many ops that takes.
bool isWrittenAlike(mlir::Value a, mlir::Value b);

/// The dim of the root that `reduction` reduces `term` along, if it does.
std::optional<int64_t> getReducedDim(const BroadcastOperand &reduction,
                                     ReductionKind kind,
                                     const BroadcastOperand &term);

/// What `mean` is the mean of, along the root's dim.
std::optional<BroadcastOperand> getMeanOf(const BroadcastOperand &mean,
                                          int64_t dim);

/// What is squared: x * x, or x to the second power.
std::optional<BroadcastOperand> getSquared(const BroadcastOperand &square);

/// A number times something, as far as one is written.
struct Scaled {
  static Scaled of(const BroadcastOperand &term);

  double coefficient = 1;
  BroadcastOperand term;
};

/// A product taken apart: coefficient * over.. / under..
struct Product {
  /// Factors equal to `whole` are kept in one piece.
  static Product of(const BroadcastOperand &term,
                    const BroadcastOperand *whole = nullptr);

  double coefficient = 1;
  llvm::SmallVector<BroadcastOperand, 4> over, under;
};

/// Whether `number` is what becomes of `wanted` in computations of that type.
bool isRounded(double number, double wanted, mlir::Type element);

/// Whether intermediate values are as exact as those of transformer ops.
inline bool isWide(mlir::Type element) {
  return mlir::isa<mlir::FloatType>(element) &&
         element.getIntOrFloatBitWidth() >= 32;
}

} // namespace tp::raise

#endif // TPOPT_PASSES_IMPORT_RAISE_BROADCASTOPERAND_H
