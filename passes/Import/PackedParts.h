// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Which weights are several in one, and what is made of the parts.
///
/// A tracker follows an argument forwards, down to the slices that say what its
/// parts are. A parting looks backwards, whether a value is made of such parts:
/// a gradient of q, k and v is a concatenation behind reshapes and products.

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
  /// The parts of a dimension of `size` elements that runs along `dim`; none if
  /// they end inside its elements.
  std::optional<llvm::SmallVector<Interval, 3>> getParts(int64_t size) const;
};

/// A dimension of a value that runs along the dimension of an argument: element
/// i is made of `unit` elements there, from i * unit on.
struct Track {
  unsigned dim;
  int64_t unit;
};

/// Where a dimension of a result comes from: elements [b, e) of it are made of
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
/// The dimensions of operands that it sums over at once, and which operands.
llvm::SmallVector<std::pair<unsigned, unsigned>, 2>
getOperandDims(const PackedSum &sum);

/// Follows a dimension of a value, as of an argument, through all that is made
/// of it.
class Tracker {
public:
  /// Whether all that is made of it is known.
  bool follow(mlir::Value value, unsigned dim);
  /// The split that the slices ask for, if they take each element.
  std::optional<Split> getSplit() const;

  /// Every slice and the dimension that it cuts; what is between.
  llvm::MapVector<mlir::Operation *, unsigned> slices;
  llvm::SetVector<mlir::Operation *> between;
  llvm::SmallVector<PackedSum> sums;
  /// The results of the function that are made of the value, and along which
  /// dimension; of an argument those that are the argument, updated.
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

/// What is made of the parts of arguments of one shape, where all of them are
/// split alike.
class Parting {
public:
  Parting(Split split, llvm::SetVector<mlir::Value> arguments)
      : split(std::move(split)), arguments(std::move(arguments)) {}

  /// Whether the parts of the value along `dim` are computed of such parts
  /// alone, each without the others.
  bool has(mlir::Value value, unsigned dim);
  /// Whether all that is summed over is.
  bool has(const PackedSum &sum);

  /// What is between the parts and these values, and along which dimension.
  llvm::SetVector<std::pair<mlir::Operation *, unsigned>> between;

private:
  bool find(mlir::Value value, unsigned dim);

  Split split;
  llvm::SetVector<mlir::Value> arguments;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, bool> known;
};

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_PACKEDPARTS_H
