// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReshardBundles.h"
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

/// The parts of `axes` that are not in `other`. An axis that the two cut in
/// ways that do not fit counts as not shared.
static AxisList getDifference(ArrayRef<AxisRef> axes, ArrayRef<AxisRef> other) {
  AxisList shared;
  for (const AxisRef &a : axes)
    for (const AxisRef &b : other)
      if (std::optional<AxisRef> overlap = a.getOverlap(b))
        shared.push_back(*overlap);
  return *subtract(axes, shared);
}

/// The way that always exists: reduce, gather what is not common, slice. Blocks
/// that have no boundaries in common are gathered all the way.
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

/// Of how many digits all states may be looked at.
static bool isSmall(ArrayRef<DigitSystem> systems) {
  return systems.front().size() <= fewDigits;
}

// Steps that a search looks at: of a plan, of an estimate, of an estimate along
// many axes, and of a plan that moves parts of many.
static constexpr unsigned kPlanVisits = 100000, kEstimateVisits = 200,
                          kWideVisits = 1000, kFineVisits = 10000;

/// Searches with whole digits. Returns whether all states were looked at.
static bool searchWhole(const Problem &problem, const LinkModel &links,
                        ArrayRef<DigitSystem> systems, PlanEffort effort,
                        Path &path) {
  bool isThorough = effort == PlanEffort::Full;
  SearchOptions options = {isThorough         ? kPlanVisits
                           : isSmall(systems) ? kEstimateVisits
                                              : kWideVisits};
  auto searchWith = [&](bool greedy, bool guided) {
    options.greedy = greedy;
    options.guided = guided;
    return search(problem, links, systems, options, path);
  };
  if (!isSmall(systems)) {
    if (isThorough)
      searchWith(/*greedy=*/false, /*guided=*/true);
    searchWith(/*greedy=*/true, /*guided=*/true);
    // Of six digits there may be few enough states, but it takes long to know.
    if (!isThorough || systems.front().size() > 6)
      return false;
  }
  return searchWith(/*greedy=*/false, /*guided=*/false) ||
         searchWith(/*greedy=*/true, /*guided=*/false);
}

/// Where there are many digits, first moves together what goes together.
static void searchBundles(const Problem &problem, ArrayRef<DigitSystem> systems,
                          PlanEffort effort, Path &path) {
  if (isSmall(systems) || systems.size() > 1)
    return;
  Bundles bundles(problem, systems.front());
  if (bundles.size() == systems.front().size())
    return;
  Problem bundled = bundles.getProblem();
  SmallVector<DigitSystem, 2> whole = getCoarseSystems(bundled);
  LinkModel links(bundled.mesh, bundled.elementBytes, getScale(whole.front()));
  Path found;
  found.cost = path.cost;
  searchWhole(bundled, links, whole, effort, found);
  if (!(found.cost < path.cost))
    return;
  for (Leg &leg : found.legs)
    leg.result = bundles.expand(leg.result);
  path = std::move(found);
}

/// Searches with whole digits, then, unless the best possible is found, with
/// parts of them. Returns whether all states were looked at.
static bool searchAll(const Problem &problem, const LinkModel &links,
                      ArrayRef<DigitSystem> coarse, PlanEffort effort,
                      llvm::function_ref<bool()> isSettled, Path &path) {
  if (!searchWhole(problem, links, coarse, effort, path))
    return false;
  if (isSettled())
    return true;
  SmallVector<DigitSystem, 2> fine = getFineSystems(coarse);
  if (ArrayRef<DigitSystem>(fine) == coarse)
    return true;
  bool isThorough = effort == PlanEffort::Full;
  if (isSmall(fine))
    return search(problem, links, fine,
                  {isThorough ? kPlanVisits : kEstimateVisits}, path);
  if (!isThorough)
    return false;
  search(problem, links, fine, {kFineVisits, /*greedy=*/false, /*guided=*/true},
         path);
  return search(problem, links, fine, {kFineVisits}, path);
}

static ReshardPlan makePlan(const Problem &problem, PlanEffort effort) {
  ReshardPlan plan;
  plan.from = problem.from;
  SmallVector<DigitSystem, 2> coarse = getCoarseSystems(problem);
  LinkModel links(problem.mesh, problem.elementBytes, getScale(coarse.front()));

  // The plan for a path. `cost` is the path's, summed over merged steps.
  auto describe = [&](ArrayRef<Leg> legs, Cost &cost) {
    plan.steps.clear();
    cost = {};
    for (const Leg &leg : legs) {
      ReshardStep step = llvm::cantFail(makeStep(
          problem.mesh, leg.kind, plan.getResult(), leg.result, problem.shape));
      uint64_t ticks = links.getTicks(step.kind, step.axes, step.payload);
      step.cost = links.toCost(ticks);
      unsigned digits = step.axes.size();
      cost = cost + Cost{ticks, !isFree(step.kind), digits};
      plan.steps.push_back(std::move(step));
    }
  };

  Path path;
  path.legs = reduceGatherSlice(problem);
  describe(path.legs, path.cost);
  Cost bound = getBound(problem, links, coarse.front());
  auto isSettled = [&] {
    return path.cost.ticks == bound.ticks &&
           path.cost.launches == bound.launches;
  };
  if (!isSettled()) {
    searchBundles(problem, coarse, effort, path);
    describe(path.legs, path.cost);
  }
  if (!isSettled()) {
    plan.complete = searchAll(problem, links, coarse, effort, isSettled, path);
    describe(path.legs, path.cost);
  }
  plan.cost = links.toCost(path.cost.ticks);
  plan.launches = path.cost.launches;
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
  if (isNew)
    it->second = makePlan(
        {mesh, query.from, query.to, shape, elementBytes, evenly}, effort);
  return it->second;
}
