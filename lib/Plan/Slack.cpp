// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Slack.h"

#include "dialects/TP/CheapSources.h"
#include "dialects/TP/TensorTypes.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <algorithm>

using namespace mlir;
using namespace tp;
using namespace tp::plan;
using namespace tp::spmd;

/// Returns true if `op` only moves elements or computes element by element, so
/// that tp-combine-collectives can postpone it together with the collective
/// that it depends on. This includes the broadcast of a scalar, such as the
/// norm that scales all gradients.
static bool isSimple(Operation *op) {
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return cast<RankedTensorType>(broadcast.getInput().getType()).getRank() ==
           0;
  return op->hasTrait<Elementwise>() ||
         isa<ReshapeOp, TransposeOp, SliceOp, ConstraintOp, BarrierOp>(op);
}

/// Returns true if each iteration of a loop only adds to the carried value, or
/// writes a part of it, as for gradients of all layers.
static bool isOnlyCollected(BlockArgument carried) {
  return llvm::all_of(carried.getUses(), [](OpOperand &use) {
    return isa<AddOp>(use.getOwner()) ||
           (isa<DynamicUpdateSliceOp>(use.getOwner()) &&
            use.getOperandNumber() == 0);
  });
}

/// Finds out which values' gathers and sums have slack.
class Slack::Finder {
public:
  Finder(const PlanGraph &graph, const ProgramView &view,
         const LayoutPool &pool, int64_t bucketBytes, Slack &result)
      : graph(graph), view(view), pool(pool), bucketBytes(bucketBytes),
        result(result), kinds(graph.values.size()) {}

  void run() {
    unsigned count = graph.values.size();
    // Values are in the order of the data flow.
    for (unsigned number = 0; number < count; ++number)
      kinds[number].isEarly = isEarly(number);
    // The results of a loop precede the values of its body.
    for (bool hasChanged = true; hasChanged;) {
      hasChanged = false;
      for (unsigned number = count; number-- > 0;) {
        if (kinds[number].isLate || !isLate(number))
          continue;
        kinds[number].isLate = hasChanged = true;
      }
    }
    for (unsigned number = 0; number < count; ++number) {
      followSum(number);
      countValue(number);
    }
  }

private:
  struct Kind {
    bool isEarly = false;   ///< Computed from arguments by simple ops.
    bool isCut = false;     ///< Computed from an argument that may be sharded.
    bool isLate = false;    ///< Leads only to results, by simple ops.
    bool startsSum = false; ///< A late value where a partial sum begins.
    bool isSum = false;     ///< A late value that may be a partial sum.
    bool isOfSum = false; ///< A late value that is computed from a partial sum.
    unsigned sumSource = 0; ///< If it is a sum: see Slack::getSumSource.
  };
  /// Values can share a launch only if they have the same block and element
  /// type.
  using Company = std::pair<Block *, Type>;

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
                 : Value(graph.values[number].value).getParentBlock();
  }
  Company getCompany(unsigned number) const {
    return {getBlock(number), graph.values[number].type.getElementType()};
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
    auto isSourceEarly = [&](unsigned source) { return kinds[source].isEarly; };
    if (!maker) // what a loop carries waits for the iteration before
      return isa<FunctionOpInterface>(getBlock(number)->getParentOp());
    // In a loop: the weights of one layer.
    if (auto slice = dyn_cast<DynamicSliceOp>(maker)) {
      std::optional<unsigned> input = lookup(slice.getInput());
      return input && isSourceEarly(*input);
    }
    return isSimple(maker) && haveAll(maker, isSourceEarly);
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
        return isa<FunctionOpInterface>(user->getParentOp()) ||
               isCollected(*use);
      if (!isSimple(user) && !isa<ReduceOp>(user) &&
          !(isa<DynamicUpdateSliceOp>(user) && use->getOperandNumber() == 1))
        return false;
      std::optional<unsigned> result = lookup(user->getResult(0));
      return result && kinds[*result].isLate;
    });
  }

  /// Returns true if a loop collects what the terminator of its body passes on,
  /// and only results of the program are computed from it.
  bool isCollected(OpOperand &passed) const {
    auto loop = dyn_cast<ForOp>(passed.getOwner()->getParentOp());
    if (!loop)
      return false;
    unsigned index = passed.getOperandNumber();
    std::optional<unsigned> result = lookup(loop->getResult(index));
    return result && kinds[*result].isLate &&
           isOnlyCollected(loop.getRegionIterArgs()[index]);
  }

  /// Returns true if a value is computed from a postponed sum.
  bool isOfSum(Value value) const {
    std::optional<unsigned> number = lookup(value);
    return number && kinds[*number].isOfSum;
  }
  static bool isMaximum(Operation *op) {
    auto reduce = dyn_cast<ReduceOp>(op);
    return reduce && reduce.getKind() != ReductionKind::Sum;
  }
  /// Returns true if a partial sum may begin at the value: only results of the
  /// program are computed from the value, its op is a product or a sum, and no
  /// operand of this op is computed from a partial sum. Gradients and the loss
  /// are examples.
  bool startsSum(unsigned number) const {
    Operation *maker = getMaker(number);
    return maker && kinds[number].isLate && !isCheap(number) &&
           !isSimple(maker) && !isMaximum(maker) &&
           llvm::none_of(maker->getOperands(),
                         [&](Value operand) { return isOfSum(operand); });
  }
  /// Returns true if the value is linear in partial sums and only results of
  /// the program are computed from it, so that it may be a partial sum itself.
  /// An updated weight is not linear, nor is a gradient that is scaled by its
  /// norm. An addend that is not a partial sum can be made partial for free.
  bool continuesSum(unsigned number) const {
    Operation *maker = getMaker(number);
    if (!maker || !kinds[number].isLate || isMaximum(maker))
      return false;
    unsigned sources = 0, sums = 0, others = 0;
    for (Value operand : maker->getOperands()) {
      std::optional<unsigned> source = lookup(operand);
      if (source && isCheap(*source))
        continue;
      ++sources;
      if (source && kinds[*source].isSum)
        ++sums;
      else if (!source || !kinds[*source].isLate || kinds[*source].isEarly ||
               kinds[*source].isOfSum)
        ++others;
    }
    return others == 0 && sums > 0 &&
           (sources == 1 || isa<AddOp, SubOp>(maker));
  }
  void followSum(unsigned number) {
    Kind &kind = kinds[number];
    kind.startsSum = startsSum(number);
    kind.isSum = kind.startsSum || continuesSum(number);
    Operation *maker = getMaker(number);
    if (kind.startsSum)
      kind.sumSource = number;
    else if (kind.isSum)
      for (Value operand : maker->getOperands())
        if (auto source = lookup(operand); source && kinds[*source].isSum)
          kind.sumSource = std::max(kind.sumSource, kinds[*source].sumSource);
    kind.isOfSum =
        kind.isSum || (kind.isLate && maker &&
                       llvm::any_of(maker->getOperands(), [&](Value operand) {
                         return isOfSum(operand);
                       }));
  }

  void countValue(unsigned number) {
    const PlanValue &value = graph.values[number];
    Slack::Kind &found = result.kinds.emplace_back();
    if (value.isBorder)
      return;
    Kind &kind = kinds[number];
    auto [company, isNew] =
        companies.try_emplace(getCompany(number), result.counts.size());
    if (isNew)
      result.counts.emplace_back();
    found.company = company->second;
    Counts &counts = result.counts[company->second];
    bool isFirst = isFirstOfType(number);
    if (kind.startsSum || (kind.isSum && isFirst))
      ++counts.sums;
    kind.isCut = isCut(number);
    if (kind.isEarly && kind.isCut && isFirst)
      ++counts.gathers;
    found.isInLoop = value.times > 1;
    found.isGathered = kind.isEarly && !kind.isLate;
    found.isSummed = kind.isSum;
    found.sumSource = kind.sumSource;
    found.ofBucket = getVolume(value.type.getShape()) *
                     getElementBytes(value.type) / bucketBytes;
  }
  /// Returns true if the value is an argument, or is converted from a different
  /// element type.
  bool isFirstOfType(unsigned number) const {
    Operation *maker = getMaker(number);
    return !maker || llvm::none_of(maker->getOperandTypes(), [&](Type type) {
      return getElementTypeOrSelf(type) ==
             graph.values[number].type.getElementType();
    });
  }
  /// Returns true if the value is an argument that may be sharded, or is
  /// computed from such an argument. No other value needs to be gathered.
  bool isCut(unsigned number) const {
    const PlanValue &value = graph.values[number];
    if (Operation *maker = getMaker(number))
      return llvm::any_of(maker->getOperands(), [&](Value operand) {
        std::optional<unsigned> source = lookup(operand);
        return source && kinds[*source].isCut;
      });
    const LayoutList &layouts = graph.getLayouts(value.producer);
    return value.type.getRank() != 0 &&
           (layouts.size() > 1 || !pool.get(layouts.front()).isReplicated());
  }

  const PlanGraph &graph;
  const ProgramView &view;
  const LayoutPool &pool;
  double bucketBytes;
  Slack &result;
  std::vector<Kind> kinds; ///< Indexed by value.
  llvm::DenseMap<Company, unsigned> companies;
};

