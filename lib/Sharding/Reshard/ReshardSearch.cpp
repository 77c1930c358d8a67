// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReshardExpansion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <queue>

using namespace tp;
using namespace tp::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

/// The dimensions that a search uses: those that are sharded in the source or
/// the target, and some unsharded ones in which axes can be placed for a while,
/// preferably without padding.
static SmallVector<unsigned, 4> getDims(const Problem &problem,
                                        const LinkModel &links,
                                        ArrayRef<DigitSystem> systems) {
  SmallVector<unsigned, 4> dims, spare;
  for (unsigned dim = 0; dim < problem.shape.size(); ++dim) {
    bool isSpare = problem.from.dims[dim].axes.empty() &&
                   problem.to.dims[dim].axes.empty();
    (isSpare ? spare : dims).push_back(dim);
  }
  llvm::sort(spare, [&](unsigned a, unsigned b) {
    auto rank = [&](unsigned dim) {
      int64_t size = problem.shape[dim];
      return std::tuple(size % links.getScale() != 0, -size, dim);
    };
    return rank(a) < rank(b);
  });
  spare.truncate(countUsefulDims(systems, dims.size(), spare.size()));
  dims.append(spare);
  llvm::sort(dims);
  return dims;
}

Cost tp::reshard::getBound(const Problem &problem, const LinkModel &links,
                           const DigitSystem &system) {
  StateSpace space(problem.shape, getDims(problem, links, system),
                   problem.from.kind, links, system);
  return Bound(problem.mesh, space, problem.to)
      .get(*space.encode(problem.from, 0));
}

//===----------------------------------------------------------------------===//
// A*
//===----------------------------------------------------------------------===//

namespace {

class Search : Expansion {
public:
  Search(const Problem &problem, const StateSpace &space,
         ArrayRef<std::optional<State>> goals, SmallVector<DigitSet, 2> partial,
         SearchOptions options, Path &best)
      : Expansion(space, std::move(partial), problem.to.kind,
                  goals.take_front(options.guided ? goals.size() : 0)),
        problem(problem), bound(problem.mesh, space, problem.to), goals(goals),
        best(best), options(options) {}

  /// Returns whether all states were looked at.
  bool run();

private:
  struct Node {
    Cost cost;
    unsigned parent = 0;
    /// None for the start of the path, and for nodes that are reached by only
    /// changing the digit system.
    std::optional<CollectiveKind> kind;
  };

  void visit(const State &state, Cost cost, std::optional<CollectiveKind> kind);
  void take(const State &next, CollectiveKind kind, DigitSet,
            const Cost &cost) override {
    if (!problem.evenly || isEven(next))
      visit(next, nodes[current].cost + cost, kind);
  }
  bool isEven(const State &state) const {
    for (unsigned dim = 0; dim < state.dims.size(); ++dim)
      if (space.getBlocks(dim, space.getSize(state, state.dims[dim]))
              .isUneven())
        return false;
    return true;
  }
  bool mayHelp(const Cost &least) const override {
    return nodes[current].cost + least < best.cost;
  }
  bool isSpent() override {
    constexpr unsigned kChoices = 64; // per visit
    return options.maxVisits && (order > *options.maxVisits ||
                                 ++choices / kChoices > *options.maxVisits);
  }
  Path getPath(unsigned node) const;
  Cost guess(const State &state) const;
  void changeSystem(const State &state);

  const Problem &problem;
  Bound bound;
  ArrayRef<std::optional<State>> goals;
  Path &best;
  SearchOptions options;
  std::vector<Node> nodes; ///< Indexed by number of the state.
  StateNumbers known;
  /// Lowest priority value first; equal ones in order of insertion.
  struct Entry {
    Cost priority, estimate, cost;
    unsigned order, node;
    bool operator<(const Entry &o) const {
      return std::tie(o.priority, o.order) < std::tie(priority, order);
    }
  };
  std::priority_queue<Entry> queue;
  SmallVector<StateSpace::Places, 2> goalPlaces;
  unsigned current = 0;
  unsigned order = 0, choices = 0;
};

} // namespace

