// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProgramView.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::plan;

ProgramView::ProgramView(Operation *root) : root(root) { update(); }

ProgramView::~ProgramView() { discard(); }

/// Deletes all rewrites. The new ops of a rewrite, its parts, are destroyed
/// unless they were committed to the program.
void ProgramView::discard() {
  // Parts may use each other's results, also across rewrites.
  for (const auto &rewrite : rewrites)
    for (Operation *part : rewrite->parts)
      part->dropAllReferences();
  rewrites.clear();
  ofOp.clear();
  ofPart.clear();
}

ProgramView::Rewrite &
ProgramView::add(Operation *op, ArrayRef<Operation *> absorbed,
                 llvm::function_ref<SmallVector<Value>(OpBuilder &)> build) {
  Rewrite &rewrite = *rewrites.emplace_back(std::make_unique<Rewrite>());
  rewrite.op = op;
  rewrite.absorbed.assign(absorbed.begin(), absorbed.end());
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&rewrite.block);
  rewrite.values = build(builder);
  for (Operation &part : rewrite.block) {
    rewrite.parts.push_back(&part);
    ofPart[&part] = &rewrite;
  }
  ofOp[op] = &rewrite;
  return rewrite;
}

void ProgramView::set(ArrayRef<Rewrite *> changed, bool isOn) {
  for (Rewrite *rewrite : changed)
    rewrite->isOn = isOn;
  update();
}

void ProgramView::commit() {
  for (const auto &rewrite : rewrites) {
    if (!rewrite->isOn)
      continue;
    for (Operation *part : rewrite->parts)
      part->moveBefore(rewrite->op);
    rewrite->op->replaceAllUsesWith(rewrite->values);
    rewrite->op->erase();
    for (Operation *op : llvm::reverse(rewrite->absorbed))
      op->erase();
    rewrite->parts.clear();
  }
  discard();
  update();
}

void ProgramView::update() {
  ops.clear();
  places.clear();
  aliases.clear();
  points.clear();
  hidden.clear();
  for (const auto &rewrite : rewrites)
    if (rewrite->isOn)
      hidden.insert(rewrite->absorbed.begin(), rewrite->absorbed.end());
  for (Region &region : root->getRegions())
    add(region);
  for (const auto &rewrite : rewrites)
    if (rewrite->isOn)
      for (Value result : rewrite->op->getResults())
        aliases[resolve(result)].push_back(result);
}

void ProgramView::add(Region &region) {
  for (Block &block : region)
    for (Operation &op : block)
      add(&op);
}

void ProgramView::add(Operation *op) {
  if (hidden.count(op))
    return;
  if (auto it = ofOp.find(op); it != ofOp.end() && it->second->isOn) {
    for (Operation *part : it->second->parts)
      add(part);
    return;
  }
  Place place;
  place.index = ops.size();
  ops.push_back(op);
  place.begin = place.end = points.size();
  points.push_back(op);
  if (op->getNumRegions() != 0) {
    if (!isa<spmd::ManualOp>(op))
      for (Region &region : op->getRegions())
        add(region);
    place.end = points.size();
    points.push_back(op);
  }
  places[op] = place;
}

Operation *ProgramView::getAnchor(Operation *op) const {
  for (auto it = ofPart.find(op); it != ofPart.end(); it = ofPart.find(op))
    op = it->second->op;
  return op;
}

Value ProgramView::resolve(Value value) const {
  while (Operation *op = value.getDefiningOp()) {
    auto it = ofOp.find(op);
    if (it == ofOp.end() || !it->second->isOn)
      break;
    value = it->second->values[cast<OpResult>(value).getResultNumber()];
  }
  return value;
}

SmallVector<OpOperand *, 2> ProgramView::getUses(Value value) const {
  SmallVector<OpOperand *, 2> uses;
  auto add = [&](Value of) {
    for (OpOperand &use : of.getUses())
      if (contains(use.getOwner()))
        uses.push_back(&use);
  };
  add(value);
  if (auto it = aliases.find(value); it != aliases.end())
    for (Value alias : it->second)
      add(alias);
  auto getPlace = [&](OpOperand *use) {
    return std::pair(places.find(use->getOwner())->second.index,
                     use->getOperandNumber());
  };
  llvm::sort(uses, [&](OpOperand *a, OpOperand *b) {
    return getPlace(a) < getPlace(b);
  });
  return uses;
}

Operation *ProgramView::getUserInBlock(Value value, Operation *user) const {
  Operation *def = value.getDefiningOp();
  Block *block = def ? getAnchor(def)->getBlock() : value.getParentBlock();
  Operation *anchor = getAnchor(user);
  Operation *ancestor = block->findAncestorOpInBlock(*anchor);
  return ancestor == anchor ? user : ancestor;
}
