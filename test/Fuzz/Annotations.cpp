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
  generators["spmd.barrier"] = addBarrier;
  generators["spmd.group"] = addGroup;
}