bool Search::run() {
  for (uint8_t system = 0; system < space.systems.size(); ++system)
    goalPlaces.push_back(goals[system] ? space.getPlaces(*goals[system])
                                       : StateSpace::Places());
  for (uint8_t system = 0; system < space.systems.size(); ++system)
    if (std::optional<State> start = space.encode(problem.from, system)) {
      visit(*start, {}, std::nullopt);
      break;
    }
  while (!queue.empty()) {
    Entry entry = queue.top();
    queue.pop();
    if (!(entry.estimate < best.cost))
      continue;
    current = entry.node;
    if (nodes[current].cost < entry.cost)
      continue; // found again, cheaper
    if (isSpent())
      return false;
    State state = known[current];
    changeSystem(state);
    expand(state);
  }
  return !isSpent() && !isCut();
}

void Search::visit(const State &state, Cost cost,
                   std::optional<CollectiveKind> kind) {
  ++order;
  if (isSpent() || !(cost < best.cost))
    return;
  auto [number, isNew] = known.insert(state);
  if (isNew)
    nodes.push_back({cost, current, kind});
  else if (Node &node = nodes[number]; cost < node.cost)
    node = {cost, current, kind};
  else
    return;
  Cost estimate = cost + bound.get(state);
  if (!(estimate < best.cost))
    return;
  if (goals[state.system] == state)
    best = getPath(number);
  else
    queue.push({options.greedy ? cost + guess(state) : estimate, estimate, cost,
                order, number});
}

/// Estimates the remaining cost: each digit that is not yet in its target
/// position is assumed to cost as much as sending one buffer.
Cost Search::guess(const State &state) const {
  unsigned misplaced = 0;
  const StateSpace::Places &goal = goalPlaces[state.system];
  for (auto [digit, place] : llvm::enumerate(space.getPlaces(state)))
    misplaced += goal.empty() || place != goal[digit];
  const LinkModel &links = space.links;
  uint64_t buffer = llvm::SaturatingMultiply<uint64_t>(
      space.getVolume(space.getLocal(known[0])), links.getScale());
  return {llvm::SaturatingMultiply<uint64_t>(
              links.getBound(space.getDigits(state), buffer), misplaced),
          misplaced, 0};
}

Path Search::getPath(unsigned node) const {
  Path path;
  path.cost = nodes[node].cost;
  for (; node != 0; node = nodes[node].parent) {
    if (!nodes[node].kind)
      continue;
    // Consecutive free steps of one kind are one step.
    if (path.legs.empty() || !isFree(*nodes[node].kind) ||
        path.legs.back().kind != *nodes[node].kind)
      path.legs.push_back({*nodes[node].kind, space.decode(known[node])});
  }
  std::reverse(path.legs.begin(), path.legs.end());
  return path;
}

void Search::changeSystem(const State &state) {
  if (space.systems.size() == 1)
    return;
  TensorSharding layout = space.decode(state);
  for (uint8_t system = 0; system < space.systems.size(); ++system)
    if (system != state.system)
      if (std::optional<State> next = space.encode(layout, system))
        visit(*next, nodes[current].cost, std::nullopt);
}

bool tp::reshard::search(const Problem &problem, const LinkModel &links,
                         ArrayRef<DigitSystem> systems, SearchOptions options,
                         Path &best) {
  for (const DigitSystem &system : systems)
    if (system.size() > maxDigits)
      return false;
  StateSpace space(problem.shape, getDims(problem, links, systems),
                   problem.from.kind, links, systems);
  SmallVector<std::optional<State>, 2> goals;
  SmallVector<DigitSet, 2> partial;
  for (uint8_t system = 0; system < systems.size(); ++system) {
    goals.push_back(space.encode(problem.to, system));
    partial.push_back(goals.back() ? goals.back()->unreduced : 0);
  }
  return Search(problem, space, goals, std::move(partial), options, best).run();
}
