// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A function, or a manual region, as it would be after some rewrites.
//
//     %y = softmax %x            %m = reduce max %x
//     return %y                  %e = sub %x, %m ..
//                                return the last part
//
// Plans with and without a rewrite can be priced and compared without changing
// the program. The new ops of a rewrite, its parts, are in a separate block
// until the rewrite is committed.

#ifndef TPOPT_PLAN_PROGRAMVIEW_H
#define TPOPT_PLAN_PROGRAMVIEW_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>
#include <vector>

namespace tp::plan {

class ProgramView {
public:
  /// Views the ops in `root`, except those inside its manual regions. The
  /// program must not change while the view is used, except by commit().
  explicit ProgramView(mlir::Operation *root);
  /// Discards the rewrites that were not committed.
  ~ProgramView();

  /// The ops that may replace an op.
  class Rewrite {
  public:
    mlir::Operation *getOp() const { return op; }
    llvm::ArrayRef<mlir::Operation *> getParts() const { return parts; }

  private:
    friend class ProgramView;
    mlir::Operation *op;
    /// Ops that are erased with `op`, the only user of their results.
    llvm::SmallVector<mlir::Operation *, 1> absorbed;
    mlir::Block block;
    llvm::SmallVector<mlir::Operation *> parts;
    llvm::SmallVector<mlir::Value> values; ///< Replace the results of `op`.
    bool isOn = false;
  };

  /// Adds a rewrite that is initially off. `build` creates the parts, and
  /// returns the values that replace the results of `op`. The operands of parts
  /// are the original values, even if other rewrites replace these values. An
  /// op has at most one rewrite; a part may have a rewrite as well.
  Rewrite &
  add(mlir::Operation *op, llvm::ArrayRef<mlir::Operation *> absorbed,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &)>
          build);
  /// Turns rewrites on or off.
  void set(llvm::ArrayRef<Rewrite *> rewrites, bool isOn);
  /// Applies the rewrites that are on to the program and discards the others.
  /// Afterwards, the view shows the changed program.
  void commit();

  /// The ops of the view, each before the ops in its regions.
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  bool contains(mlir::Operation *op) const { return places.count(op); }
  /// If `op` is part of a rewrite, returns the op of the program that the
  /// rewrite replaces; otherwise returns `op`.
  mlir::Operation *getAnchor(mlir::Operation *op) const;
  /// The value that replaces `value` in this view, or `value` itself.
  mlir::Value resolve(mlir::Value value) const;
  /// The uses of a value of the view, in program order.
  llvm::SmallVector<mlir::OpOperand *, 2> getUses(mlir::Value value) const;

  // Points of the program, as in lib/Cost/Memory.h: one for each op, and
  // another one for the end of an op with regions.
  unsigned getNumPoints() const { return points.size(); }
  unsigned getBegin(mlir::Operation *op) const {
    return places.lookup(op).begin;
  }
  unsigned getEnd(mlir::Operation *op) const { return places.lookup(op).end; }
  /// The op that begins or ends at a point.
  mlir::Operation *getOpAt(unsigned point) const { return points[point]; }
  /// Returns the op in the block of `value` that is `user` or contains `user`.
  /// For example, if `user` is in the body of a loop, and `value` is defined
  /// outside of the loop, returns the loop.
  mlir::Operation *getUserInBlock(mlir::Value value,
                                  mlir::Operation *user) const;

private:
  struct Place {
    unsigned index = 0; ///< The position in `ops`.
    unsigned begin = 0, end = 0;
  };

  void discard();
  void update();
  void add(mlir::Region &region);
  void add(mlir::Operation *op);

  mlir::Operation *root;
  std::vector<std::unique_ptr<Rewrite>> rewrites;
  /// Keyed by the replaced op.
  llvm::DenseMap<mlir::Operation *, Rewrite *> ofOp;
  llvm::DenseMap<mlir::Operation *, Rewrite *> ofPart; ///< Keyed by part.
  llvm::DenseSet<mlir::Operation *> hidden;            ///< Absorbed ops.
  std::vector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, Place> places;
  std::vector<mlir::Operation *> points;
  /// Results of replaced ops, by the value that replaces them.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> aliases;
};

} // namespace tp::plan

#endif // TPOPT_PLAN_PROGRAMVIEW_H
