// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/TP/CheapSources.h"

#include "dialects/TP/EqualOps.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tp;

bool tp::isCheapSource(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return isa<IotaOp>(op);
}

static SmallVector<Operation *> collectSources(Region &region) {
  SmallVector<Operation *> sources;
  region.walk([&](Operation *op) {
    if (isCheapSource(op))
      sources.push_back(op);
  });
  return sources;
}

void tp::splitSources(Region &region) {
  mergeSources(region);
  for (Operation *source : collectSources(region)) {
    Value value = source->getResult(0);
    if (value.use_empty() || spmd::getSharding(value))
      continue;
    OpBuilder builder(source->getContext());
    builder.setInsertionPointAfter(source);
    SmallVector<OpOperand *> uses = llvm::to_vector(
        llvm::map_range(value.getUses(), [](OpOperand &use) { return &use; }));
    // The last entry of `uses` is the first use, which keeps the original.
    Operation *first = uses.back()->getOwner();
    llvm::DenseMap<Operation *, Value> shared;
    for (OpOperand *use : ArrayRef(uses).drop_back()) {
      Operation *user = use->getOwner();
      bool carries =
          user->getNumRegions() != 0 || user->hasTrait<OpTrait::IsTerminator>();
      if (!carries && user == first)
        continue;
      Value copy = carries ? Value() : shared.lookup(user);
      if (!copy)
        copy = builder.clone(*source)->getResult(0);
      shared[user] = copy;
      use->set(copy);
    }
  }
}

namespace {

/// Sources are equal if they are copies of each other in one block.
struct SourceInfo : EqualOps {
  static bool isEqual(const Operation *a, const Operation *b) {
    return EqualOps::isEqual(a, b) &&
           (a == b || const_cast<Operation *>(a)->getBlock() ==
                          const_cast<Operation *>(b)->getBlock());
  }
};

} // namespace

unsigned tp::mergeSources(Region &region) {
  unsigned merged = 0;
  llvm::DenseSet<Operation *, SourceInfo> kept;
  for (Operation *source : collectSources(region)) {
    auto [first, isNew] = kept.insert(source);
    if (isNew)
      continue;
    source->getResult(0).replaceAllUsesWith((*first)->getResult(0));
    source->erase();
    ++merged;
  }
  return merged;
}
