// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReshardBundles.h"
#include "ReshardReduction.h"
#include "ReshardSearch.h"

#include "llvm/ADT/STLExtras.h"

using namespace tp;
using namespace tp::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

double ReshardPlan::getWire() const {
  double wire = 0;
  for (const ReshardStep &step : steps)
    wire += step.getWire();
  return wire;
}

bool ReshardPlan::fullyGathers() const {
  auto isWhole = [](const TensorSharding &sharding) {
    return getSize(sharding.getDimAxes()) == 1;
  };
  return !isWhole(from) && !isWhole(getResult()) &&
         llvm::any_of(steps, [&](const ReshardStep &step) {
           return isWhole(step.result);
         });
}

void ReshardPlan::print(llvm::raw_ostream &os, const Mesh &mesh) const {
  llvm::interleave(
      steps, os, [&](const ReshardStep &step) { step.print(os, mesh); }, "; ");
}

std::string ReshardPlan::str(const Mesh &mesh) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os, mesh);
  return text;
}

/// The parts of `axes` that are not in `other`. Axes that the two cut in
/// incompatible ways count as not shared.
static AxisList getDifference(ArrayRef<AxisRef> axes, ArrayRef<AxisRef> other) {
  AxisList shared;
  for (const AxisRef &a : axes)
    for (const AxisRef &b : other)
      if (std::optional<AxisRef> overlap = a.getOverlap(b))
        shared.push_back(*overlap);
  return *subtract(axes, shared);
}

/// The path that always exists: reduce, gather, slice. In each dimension, the
/// gather leaves the axes with which both the source's list and the target's
/// list begin. It leaves no axes if the blocks along them would not consist of
/// whole blocks of the source and of the target.
static std::vector<Leg> reduceGatherSlice(const Problem &problem) {
  const TensorSharding &to = problem.to;
  std::vector<Leg> legs;
  TensorSharding now = problem.from;
  auto goTo = [&](CollectiveKind kind, const TensorSharding &next) {
    if (next != now)
      legs.push_back({kind, next});
    now = next;
  };

  TensorSharding next = now;
  bool keepsKind = !to.unreduced.empty() && now.kind == to.kind;
  AxisList reduced =
      keepsKind ? getDifference(now.unreduced, to.unreduced) : now.unreduced;
  next.unreduced = *subtract(now.unreduced, reduced);
  goTo(CollectiveKind::AllReduce, next.getLayout());

  next = now;
  for (unsigned d = 0; d < now.getRank(); ++d) {
    const AxisList &had = now.dims[d].axes, &wanted = to.dims[d].axes;
    AxisList common = getCommonPrefix(had, wanted);
    auto cutsInto = [&](ArrayRef<AxisRef> axes) {
      int64_t more = getSize(axes);
      return BlockLayout{problem.shape[d], more}.mergesEvenly(more /
                                                              getSize(common));
    };
    if (!cutsInto(had) || !cutsInto(wanted))
      common.clear();
    next.dims[d].axes = common;
  }
  goTo(CollectiveKind::AllGather, next.getLayout());

  next = now;
  next.dims = to.dims;
  goTo(CollectiveKind::AllSlice, next.getLayout());
  goTo(CollectiveKind::ToPartial, to);
  return legs;
}

/// Returns true if the search looks at all states.
static bool isSmall(const Problem &problem, ArrayRef<DigitSystem> systems) {
  return areFew(systems, getRoomyDims(problem.shape, systems.front()).size());
}

/// Searches with whole digits. Returns whether all states were looked at.
static bool searchWhole(const Problem &problem, const LinkModel &links,
                        ArrayRef<DigitSystem> systems, Path &path) {
  if (isSmall(problem, systems))
    return search(problem, links, systems, {}, path);
  // A state has more steps if there are more digits, so the limit on steps is
  // higher then. Problems with at most kFineDigits digits in many dimensions
  // are common, and the lower limit saves time.
  unsigned visits = systems.front().size() > kFineDigits ? 10000 : 3000;
  return search(problem, links, systems,
                {visits, /*greedy=*/true, /*guided=*/true}, path);
}

/// If there are many digits, first searches with bundles of digits that move
/// together.
static void searchBundles(const Problem &problem, ArrayRef<DigitSystem> systems,
                          Path &path) {
  if (isSmall(problem, systems) || systems.size() > 1)
    return;
  Bundles bundles(problem, systems.front());
  if (bundles.size() == systems.front().size())
    return;
  Problem bundled = bundles.getProblem();
  SmallVector<DigitSystem, 2> whole = getCoarseSystems(bundled);
  LinkModel links(bundled.mesh, bundled.elementBytes, getScale(whole.front()));
  Path found;
  found.cost = path.cost;
  searchWhole(bundled, links, whole, found);
  if (!(found.cost < path.cost))
    return;
  for (Leg &leg : found.legs)
    leg.result = bundles.expand(leg.result);
  path = std::move(found);
}

/// Searches for paths that also move parts of digits. Returns false if there
/// are too many states for that.
static bool searchParts(const Problem &problem, const LinkModel &links,
                        ArrayRef<DigitSystem> coarse, Path &path) {
  SmallVector<DigitSystem, 2> fine = getFineSystems(
      coarse, getRoomyDims(problem.shape, coarse.front()).size());
  if (fine.empty())
    return false;
  return ArrayRef<DigitSystem>(fine) == coarse ||
         search(problem, links, fine, {}, path);
}

