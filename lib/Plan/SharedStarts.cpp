// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SharedStarts.h"

#include "dialects/TP/CheapSources.h"
#include "dialects/TP/TensorTypes.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <algorithm>

using namespace mlir;
using namespace tp;
using namespace tp::plan;
using namespace tp::spmd;

/// Whether `op` only moves elements or computes element by element, so that
/// tp-combine-collectives can postpone it with the collective that it needs. So
/// is the broadcast of a scalar, such as the norm that scales all gradients.
static bool isSimple(Operation *op) {
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return cast<RankedTensorType>(broadcast.getInput().getType()).getRank() ==
           0;
  return op->hasTrait<Elementwise>() ||
         isa<ReshapeOp, TransposeOp, SliceOp, ConstraintOp, BarrierOp>(op);
}

namespace {

class ShareFinder {
public:
  ShareFinder(PlanGraph &graph, const ProgramView &view, const LayoutPool &pool,
              int64_t bucketBytes)
      : graph(graph), view(view), pool(pool), bucketBytes(bucketBytes),
        kinds(graph.values.size()) {}

  void run() {
    unsigned count = graph.values.size();
    // Values are in the order of the data flow.
    for (unsigned number = 0; number < count; ++number)
      kinds[number].isEarly = isEarly(number);
    for (unsigned number = count; number-- > 0;)
      kinds[number].isLate = isLate(number);
    for (unsigned number = 0; number < count; ++number) {
      kinds[number].isSum = isSum(number);
      countValue(number);
    }
    for (unsigned number = 0; number < count; ++number)
      setShares(number);
  }

private:
  struct Kind {
    bool isEarly = false; ///< Made of arguments, without a product or sum.
    bool isLate = false;  ///< Nothing but results is made of it, in this way.
    bool isSum = false;   ///< A late value whose sum is one of gradients.
  };
  struct Counts {
    unsigned early = 0, late = 0;
  };

  std::optional<unsigned> lookup(Value value) const {
    auto it = graph.valueNumbers.find(view.resolve(value));
    return it == graph.valueNumbers.end() ? std::nullopt
                                          : std::optional(it->second);
  }
  Operation *getMaker(unsigned number) const {
    return graph.values[number].value.getDefiningOp();
  }
  bool isCheap(unsigned number) const {
    Operation *maker = getMaker(number);
    return maker && isCheapSource(maker);
  }
  Block *getBlock(unsigned number) const {
    Operation *maker = getMaker(number);
    return maker ? view.getAnchor(maker)->getBlock()
                 : graph.values[number].value.getParentBlock();
  }
  bool haveAll(Operation *op, llvm::function_ref<bool(unsigned)> isSo) const {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      std::optional<unsigned> source = lookup(operand);
      return source && (isCheap(*source) || isSo(*source));
    });
  }

  bool isEarly(unsigned number) const {
    if (graph.values[number].isBorder)
      return false;
    Operation *maker = getMaker(number);
    return !maker || (isSimple(maker) && haveAll(maker, [&](unsigned source) {
                        return kinds[source].isEarly;
                      }));
  }

  bool isLate(unsigned number) const {
    if (graph.values[number].isBorder)
      return false;
    auto uses = view.getUses(graph.values[number].value);
    return !uses.empty() && llvm::all_of(uses, [&](OpOperand *use) {
      Operation *user = use->getOwner();
      if (isa<GroupOp>(user))
        return true;
      if (user->hasTrait<OpTrait::IsTerminator>())
        return isa<FunctionOpInterface>(user->getParentOp());
      if (!isSimple(user) && !isa<ReduceOp>(user))
        return false;
      std::optional<unsigned> result = lookup(user->getResult(0));
      return result && kinds[*result].isLate;
    });
  }

  /// Whether a late value is made by an op that does not wait.
  bool isFirstLate(unsigned number) const {
    Operation *maker = getMaker(number);
    return maker && kinds[number].isLate && !kinds[number].isEarly &&
           !isCheap(number) &&
           llvm::none_of(maker->getOperands(), [&](Value operand) {
             std::optional<unsigned> source = lookup(operand);
             return source && kinds[*source].isLate &&
                    !kinds[*source].isEarly && !isCheap(*source);
           });
  }
  /// Whether a value is a gradient, or linear in gradients, so that it may be a
  /// partial sum. An updated weight is not linear in them, nor is a gradient
  /// that is scaled by its norm.
  bool isSum(unsigned number) const {
    if (!kinds[number].isLate || isFirstLate(number))
      return kinds[number].isLate;
    Operation *maker = getMaker(number);
    if (!maker ||
        !haveAll(maker, [&](unsigned source) { return kinds[source].isSum; }))
      return false;
    auto isSource = [&](Value operand) { return !isCheap(*lookup(operand)); };
    return isa<AddOp, SubOp>(maker) ||
           llvm::count_if(maker->getOperands(), isSource) == 1;
  }

  void countValue(unsigned number) {
    const PlanValue &value = graph.values[number];
    if (value.isBorder)
      return;
    if (isFirstLate(number))
      ++counts[getBlock(number)].late;
    // What is whole is not gathered.
    const LayoutList &layouts = graph.getLayouts(value.producer);
    if (!getMaker(number) && value.type.getRank() != 0 &&
        (layouts.size() > 1 || !pool.get(layouts.front()).isReplicated()))
      ++counts[getBlock(number)].early;
  }

  void setShares(unsigned number) {
    PlanValue &value = graph.values[number];
    if (value.isBorder || value.times > 1)
      return;
    double bytes =
        getVolume(value.type.getShape()) * getElementBytes(value.type);
    auto getShare = [&](unsigned values) {
      return std::min(
          1.0, std::max(1.0 / std::max(values, 1u), bytes / bucketBytes));
    };
    Counts count = counts.lookup(getBlock(number));
    if (kinds[number].isEarly && !kinds[number].isLate)
      value.shares.gathers = getShare(count.early);
    if (kinds[number].isSum)
      value.shares.sums = getShare(count.late);
  }

  PlanGraph &graph;
  const ProgramView &view;
  const LayoutPool &pool;
  double bucketBytes;
  std::vector<Kind> kinds; ///< By value.
  llvm::DenseMap<Block *, Counts> counts;
};

} // namespace

void tp::plan::findSharedStarts(PlanGraph &graph, const ProgramView &view,
                                const LayoutPool &pool, int64_t bucketBytes) {
  ShareFinder(graph, view, pool, bucketBytes).run();
}
