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

/// Finds out which values' gathers and sums can share launches.
class SharedStarts::Finder {
public:
  Finder(const PlanGraph &graph, const ProgramView &view,
         const LayoutPool &pool, int64_t bucketBytes, SharedStarts &result)
      : graph(graph), view(view), pool(pool), bucketBytes(bucketBytes),
        result(result), kinds(graph.values.size()) {}

  void run() {
    unsigned count = graph.values.size();
    // Values are in the order of the data flow.
    for (unsigned number = 0; number < count; ++number)
      kinds[number].isEarly = isEarly(number);
    for (unsigned number = count; number-- > 0;)
      kinds[number].isLate = isLate(number);
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
    kind.isOfSum =
        kind.isSum || (kind.isLate && maker &&
                       llvm::any_of(maker->getOperands(), [&](Value operand) {
                         return isOfSum(operand);
                       }));
  }

  void countValue(unsigned number) {
    const PlanValue &value = graph.values[number];
    SharedStarts::Kind &found = result.kinds.emplace_back();
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
    if (value.times > 1)
      return;
    found.isGathered = kind.isEarly && !kind.isLate;
    found.isSummed = kind.isSum;
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
  SharedStarts &result;
  std::vector<Kind> kinds; ///< Indexed by value.
  llvm::DenseMap<Company, unsigned> companies;
};

SharedStarts::SharedStarts(const PlanGraph &graph, const ProgramView &view,
                           const LayoutPool &pool, int64_t bucketBytes) {
  Finder(graph, view, pool, bucketBytes, *this).run();
}

StartShares SharedStarts::getShares(const Kind &kind) const {
  auto getShare = [&](unsigned values) {
    return std::min(1.0, std::max(1.0 / std::max(values, 1u), kind.ofBucket));
  };
  StartShares shares;
  if (kind.isGathered)
    shares.gathers = getShare(counts[kind.company].gathers);
  if (kind.isSummed)
    shares.sums = getShare(counts[kind.company].sums);
  return shares;
}

void SharedStarts::setShares(PlanGraph &graph) const {
  for (auto [value, kind] : llvm::zip_equal(graph.values, kinds))
    value.shares = getShares(kind);
}

void SharedStarts::recount(llvm::ArrayRef<Launches> launches) {
  for (Counts &count : counts)
    count = {};
  for (auto [own, kind] : llvm::zip_equal(launches, kinds)) {
    if (kind.isGathered && own.gathers > 0)
      ++counts[kind.company].gathers;
    if (kind.isSummed && own.sums > 0)
      ++counts[kind.company].sums;
  }
}

double SharedStarts::getSaved(llvm::ArrayRef<Launches> launches) const {
  double saved = 0;
  for (auto [own, kind] : llvm::zip_equal(launches, kinds)) {
    StartShares shares = getShares(kind);
    saved += (1 - shares.sums) * own.sums + (1 - shares.gathers) * own.gathers;
  }
  return saved;
}
