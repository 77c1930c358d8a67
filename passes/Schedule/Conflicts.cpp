// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conflicts.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <tuple>

using namespace mlir;
using namespace tp;
using namespace tp::schedule;

static std::pair<int64_t, int64_t> getBytesOf(Value root) {
  return {0, step::getEndByte(step::bufferTypeOf(root))};
}

/// The accessed bytes of a buffer. `depth` is the number of loops between the
/// step and the op that uses the buffer. If the offset of a view advances with
/// any loop other than the innermost one around the step, the view may be
/// anywhere in its root.
static Access getAccess(Value buffer, bool isWrite, int64_t depth) {
  Value root = step::getRoot(buffer);
  MemRefType type = step::bufferTypeOf(buffer);
  auto view = buffer.getDefiningOp<step::ViewOp>();
  bool moves = view && view.getBy();
  int64_t bytes = step::getElementBytes(type.getElementType());
  Access access = {root, step::Strides(type).offset * bytes,
                   step::getEndByte(type), isWrite};
  if (!moves)
    return access;
  if (!view.getAxes()) {
    if (int64_t(view.getLoop()) == depth)
      access.moves = int64_t(*view.getBy()) * bytes;
    else
      std::tie(access.begin, access.end) = getBytesOf(root);
    return access;
  }
  access.placed = view;
  int64_t moved = int64_t(*view.getBy()) * bytes * (getNumPositions(view) - 1);
  access.begin += std::min<int64_t>(moved, 0);
  access.end += std::max<int64_t>(moved, 0);
  return access;
}

/// The bytes of a view on the device at position `place`.
static std::pair<int64_t, int64_t> getBytesAt(step::ViewOp view,
                                              int64_t place) {
  MemRefType type = view.getType();
  int64_t bytes = step::getElementBytes(type.getElementType());
  int64_t moved = int64_t(*view.getBy()) * bytes *
                  ((place + int64_t(view.getPlus())) % getNumPositions(view));
  return {step::Strides(type).offset * bytes + moved,
          step::getEndByte(type) + moved};
}

bool Access::conflicts(const Access &other) const {
  if (root != other.root || (!isWrite && !other.isWrite))
    return false;
  if (moves != other.moves)
    return true; // in some iteration
  if (begin >= other.end || other.begin >= end)
    return false;
  step::ViewOp own = placed, others = other.placed;
  if (!own || !others || own.getAxes() != others.getAxes())
    return true;
  return llvm::any_of(llvm::seq(getNumPositions(own)), [&](int64_t place) {
    auto [first, last] = getBytesAt(own, place);
    auto [otherFirst, otherLast] = getBytesAt(others, place);
    return first < otherLast && otherFirst < last;
  });
}

llvm::SmallVector<Access, 4> schedule::getAccesses(Operation *step) {
  llvm::SmallVector<Access, 4> accesses;
  step->walk([&](Operation *op) {
    // The body of a kernel accesses the kernel's operands.
    if (isa<step::KernelOpInterface>(op->getParentOp()))
      return;
    // Control ops read their predicates; their other effects are those of their
    // regions.
    bool isControl = step::isControlOp(op);
    int64_t depth = 0;
    for (Operation *at = op; at != step; at = at->getParentOp())
      depth += isa<step::LoopOp>(at->getParentOp());
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
      accesses.push_back(
          getAccess(operand.get(), !isControl && isWritten, depth));
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
