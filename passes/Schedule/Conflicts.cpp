// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conflicts.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::schedule;

/// A view that moves with a loop may be anywhere in its root.
static Access getAccess(Value buffer, bool isWrite) {
  Value root = step::getRoot(buffer);
  MemRefType type = step::bufferTypeOf(buffer);
  auto view = buffer.getDefiningOp<step::ViewOp>();
  if (view && view.getBy())
    return {root, 0, step::getEndByte(step::bufferTypeOf(root)), isWrite};
  int64_t begin =
      step::Strides(type).offset * step::getElementBytes(type.getElementType());
  return {root, begin, step::getEndByte(type), isWrite};
}

llvm::SmallVector<Access, 4> schedule::getAccesses(Operation *step) {
  llvm::SmallVector<Access, 4> accesses;
  step->walk([&](Operation *op) {
    // Those in a row program are of its operands.
    if (isa<step::RowsOp, step::TogetherOp>(op->getParentOp()))
      return;
    // Predicates are read by what controls others, whose effects are those of
    // its regions.
    bool isControl =
        op->getNumRegions() > 0 && !isa<step::RowsOp, step::TogetherOp>(op);
    llvm::SmallVector<MemoryEffects::EffectInstance> effects;
    if (auto known = dyn_cast<MemoryEffectOpInterface>(op))
      known.getEffects(effects);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!step::isBuffer(operand.get().getType()) || isa<step::ViewOp>(op))
        continue;
      bool isWritten = llvm::any_of(effects, [&](auto &effect) {
        return effect.template getEffectValue<OpOperand *>() == &operand &&
               isa<MemoryEffects::Write>(effect.getEffect());
      });
      accesses.push_back(getAccess(operand.get(), !isControl && isWritten));
    }
  });
  return accesses;
}

void Conflicts::add(unsigned number, llvm::ArrayRef<Access> accesses) {
  for (const Access &access : accesses)
    byRoot[access.root].push_back({number, access});
}

Conflicts::Neighbours Conflicts::find(unsigned number,
                                      llvm::ArrayRef<Access> accesses) const {
  Neighbours found;
  for (const Access &access : accesses) {
    auto it = byRoot.find(access.root);
    if (it == byRoot.end())
      continue;
    for (const Entry &entry : it->second)
      if (entry.number != number && access.conflicts(entry.access))
        (entry.number < number ? found.before : found.behind)
            .push_back(entry.number);
  }
  for (llvm::SmallVector<unsigned> *list : {&found.before, &found.behind}) {
    llvm::sort(*list);
    list->erase(llvm::unique(*list), list->end());
  }
  return found;
}
