// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Assigns offsets in the arena, by liveness.

#include "tpopt/Passes/Lower/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

namespace tp {
#define GEN_PASS_DEF_ASSIGNBUFFERSPASS
#include "tpopt/Passes/Lower/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

/// A buffer, which is live from the first step that uses it to the last.
struct Interval {
  step::AllocOp alloc;
  int64_t size;
  unsigned first = ~0u, last = 0;
  int64_t offset = 0;

  bool overlaps(const Interval &other) const {
    return first <= other.last && other.first <= last;
  }
};

struct AssignBuffers : tp::impl::AssignBuffersPassBase<AssignBuffers> {
  using AssignBuffersPassBase::AssignBuffersPassBase;
  void runOnOperation() override;
};

} // namespace

namespace {

/// Numbers the steps and records which of them use each buffer.
class Liveness {
public:
  std::vector<Interval> intervals;

  void visit(Block &block) {
    for (Operation &op : block) {
      ++time;
      if (auto alloc = dyn_cast<step::AllocOp>(op)) {
        indices[alloc] = intervals.size();
        intervals.push_back({alloc, step::getEndByte(alloc.getType())});
        continue;
      }
      if (isa<step::ViewOp, step::BundleOp>(op))
        continue;
      touch(op.getOperands());
      // A collective uses its buffers until it is done.
      if (auto done = dyn_cast<step::CollectiveDoneOp>(op))
        touch(done.getToken().getDefiningOp()->getOperands());
      if (step::isControlOp(&op))
        visitRegions(&op);
    }
  }

private:
  /// A value from outside a loop is needed again in the next iteration, so it
  /// is live until the last iteration ends.
  void visitRegions(Operation *op) {
    size_t outside = intervals.size();
    unsigned begin = time;
    for (Region &region : op->getRegions())
      visit(region.front());
    ++time; // a predicate is read again
    touch(op->getOperands());
    if (isa<step::IfOp, step::ChooseOp>(op))
      return;
    for (Interval &interval :
         llvm::MutableArrayRef(intervals).take_front(outside))
      if (interval.first <= interval.last && interval.last >= begin) {
        interval.first = std::min(interval.first, begin);
        interval.last = time;
      }
  }

  void touch(ValueRange operands) {
    for (Value operand : operands) {
      auto it = indices.find(step::getRoot(operand));
      if (it == indices.end())
        continue;
      Interval &interval = intervals[it->second];
      interval.first = std::min(interval.first, time);
      interval.last = std::max(interval.last, time);
    }
  }

  llvm::DenseMap<Value, size_t> indices;
  unsigned time = 0;
};

} // namespace

void AssignBuffers::runOnOperation() {
  Liveness liveness;
  liveness.visit(getOperation().getBody().front());
  std::vector<Interval> &intervals = liveness.intervals;
  std::vector<Interval *> bySize, placed;
  for (Interval &interval : intervals)
    bySize.push_back(&interval);
  llvm::sort(bySize, [](const Interval *a, const Interval *b) {
    return a->size != b->size ? a->size > b->size : a < b;
  });
  Builder builder(&getContext());
  int64_t arena = 0;
  for (Interval *interval : bySize) {
    // Use the tightest gap between the buffers that are live at the same time,
    // or else the space after all of them.
    int64_t end = 0, best = -1, bestGap = std::numeric_limits<int64_t>::max();
    for (const Interval *other : placed) { // by offset
      if (!interval->overlaps(*other))
        continue;
      int64_t gap = other->offset - end;
      if (gap >= interval->size && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, int64_t(llvm::alignTo(other->offset + other->size,
                                                step::kArenaAlignment)));
    }
    interval->offset = best >= 0 ? best : end;
    arena = std::max(arena, interval->offset + interval->size);
    interval->alloc.setOffset(interval->offset);
    placed.insert(llvm::upper_bound(placed, interval,
                                    [](const Interval *a, const Interval *b) {
                                      return a->offset < b->offset;
                                    }),
                  interval);
  }
  getOperation().setArena(llvm::alignTo(arena, step::kArenaAlignment));
}
