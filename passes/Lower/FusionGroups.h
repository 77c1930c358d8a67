// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Which ops of a block are computed together.
///
/// A unit is what becomes one step, or one row program: a chain of element-wise
/// ops and row reductions over one domain. Softmax over the last dimension of
/// [4, 16] is one unit of domain [4, 16]: its maximum and its sum have a value
/// per row, and the subtraction and the division take these without their being
/// written to memory. A unit is executed as a whole, so an op joins one only if
/// it does not depend on the unit through something outside, and if the unit is
/// near. Otherwise, what a backward pass computes from saved values would be
/// stored from the forward pass on.
///
/// An update of a part of a tensor, such as a KV cache, is stored by the row
/// program that computes it, if there is one: rotary keys go into the cache
/// without a buffer between. An update that follows another is stored by the
/// same program, if it can be: that of the values.
///
/// Transposes, reshapes, slices and broadcasts are in no unit: they are views.
/// Neither are constants of one value, iotas, the device's coordinates, a
/// loop's counter and simple arithmetic on these, such as a causal mask: row
/// programs make them anew where they need them.
///
/// A loop or a branch is a unit; its blocks have units of their own.

#ifndef TPOPT_PASSES_LOWER_FUSIONGROUPS_H
#define TPOPT_PASSES_LOWER_FUSIONGROUPS_H

#include "Distances.h"
#include "LegalizeForStep.h"
#include "Updates.h"

#include "llvm/ADT/SetVector.h"

namespace tp {

/// Whether a value is made in row programs wherever it is used.
bool isInline(mlir::Value value);
/// Whether an op only says how to read its operand.
bool isViewOp(mlir::Operation *op);

struct Unit {
  llvm::SmallVector<mlir::Operation *> ops; ///< In program order.
  /// Of a row program; empty for all others.
  llvm::SmallVector<int64_t> domain;
  bool isRows = false;
};

class FusionGroups {
public:
  FusionGroups(mlir::Block &block, const codegen::Target &target);

  /// In an order in which operands come first, as near to the program's as
  /// that allows.
  llvm::SmallVector<unsigned> getOrder() const;
  const Unit &get(unsigned index) const { return units[index]; }

  /// How a row program sees a value: at every point, or once per row. None if
  /// the value is not made in the unit.
  enum class Level { Point, Row };
  std::optional<Level> getLevel(unsigned unit, mlir::Value value) const;

  /// Whether something outside the unit needs the value in memory.
  bool escapes(unsigned unit, mlir::Value value) const;

  /// The parts of an update, if the row program that has it makes them; else
  /// the whole, which is in memory.
  llvm::SmallVector<UpdatePart> getParts(DynamicUpdateSliceOp op) const;

private:
  void addRowOp(mlir::Operation *op);
  void add(llvm::ArrayRef<mlir::Operation *> ops, bool isRows,
           llvm::ArrayRef<int64_t> domain);
  bool canJoin(unsigned unit, mlir::Operation *op, Level level) const;
  /// Makes `other` part of `unit`, if nothing stands between them.
  void merge(unsigned unit, unsigned other);
  bool canMerge(unsigned unit, unsigned other) const;
  /// Whether `unit` takes what `other` makes at the point it makes it.
  bool readsInPlace(unsigned unit, unsigned other) const;
  void mergeParts(ConcatOp op);
  void storeWhereMade(DynamicUpdateSliceOp op);
  void storeTogether(DynamicUpdateSliceOp op);
  void move(mlir::Operation *op, unsigned unit);
  /// Has `unit` take the concatenations behind `value` that only it reads: it
  /// knows their parts.
  void moveUnread(mlir::Value value, unsigned unit);
  /// The units that make what a value is a view of.
  std::optional<unsigned> getProducer(mlir::Value value) const;
  llvm::SetVector<unsigned> getOperandUnits(unsigned unit) const;
  bool reaches(unsigned from, unsigned target) const;
  std::optional<unsigned> getUnit(mlir::Operation *op) const;

  Distances distances;
  llvm::SmallVector<Unit> units;
  llvm::DenseMap<mlir::Operation *, unsigned> unitOf;
  llvm::DenseMap<mlir::Operation *, Level> levels;
  /// Of updates that are stored where they are made.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<UpdatePart>> parts;
};

} // namespace tp

#endif // TPOPT_PASSES_LOWER_FUSIONGROUPS_H
