// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Differentiation in reverse mode: the gradient of a scalar, built as
/// ops after the program that computes it (Griewank and Walther, Evaluating
/// Derivatives, 2008; as a rewrite of the program: arXiv:2204.10923).
///
///     func.func @main(%x, %w) {             ...
///       %y = tp.mul %x, %w                   ...
///       %l = tp.reduce sum %y                %l = tp.reduce sum %y
///                                            %dy = tp.broadcast %one
///                                            %dw = tp.mul %dy, %x
///       return %l                            return %l
///
/// A gradient has the type of its value. A zero gradient is a null value, so
/// that nothing is computed from it. Only float values have gradients. A
/// value's contributions are added from its last use to its first, in program
/// order.

#ifndef TPOPT_DIALECTS_TP_REVERSEMODE_H
#define TPOPT_DIALECTS_TP_REVERSEMODE_H

#include "dialects/TP/Formulas.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tp {

/// The gradients of the values of one block, while they are being built. A
/// gradient is wanted for the values with respect to which the loss is
/// differentiated, and for all values that depend on them.
class ReverseMode {
public:
  /// Ops are built at the insertion point of `builder`.
  ReverseMode(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
  /// Returns a ReverseMode for a nested block. The new ReverseMode creates ops
  /// with `builder` and wants the same gradients as this one, but has no
  /// gradients yet.
  ReverseMode getInner(mlir::OpBuilder &builder) const {
    ReverseMode inner(builder, loc);
    inner.wanted = wanted;
    return inner;
  }

  // Used by an op's `addGradients`.

  mlir::OpBuilder &getBuilder() { return builder; }
  /// The location for ops that compute gradients of the current op: the current
  /// op's location, marked as `loc("grad(layers.0.mlp)")`.
  mlir::Location getLoc() const { return loc; }
  Emitter getEmitter() { return getFormulas(); }
  Formulas getFormulas() { return Formulas(builder, getLoc()); }
  bool isWanted(mlir::Value value) const { return wanted.contains(value); }
  /// Null if the gradient is zero.
  mlir::Value getGradient(mlir::Value value) const {
    return gradients.lookup(value);
  }
  /// Like `getGradient`, but returns a tensor of zeros instead of null.
  mlir::Value getOrZero(mlir::Value value);
  /// Adds `gradient` to the gradient of `value`. Does nothing if no gradient of
  /// `value` is wanted.
  void add(mlir::Value value, mlir::Value gradient);
  /// Replaces the gradient of `value`.
  void set(mlir::Value value, mlir::Value gradient) {
    gradients[value] = gradient;
  }
  /// Builds the gradients of `op` from its decomposition: decomposes `op` into
  /// new ops, and differentiates these. `op` itself is not changed.
  mlir::LogicalResult addDecomposed(mlir::Operation *op);
  /// Erases `op` once all gradients are built, when it has no more uses.
  void eraseLater(mlir::Operation *op) { erased.push_back(op); }

  // Used by the code that drives the differentiation.

  /// Marks the gradient of `value` as wanted, if it can have one.
  void want(mlir::Value value);
  /// Marks gradients as wanted: those of all values in `block` that depend on a
  /// value whose gradient is wanted.
  void wantDependents(mlir::Block &block);
  /// Visits `ops` from the last to the first; each op adds to the gradients of
  /// its operands. Emits an error for an op without a gradient.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops);
  /// Erases the ops passed to `eraseLater`.
  void finish();

private:
  mlir::LogicalResult visit(mlir::Operation *op);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::DenseSet<mlir::Value> wanted;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
  llvm::SmallVector<mlir::Operation *> erased;
};

/// Builds, before the terminator of `function`, the gradients of the scalar
/// `loss` with respect to each of `wanted`: float tensors that are arguments of
/// the function or computed in it. A value that the loss does not depend on
/// gets zeros. Emits an error at an op that has no gradient.
///
/// Calls must have been inlined.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildGradients(mlir::func::FuncOp function, mlir::Value loss,
               llvm::ArrayRef<mlir::Value> wanted);

/// Adds `gradient`, the gradient of argument number `argument`, to the results
/// of `function`, with the name `NAME.grad` and the role `gradient`.
void addGradientResult(mlir::func::FuncOp function, unsigned argument,
                       mlir::Value gradient);

/// Registers the gradients of identity ops of the `spmd` dialect, which pass on
/// gradients in the same way as values.
void registerIdentityGradients(mlir::MLIRContext *context);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_REVERSEMODE_H
