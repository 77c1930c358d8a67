// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Differentiation in reverse mode: the gradient of a scalar, built as
/// ops behind the program that computes it (Griewank and Walther, Evaluating
/// Derivatives, 2008; as a rewrite of the program: arXiv:2204.10923).
///
///     func.func @main(%x, %w) {             ...
///       %y = tp.mul %x, %w                   ...
///       %l = tp.reduce sum %y                %l = tp.reduce sum %y
///                                            %dy = tp.broadcast %one
///                                            %dw = tp.mul %dy, %x
///       return %l                            return %l
///
/// A gradient has the type of its value. A gradient that is zero is a null
/// value, so that nothing is computed of it. Values that are not floats have
/// none. A value's contributions are added in program order from the last use
/// to the first.

#ifndef TPOPT_DIALECTS_TP_REVERSEMODE_H
#define TPOPT_DIALECTS_TP_REVERSEMODE_H

#include "dialects/TP/Formulas.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace tp {

/// The gradients of the values of one block, while they are built. Gradients
/// are wanted of the values that depend on the ones that are differentiated by.
class ReverseMode {
public:
  /// Ops are built at the insertion point of `builder`.
  ReverseMode(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
  /// For a block inside an op, which is built by `builder`: gradients are
  /// wanted of the same values outside, and none is known.
  ReverseMode getInner(mlir::OpBuilder &builder) const {
    ReverseMode inner(builder, loc);
    inner.wanted = wanted;
    return inner;
  }

  // What an op's `addGradients` uses.

  mlir::OpBuilder &getBuilder() { return builder; }
  /// Where the op is, marked as its gradient: `loc("grad(layers.0.mlp)")`.
  mlir::Location getLoc() const { return loc; }
  Emitter getEmitter() { return getFormulas(); }
  Formulas getFormulas() { return Formulas(builder, getLoc()); }
  bool isWanted(mlir::Value value) const { return wanted.contains(value); }
  /// Null if it is zero.
  mlir::Value getGradient(mlir::Value value) const {
    return gradients.lookup(value);
  }
  /// As `getGradient`, with zeros written out.
  mlir::Value getOrZero(mlir::Value value);
  /// Adds to the gradient of `value`, if that is wanted.
  void add(mlir::Value value, mlir::Value gradient);
  /// Puts `gradient` in the place of what there was.
  void set(mlir::Value value, mlir::Value gradient) {
    gradients[value] = gradient;
  }
  /// Differentiates the ops that `op` decomposes into, for an op that has
  /// nothing better. They are built again: the forward op stays what it is.
  mlir::LogicalResult addDecomposed(mlir::Operation *op);
  /// Erases `op` when all gradients are built. Nothing uses it by then.
  void eraseLater(mlir::Operation *op) { erased.push_back(op); }

  // What drives it.

  /// The gradient of `value` is wanted, if it can have one.
  void want(mlir::Value value);
  /// Wants the gradient of what the ops of `block` compute from wanted values.
  void wantDependents(mlir::Block &block);
  /// Goes through `ops` from the last to the first; each op adds to the
  /// gradients of its operands. An op that has no gradient is an error.
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops);
  /// Erases what `eraseLater` names.
  void finish();

private:
  mlir::LogicalResult visit(mlir::Operation *op);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::DenseSet<mlir::Value> wanted;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
  llvm::SmallVector<mlir::Operation *> erased;
};

/// Builds, in front of the terminator of `function`, the gradients of the
/// scalar `loss` by each of `wanted`, which are float tensors that the function
/// has as arguments or computes. A value that the loss does not depend on gets
/// zeros. Emits an error at an op that has no gradient.
///
/// Calls are inlined before.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildGradients(mlir::func::FuncOp function, mlir::Value loss,
               llvm::ArrayRef<mlir::Value> wanted);

/// Adds `gradient`, by argument number `argument`, to the results of
/// `function`: as `NAME.grad`, of the role `gradient`.
void addGradientResult(mlir::func::FuncOp function, unsigned argument,
                       mlir::Value gradient);

/// Identities of the `spmd` dialect pass gradients as they pass values.
void registerIdentityGradients(mlir::MLIRContext *context);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_REVERSEMODE_H
