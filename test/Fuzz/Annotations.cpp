// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a user says about shardings in the middle of a program.

#include "Author.h"

using namespace mlir;
using namespace tp;
using namespace tp::fuzz;
using namespace tp::spmd;

static void addConstraint(Author &author) {
  Value x = author.pick(Elements::Any);
  if (author.isIsolated())
    return;
  author.add(ConstraintOp::create(
      author.builder, author.loc, x.getType(), x,
      author.toAttr(author.sharding(Author::typeOf(x).getRank()))));
}

/// Sums that are asked for in one layout each and added next, as gradients are
/// along explicit axes of JAX.
static void addAddends(Author &author) {
  Value x = author.pick(Elements::Number, /*minRank=*/1);
  if (author.isIsolated())
    return;
  RankedTensorType type = Author::typeOf(x);
  Type result = author.type(type.getShape().drop_back(), type.getElementType());
  ShardingAttr sharding = author.toAttr(author.sharding(type.getRank() - 1));
  Value total;
  for (int64_t i = author.random.draw(2, 3); i > 0; --i) {
    Operation *sum =
        ReduceOp::create(author.builder, author.loc, result, ReductionKind::Sum,
                         i == 2 ? x : author.get(type), type.getRank() - 1);
    author.add(sum);
    Operation *asked = ConstraintOp::create(author.builder, author.loc, result,
                                            sum->getResult(0), sharding);
    author.add(asked);
    if (!total) {
      total = asked->getResult(0);
      continue;
    }
    Operation *next =
        author.create("tp.add", {total, asked->getResult(0)}, result);
    author.add(next);
    total = next->getResult(0);
  }
}

static void addBarrier(Author &author) {
  Value x = author.pick(Elements::Any);
  if (author.isIsolated())
    return;
  author.add(BarrierOp::create(
      author.builder, author.loc, x.getType(), x,
      author.random.pick<StringRef>({"forward", "backward", "none", "both"})));
}

static void addGroup(Author &author) {
  if (author.isIsolated())
    return;
  Value x = author.pick(Elements::Any), y = author.get(Author::typeOf(x));
  // Annotations of a group must be equal, and arguments get theirs later.
  for (Value member : {x, y}) {
    Operation *op = member.getDefiningOp();
    if (!op || isa<ConstraintOp, ManualOp>(op) || op->hasAttr(kShardingsAttr))
      return;
  }
  int64_t id = author.random.draw(0, 1000000);
  GroupOp::create(author.builder, author.loc, x, id);
  GroupOp::create(author.builder, author.loc, y, id);
}

void tp::fuzz::addAnnotations(Generators &generators) {
  generators["spmd.constraint"] = addConstraint;
  generators["spmd.constraint, addends"] = addAddends;
  generators["spmd.barrier"] = addBarrier;
  generators["spmd.group"] = addGroup;
}