namespace {

/// Computes the plan for one problem.
class Planning {
public:
  explicit Planning(const Problem &problem)
      : problem(problem), coarse(getCoarseSystems(problem)),
        links(problem.mesh, problem.elementBytes, getScale(coarse.front())) {
    plan.from = problem.from;
  }

  ReshardPlan run();

private:
  void describe(ArrayRef<Leg> legs);
  bool searchAll();
  bool isSettled() const {
    return path.cost.ticks == bound.ticks &&
           path.cost.launches == bound.launches;
  }

  const Problem &problem;
  SmallVector<DigitSystem, 2> coarse;
  LinkModel links;
  Cost bound;
  Path path;
  ReshardPlan plan;
};

} // namespace

/// Turns the path in `legs` into a plan, and sums up the costs of its steps.
void Planning::describe(ArrayRef<Leg> legs) {
  plan.steps.clear();
  path.cost = {};
  for (const Leg &leg : legs) {
    ReshardStep step = llvm::cantFail(makeStep(
        problem.mesh, leg.kind, plan.getResult(), leg.result, problem.shape));
    uint64_t ticks = links.getTicks(step.kind, step.axes, step.payload);
    step.cost = links.toCost(ticks);
    unsigned digits = step.axes.size();
    path.cost = path.cost + Cost{ticks, !isFree(step.kind), digits};
    plan.steps.push_back(std::move(step));
  }
}

/// Searches with whole digits and then with parts of them, unless the path is
/// already the best possible. Returns whether all states were looked at.
bool Planning::searchAll() {
  if (!searchWhole(problem, links, coarse, path))
    return false;
  return isSettled() || searchParts(problem, links, coarse, path);
}

ReshardPlan Planning::run() {
  path.legs = reduceGatherSlice(problem);
  describe(path.legs);
  bound = getBound(problem, links, coarse.front());
  if (!isSettled()) {
    searchBundles(problem, coarse, path);
    describe(path.legs);
  }
  if (!isSettled()) {
    plan.complete = searchAll();
    describe(path.legs);
  }
  plan.cost = links.toCost(path.cost.ticks);
  plan.launches = path.cost.launches;
  return std::move(plan);
}

/// Returns true if estimates of the problem come from a table.
static bool hasTable(const Problem &problem) {
  SmallVector<DigitSystem, 2> coarse = getCoarseSystems(problem);
  bool isOfOneKind = problem.from.unreduced.empty() ||
                     problem.to.unreduced.empty() ||
                     problem.from.kind == problem.to.kind;
  return coarse.size() == 1 && isOfOneKind && isSmall(problem, coarse);
}

/// Converts the plan for the smaller problem of `reduction` to a plan for
/// `problem`, step by step.
static ReshardPlan expand(const Problem &problem, const Reduction &reduction,
                          const ReshardPlan &reduced) {
  ReshardPlan plan;
  plan.from = problem.from;
  plan.launches = reduced.launches;
  plan.complete = reduced.complete;
  LinkModel links(problem.mesh, problem.elementBytes,
                  getScale(getCoarseSystems(problem).front()));
  uint64_t ticks = 0;
  for (const ReshardStep &step : reduced.steps) {
    plan.steps.push_back(
        llvm::cantFail(makeStep(problem.mesh, step.kind, plan.getResult(),
                                reduction.expand(step.result), problem.shape)));
    ReshardStep &own = plan.steps.back();
    uint64_t more = links.getTicks(own.kind, own.axes, own.payload);
    own.cost = links.toCost(more);
    ticks = llvm::SaturatingAdd(ticks, more);
  }
  plan.cost = links.toCost(ticks);
  return plan;
}

size_t ReshardPlanner::QueryHash::operator()(const Query &query) const {
  return llvm::hash_combine(
      hash_value(query.from), hash_value(query.to),
      llvm::hash_combine_range(query.shape.begin(), query.shape.end()),
      query.elementBytes);
}

const ReshardPlan &ReshardPlanner::plan(const TensorSharding &from,
                                        const TensorSharding &to,
                                        ArrayRef<int64_t> shape,
                                        int64_t elementBytes) {
  Query query = {from.getLayout(), to.getLayout(),
                 llvm::SmallVector<int64_t, 4>(shape), elementBytes};
  auto [it, isNew] = plans.try_emplace(query);
  ReshardPlan &known = it->second;
  if (!isNew)
    return known;
  Problem problem = {mesh, query.from, query.to, shape, elementBytes, evenly};
  if (hasTable(problem))
    return known = Planning(problem).run();
  // If a search does not look at all states, its plan depends on their order.
  // To give equivalent reshards equal plans, the smaller problem is planned,
  // and its plan is expanded.
  Reduction reduction(problem);
  Problem reduced = reduction.getProblem();
  auto [simpler, isFirst] = plans.try_emplace(
      Query{reduced.from, reduced.to,
            llvm::SmallVector<int64_t, 4>(reduced.shape), elementBytes});
  if (isFirst || &simpler->second == &known)
    simpler->second = Planning(reduced).run();
  if (&simpler->second != &known)
    known = expand(problem, reduction, simpler->second);
  return known;
}
