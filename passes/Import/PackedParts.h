// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds weights that consist of several weights, and the values computed
/// from their parts.
///
/// A Tracker follows an argument forwards, to the slices that define its parts.
/// A Parting follows a value backwards, to check whether the value is made of
/// such parts. A gradient of q, k and v, for example, is a concatenation
/// followed by reshapes and products.

#ifndef TPOPT_PASSES_IMPORT_PACKEDPARTS_H
#define TPOPT_PASSES_IMPORT_PACKEDPARTS_H

#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <set>

namespace tp {

/// Elements [begin, end) of a dimension.
struct Interval {
  int64_t begin, end;

  bool operator<(const Interval &o) const {
    return std::pair(begin, end) < std::pair(o.begin, o.end);
  }
  bool operator==(const Interval &o) const {
    return begin == o.begin && end == o.end;
  }
};

/// How an argument is split: its parts along `dim`, in order.
struct Split {
  unsigned dim;
  llvm::SmallVector<Interval, 3> parts;

  bool operator==(const Split &o) const {
    return dim == o.dim && parts == o.parts;
  }
  /// Returns the parts of a dimension that corresponds to `dim` but has only
  /// `size` elements; nullopt if a part would begin or end inside an element.
  std::optional<llvm::SmallVector<Interval, 3>> getParts(int64_t size) const;
};

/// A dimension of a value that runs along the dimension of an argument: element
/// i of the value's dimension corresponds to `unit` elements of the argument's
/// dimension, starting at i * unit.
struct Track {
  unsigned dim;
  int64_t unit;
};

/// The origin of a result's dimension: its elements [b, e) are made of elements
/// [b * times / per, e * times / per) of dimension `dim` of the operand.
struct Origin {
  unsigned operand, dim;
  int64_t times, per;

  Interval get(Interval of) const {
    return {of.begin * times / per, of.end * times / per};
  }
};
llvm::SmallVector<Origin, 2> getOrigins(mlir::Operation *op, unsigned dim);

/// A product or a reduction that sums over a dimension of an operand.
struct PackedSum {
  mlir::Operation *op;
  unsigned operand, dim;
};
/// Returns, as pairs of operand and dimension, all dimensions that the op sums
/// over together with `sum.dim`.
llvm::SmallVector<std::pair<unsigned, unsigned>, 2>
getOperandDims(const PackedSum &sum);

/// Follows a dimension of a value, such as an argument, through everything
/// computed from it.
class Tracker {
public:
  /// Returns true if all ops that use the dimension are supported.
  bool follow(mlir::Value value, unsigned dim);
  /// Returns the split that the slices imply, if they cover every element.
  std::optional<Split> getSplit() const;

  /// `slices` maps every slice along the tracked dimension to the index of this
  /// dimension in the shape of the slice's operand. `between` holds the ops
  /// between the tracked value and these slices.
  llvm::MapVector<mlir::Operation *, unsigned> slices;
  llvm::SetVector<mlir::Operation *> between;
  llvm::SmallVector<PackedSum> sums;
  /// The function's results that are computed from the tracked value, each with
  /// its dimension that corresponds to the tracked dimension. If the tracked
  /// value is an argument, holds only results that are the argument's updated
  /// value.
  llvm::SmallVector<std::pair<unsigned, unsigned>> results;

private:
  bool add(mlir::Value value, Track track);
  bool follow(mlir::OpOperand &use, Track track);
  bool visitSlice(SliceOp slice, Track track);
  bool visitReturn(mlir::OpOperand &use, Track track);

  mlir::Value root;
  Track rootTrack;
  llvm::MapVector<mlir::Value, Track> open;
  std::set<Interval> intervals;
};

/// Recognises values that are made of parts of arguments. The arguments have
/// the same shape and are split in the same way.
class Parting {
public:
  Parting(Split split, llvm::SetVector<mlir::Value> arguments)
      : split(std::move(split)), arguments(std::move(arguments)) {}

  /// Returns true if each part of the value along `dim` can be computed from
  /// the arguments' parts without computing the other parts.
  bool has(mlir::Value value, unsigned dim);
  /// Returns true if has() is true for all dimensions that the op sums over.
  bool has(const PackedSum &sum);

  /// The ops that compute the values for which has() returned true, each with
  /// the dimension of its result that is split.
  llvm::SetVector<std::pair<mlir::Operation *, unsigned>> between;

private:
  bool find(mlir::Value value, unsigned dim);

  Split split;
  llvm::SetVector<mlir::Value> arguments;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, bool> known;
};

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_PACKEDPARTS_H