Slack::Slack(const PlanGraph &graph, const ProgramView &view,
             const LayoutPool &pool, int64_t bucketBytes) {
  Finder(graph, view, pool, bucketBytes, *this).run();
}

PriceShares Slack::getShares(const Kind &kind, unsigned values) const {
  PriceShares shares;
  if (!kind.isInLoop)
    shares.start =
        std::min(1.0, std::max(1.0 / std::max(values, 1u), kind.ofBucket));
  shares.cost = exposed;
  return shares;
}

ReshardShares Slack::getShares(const Kind &kind) const {
  ReshardShares shares;
  if (kind.isGathered)
    shares.gathers = getShares(kind, counts[kind.company].gathers);
  if (kind.isSummed)
    shares.sums = getShares(kind, counts[kind.company].sums);
  return shares;
}

void Slack::setShares(PlanGraph &graph) const {
  for (auto [value, kind] : llvm::zip_equal(graph.values, kinds))
    value.shares = getShares(kind);
}

void Slack::recount(llvm::ArrayRef<ReshardsPrice> prices) {
  for (Counts &count : counts)
    count = {};
  for (auto [price, kind] : llvm::zip_equal(prices, kinds)) {
    if (kind.isGathered && price.gathers.launches > 0)
      ++counts[kind.company].gathers;
    if (kind.isSummed && price.sums.launches > 0)
      ++counts[kind.company].sums;
  }
}

double Slack::getSavedStarts(llvm::ArrayRef<ReshardsPrice> prices) const {
  double saved = 0;
  for (auto [price, kind] : llvm::zip_equal(prices, kinds)) {
    ReshardShares shares = getShares(kind);
    saved += (1 - shares.sums.start) * price.sums.launches +
             (1 - shares.gathers.start) * price.gathers.launches;
  }
  return saved;
}
