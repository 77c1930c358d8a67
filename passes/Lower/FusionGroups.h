// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Decides which ops of a block are computed together.
///
/// A unit is a set of ops that becomes one step or one row program, such as a
/// chain of element-wise ops and row reductions over one domain. Softmax over
/// the last dimension of [4, 16] is one unit with the domain [4, 16]: its
/// maximum and its sum have a value per row, and the subtraction and the
/// division use these values without writing them to memory. A unit is executed
/// as a whole. An op therefore joins a unit only if none of its operands comes
/// from an op that is outside of the unit and depends on the unit. The op must
/// also be near the unit (see Distances.h): values that the backward pass
/// recomputes would otherwise be computed in the forward pass, and kept in
/// memory until the backward pass.
///
/// An update of a part of a tensor, such as a KV cache, is stored by the row
/// program that computes the update, if there is one: rotary keys go into the
/// cache without a buffer in between. If possible, the same program also stores
/// an update that follows, such as that of the cached values.
///
/// Transposes, reshapes, slices and broadcasts do not belong to any unit, since
/// they are views. Constants with one value, iotas, the device's coordinates, a
/// loop's counter and simple arithmetic on these, such as a causal mask, do not
/// belong to any unit either: row programs recompute them where they need them.
///
/// A loop or a branch is a unit; the ops in its blocks form separate units.

#ifndef TPOPT_PASSES_LOWER_FUSIONGROUPS_H
#define TPOPT_PASSES_LOWER_FUSIONGROUPS_H

#include "Distances.h"
#include "LegalizeForStep.h"
#include "Updates.h"

#include "llvm/ADT/SetVector.h"

namespace tp {

/// Returns true if row programs recompute a value wherever they use it.
bool isInline(mlir::Value value);
/// Returns true if an op is lowered to a view of its operand, and moves no
/// data.
bool isViewOp(mlir::Operation *op);

struct Unit {
  llvm::SmallVector<mlir::Operation *> ops; ///< In program order.
  /// The domain of a row program; empty for other units.
  llvm::SmallVector<int64_t> domain;
  bool isRows = false;
};

class FusionGroups {
public:
  FusionGroups(mlir::Block &block, const codegen::Target &target);

  /// Returns the units in an order in which operands come first, and which is
  /// otherwise as near to program order as possible.
  llvm::SmallVector<unsigned> getOrder() const;
  const Unit &get(unsigned index) const { return units[index]; }

  /// How often a row program computes a value: at every point, or once per row.
  /// None if the unit does not compute the value.
  enum class Level { Point, Row };
  std::optional<Level> getLevel(unsigned unit, mlir::Value value) const;

  /// Returns true if an op outside the unit needs the value in memory.
  bool escapes(unsigned unit, mlir::Value value) const;

  /// Returns the parts of an update if the row program that stores the update
  /// also computes it. Otherwise returns the whole update, which is in memory.
  llvm::SmallVector<UpdatePart> getParts(DynamicUpdateSliceOp op) const;

private:
  void addRowOp(mlir::Operation *op);
  void add(llvm::ArrayRef<mlir::Operation *> ops, bool isRows,
           llvm::ArrayRef<int64_t> domain);
  bool canJoin(unsigned unit, mlir::Operation *op, Level level) const;
  /// Makes `other` part of `unit`, if canMerge allows it.
  void merge(unsigned unit, unsigned other);
  bool canMerge(unsigned unit, unsigned other) const;
  /// Returns true if `unit`, at each point, uses only those values of `other`
  /// that `other` computes at the same point.
  bool readsInPlace(unsigned unit, unsigned other) const;
  void mergeParts(ConcatOp op);
  void storeWhereMade(DynamicUpdateSliceOp op);
  void storeTogether(DynamicUpdateSliceOp op);
  void move(mlir::Operation *op, unsigned unit);
  /// Moves to `unit` the concatenations from which `value` is derived, if only
  /// `unit` reads them. Then they are not stored: `unit` computes the operands
  /// of each concatenation.
  void moveUnread(mlir::Value value, unsigned unit);
  /// The unit that computes the value that `value` is a view of.
  std::optional<unsigned> getProducer(mlir::Value value) const;
  llvm::SetVector<unsigned> getOperandUnits(unsigned unit) const;
  bool reaches(unsigned from, unsigned target) const;
  std::optional<unsigned> getUnit(mlir::Operation *op) const;

  Distances distances;
  llvm::SmallVector<Unit> units;
  llvm::DenseMap<mlir::Operation *, unsigned> unitOf;
  llvm::DenseMap<mlir::Operation *, Level> levels;
  /// For each update that is stored by the unit that computes it: its parts.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<UpdatePart>> parts;
};

} // namespace tp

#endif // TPOPT_PASSES_LOWER_FUSIONGROUPS_H
