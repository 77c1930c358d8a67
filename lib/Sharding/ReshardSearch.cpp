// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReshardSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <queue>

using namespace tp;
using namespace tp::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// Digits of a system by index: a list on a dimension, or a set.
using Digits = SmallVector<uint8_t, 6>;
using DigitSet = uint32_t;
constexpr unsigned maxDigits = 32;

struct State {
  uint8_t system = 0;
  /// How unreduced digits combine. The source's kind if there are none.
  ReduceKind kind = ReduceKind::Sum;
  DigitSet unreduced = 0;
  /// Of the dimensions that take part.
  SmallVector<Digits, 4> dims;

  bool operator==(const State &o) const {
    return system == o.system && kind == o.kind && unreduced == o.unreduced &&
           dims == o.dims;
  }
};

struct StateHash {
  size_t operator()(const State &state) const {
    llvm::hash_code code = llvm::hash_combine(
        state.system, static_cast<uint8_t>(state.kind), state.unreduced);
    for (const Digits &digits : state.dims)
      code = llvm::hash_combine(
          code, llvm::hash_combine_range(digits.begin(), digits.end()));
    return code;
  }
};

/// What the search knows about a problem before it starts: which dimensions and
/// digits take part, how states and layouts correspond, and the bound.
class StateSpace {
public:
  StateSpace(const Problem &problem, const LinkModel &links,
             ArrayRef<DigitSystem> systems);

  std::optional<State> encode(const TensorSharding &layout,
                              uint8_t system) const;
  TensorSharding decode(const State &state) const;
  Cost getBound(const State &state) const;

  ArrayRef<AxisRef> getDigits(const State &state) const {
    return systems[state.system];
  }
  DigitSet getAllDigits(const State &state) const {
    return llvm::maskTrailingOnes<DigitSet>(systems[state.system].size());
  }
  int64_t getSize(const State &state, ArrayRef<uint8_t> digits) const {
    int64_t size = 1;
    for (uint8_t digit : digits)
      size *= systems[state.system][digit].size;
    return size;
  }
  int64_t getSize(const State &state, DigitSet digits) const {
    int64_t size = 1;
    for (; digits; digits &= digits - 1)
      size *= systems[state.system][llvm::countr_zero(digits)].size;
    return size;
  }
  DigitSet getIdle(const State &state) const;
  /// Where each digit counts: in a dimension with a weight, as unreduced (-2),
  /// or nowhere (-1).
  using Places = SmallVector<std::pair<int, int64_t>, 8>;
  Places getPlaces(const State &state) const;
  BlockLayout getBlocks(unsigned dim, int64_t k) const {
    return {problem.shape[dims[dim]], k};
  }
  /// Elements of a buffer with `blocks[i]` in the i-th dimension that takes
  /// part.
  uint64_t getVolume(ArrayRef<int64_t> blocks) const {
    uint64_t volume = restVolume;
    for (int64_t block : blocks)
      volume = llvm::SaturatingMultiply<uint64_t>(volume, block);
    return volume;
  }

  const Problem &problem;
  const LinkModel &links;
  ArrayRef<DigitSystem> systems;

private:
  /// Positions in the tensor of the dimensions that take part, and the product
  /// of the sizes of all others.
  SmallVector<unsigned, 4> dims;
  uint64_t restVolume = 1;
  /// Elements in the tensor.
  uint64_t volume;
  /// Copies of an element in the end.
  int64_t targetCopies;

  /// For some devices: their digits in every system, the part of each dimension
  /// that they need, and the elements in that.
  struct Sample {
    SmallVector<SmallVector<int64_t, 6>, 2> digits;
    SmallVector<std::pair<int64_t, int64_t>, 4> needed;
    uint64_t volume;
  };
  std::vector<Sample> samples;
  uint64_t mostNeeded = 0;
};

} // namespace

StateSpace::StateSpace(const Problem &problem, const LinkModel &links,
                       ArrayRef<DigitSystem> systems)
    : problem(problem), links(links), systems(systems) {
  const Mesh &mesh = problem.mesh;

  // All dimensions that are cut, and as places to put axes meanwhile those that
  // lose least by padding.
  SmallVector<unsigned, 4> spare;
  SmallVector<bool> takesPart(problem.shape.size(), true);
  for (unsigned dim = 0; dim < problem.shape.size(); ++dim)
    if (problem.from.dims[dim].axes.empty() &&
        problem.to.dims[dim].axes.empty())
      spare.push_back(dim);
  llvm::sort(spare, [&](unsigned a, unsigned b) {
    auto rank = [&](unsigned dim) {
      int64_t size = problem.shape[dim];
      return std::tuple(size % links.getScale() != 0, -size, dim);
    };
    return rank(a) < rank(b);
  });
  for (unsigned dim : llvm::ArrayRef(spare).drop_front(
           std::min<size_t>(spare.size(), maxSpareDims)))
    takesPart[dim] = false;
  for (unsigned dim = 0; dim < problem.shape.size(); ++dim) {
    if (takesPart[dim])
      dims.push_back(dim);
    else
      restVolume =
          llvm::SaturatingMultiply<uint64_t>(restVolume, problem.shape[dim]);
  }

  SmallVector<int64_t> sizes;
  for (unsigned dim : dims)
    sizes.push_back(problem.shape[dim]);
  volume = getVolume(sizes);
  targetCopies = links.getScale() / tp::getSize(problem.to.getDimAxes());

  constexpr int64_t maxSamples = 64;
  int64_t numDevices = mesh.getNumDevices();
  for (int64_t i = 0, n = std::min(numDevices, maxSamples); i < n; ++i) {
    // Spread over all axes where there are too many to look at each.
    int64_t device = numDevices <= maxSamples
                         ? i
                         : static_cast<int64_t>(
                               static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u %
                               static_cast<uint64_t>(numDevices));
    Sample sample;
    for (const DigitSystem &system : systems) {
      sample.digits.emplace_back();
      for (const AxisRef &digit : system)
        sample.digits.back().push_back(getPosition(mesh, digit, device));
    }
    SmallVector<int64_t> lengths;
    for (auto [index, dim] : llvm::enumerate(dims)) {
      const AxisList &axes = problem.to.dims[dim].axes;
      BlockLayout blocks = getBlocks(index, tp::getSize(axes));
      int64_t position = getPosition(mesh, axes, device);
      sample.needed.emplace_back(blocks.begin(position),
                                 blocks.begin(position + 1));
      lengths.push_back(blocks.valid(position));
    }
    sample.volume = getVolume(lengths);
    mostNeeded = std::max(mostNeeded, sample.volume);
    samples.push_back(std::move(sample));
  }
}

std::optional<State> StateSpace::encode(const TensorSharding &layout,
                                        uint8_t system) const {
  State state;
  state.system = system;
  state.kind = layout.unreduced.empty() ? problem.from.kind : layout.kind;
  auto append = [&](Digits &digits, const AxisRef &axis) {
    int64_t begin = axis.pre;
    for (auto [index, digit] : llvm::enumerate(systems[system]))
      if (digit.axis == axis.axis && digit.pre == begin &&
          axis.end() % digit.end() == 0 && begin < axis.end()) {
        digits.push_back(index);
        begin = digit.end();
      }
    return begin == axis.end();
  };
  for (unsigned dim : dims) {
    state.dims.emplace_back();
    for (const AxisRef &axis : layout.dims[dim].axes)
      if (!append(state.dims.back(), axis))
        return std::nullopt;
  }
  Digits unreduced;
  for (const AxisRef &axis : layout.unreduced)
    if (!append(unreduced, axis))
      return std::nullopt;
  for (uint8_t digit : unreduced)
    state.unreduced |= DigitSet(1) << digit;
  return state;
}

TensorSharding StateSpace::decode(const State &state) const {
  const DigitSystem &system = systems[state.system];
  TensorSharding layout = TensorSharding::replicate(problem.shape.size());
  for (auto [dim, digits] : llvm::zip_equal(dims, state.dims))
    for (uint8_t digit : digits)
      appendMerged(layout.dims[dim].axes, system[digit]);
  AxisList unreduced;
  for (DigitSet left = state.unreduced; left; left &= left - 1)
    unreduced.push_back(system[llvm::countr_zero(left)]);
  layout.unreduced = getMerged(unreduced);
  if (!layout.unreduced.empty())
    layout.kind = state.kind;
  return layout;
}

DigitSet StateSpace::getIdle(const State &state) const {
  DigitSet used = state.unreduced;
  for (const Digits &digits : state.dims)
    for (uint8_t digit : digits)
      used |= DigitSet(1) << digit;
  return getAllDigits(state) & ~used;
}

StateSpace::Places StateSpace::getPlaces(const State &state) const {
  const DigitSystem &system = systems[state.system];
  Places places(system.size(), {-1, 0});
  for (auto [dim, digits] : llvm::enumerate(state.dims)) {
    int64_t weight = 1;
    for (uint8_t digit : llvm::reverse(digits)) {
      places[digit] = {static_cast<int>(dim), weight};
      weight *= system[digit].size;
    }
  }
  for (DigitSet left = state.unreduced; left; left &= left - 1)
    places[llvm::countr_zero(left)] = {-2, 0};
  return places;
}

Cost StateSpace::getBound(const State &state) const {
  if (!problem.to.unreduced.empty())
    return {};
  uint64_t elements = 0; // times scale
  if (int64_t addends = getSize(state, state.unreduced); addends > 1) {
    elements =
        llvm::SaturatingMultiply<uint64_t>(volume, targetCopies + addends - 2);
  } else {
    SmallVector<int64_t, 4> blocks;
    for (auto [index, digits] : llvm::enumerate(state.dims))
      blocks.push_back(getBlocks(index, getSize(state, digits)).block());
    uint64_t most = 0;
    for (const Sample &sample : samples) {
      uint64_t common = restVolume;
      for (auto [index, digits] : llvm::enumerate(state.dims)) {
        int64_t position = 0;
        for (uint8_t digit : digits)
          position = position * systems[state.system][digit].size +
                     sample.digits[state.system][digit];
        // Ends behind the tensor do not matter: what is needed is inside.
        auto [begin, end] = sample.needed[index];
        int64_t overlap = std::min(end, (position + 1) * blocks[index]) -
                          std::max(begin, position * blocks[index]);
        common = llvm::SaturatingMultiply<uint64_t>(
            common, std::max<int64_t>(overlap, 0));
      }
      most = std::max(most, sample.volume - common);
      if (most == mostNeeded)
        break;
    }
    elements = llvm::SaturatingMultiply<uint64_t>(most, links.getScale());
  }
  uint64_t ticks = links.getBound(systems[state.system], elements);
  return {ticks, elements > 0, 0};
}

Cost tp::reshard::getBound(const Problem &problem, const LinkModel &links,
                           const DigitSystem &system) {
  StateSpace space(problem, links, system);
  return space.getBound(*space.encode(problem.from, 0));
}

//===----------------------------------------------------------------------===//
// A*
//===----------------------------------------------------------------------===//

namespace {

class Search {
public:
  Search(const StateSpace &space, bool greedy, unsigned maxVisits, Path &best)
      : space(space), best(best), greedy(greedy), maxVisits(maxVisits) {}

  /// Returns whether everything was looked at.
  bool run();

private:
  struct Node {
    State state;
    Cost cost;
    unsigned parent = 0;
    /// None at the start and where only the digit system changes.
    std::optional<CollectiveKind> kind;
  };

  void visit(const State &state, Cost cost, std::optional<CollectiveKind> kind);
  /// A single node may have thousands of neighbours: looked at no further.
  bool isSpent() const { return order > maxVisits; }
  /// Of a path by way of the current node.
  Cost getCost(const State &state, CollectiveKind kind, DigitSet axes,
               uint64_t payload) const;
  void emit(const State &next, CollectiveKind kind, DigitSet axes,
            uint64_t payload);
  Path getPath(unsigned node) const;
  Cost guess(const State &state) const;

  // All steps from `nodes[current]`, a member for each kind or two.
  void changeSystem(const State &state);
  void slice(const State &state);
  void makePartial(const State &state);
  void reduce(const State &state);
  void gatherOrExchange(const State &state);
  void permute(const State &state);

  void distribute(State &state, DigitSet digits, ArrayRef<unsigned> dims,
                  llvm::function_ref<void()> done);
  void chooseKept(const State &state, State &kept, DigitSet removed);
  bool canMerge(unsigned dim, int64_t k, int64_t s) const {
    return space.getBlocks(dim, k).mergesEvenly(s);
  }
  SmallVector<int64_t, 4> getLocal(const State &state) const {
    SmallVector<int64_t, 4> local;
    for (auto [index, digits] : llvm::enumerate(state.dims))
      local.push_back(
          space.getBlocks(index, space.getSize(state, digits)).block());
    return local;
  }

  const StateSpace &space;
  Path &best;
  bool greedy;
  unsigned maxVisits;
  std::vector<Node> nodes;
  std::unordered_map<State, unsigned, StateHash> known;
  /// Lowest priority first, then first come, first served.
  struct Entry {
    Cost priority, estimate, cost;
    unsigned order, node;
    bool operator<(const Entry &o) const {
      return std::tie(o.priority, o.order) < std::tie(priority, order);
    }
  };
  std::priority_queue<Entry> queue;
  SmallVector<std::optional<State>, 2> goals;
  SmallVector<StateSpace::Places, 2> goalPlaces;
  unsigned current = 0;
  unsigned order = 0;
};

} // namespace

bool Search::run() {
  for (uint8_t system = 0; system < space.systems.size(); ++system)
    if (goals.push_back(space.encode(space.problem.to, system)); goals.back())
      goalPlaces.push_back(space.getPlaces(*goals.back()));
    else
      goalPlaces.emplace_back();
  for (uint8_t system = 0; system < space.systems.size(); ++system)
    if (std::optional<State> start = space.encode(space.problem.from, system)) {
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
    State state = nodes[current].state;
    changeSystem(state);
    slice(state);
    makePartial(state);
    reduce(state);
    gatherOrExchange(state);
    permute(state);
  }
  return !isSpent();
}

void Search::visit(const State &state, Cost cost,
                   std::optional<CollectiveKind> kind) {
  ++order;
  if (isSpent() || !(cost < best.cost))
    return;
  auto [it, isNew] = known.try_emplace(state, nodes.size());
  if (isNew)
    nodes.push_back({state, cost, current, kind});
  else if (Node &node = nodes[it->second]; cost < node.cost)
    node = {state, cost, current, kind};
  else
    return;
  Cost estimate = cost + space.getBound(state);
  if (!(estimate < best.cost))
    return;
  if (goals[state.system] == state)
    best = getPath(it->second);
  else
    queue.push({greedy ? cost + guess(state) : estimate, estimate, cost, order,
                it->second});
}

/// What is missing if every digit out of place costs a buffer.
Cost Search::guess(const State &state) const {
  unsigned misplaced = 0;
  const StateSpace::Places &goal = goalPlaces[state.system];
  for (auto [digit, place] : llvm::enumerate(space.getPlaces(state)))
    misplaced += goal.empty() || place != goal[digit];
  const LinkModel &links = space.links;
  uint64_t buffer = llvm::SaturatingMultiply<uint64_t>(
      space.getVolume(getLocal(nodes.front().state)), links.getScale());
  return {llvm::SaturatingMultiply<uint64_t>(
              links.getBound(space.getDigits(state), buffer), misplaced),
          misplaced, 0};
}

Cost Search::getCost(const State &state, CollectiveKind kind, DigitSet axes,
                     uint64_t payload) const {
  AxisList list;
  for (; axes; axes &= axes - 1)
    list.push_back(space.getDigits(state)[llvm::countr_zero(axes)]);
  return nodes[current].cost + Cost{space.links.getTicks(kind, list, payload),
                                    !isFree(kind),
                                    static_cast<unsigned>(list.size())};
}

void Search::emit(const State &next, CollectiveKind kind, DigitSet axes,
                  uint64_t payload) {
  visit(next, getCost(next, kind, axes, payload), kind);
}

Path Search::getPath(unsigned node) const {
  Path path;
  path.cost = nodes[node].cost;
  for (; node != 0; node = nodes[node].parent) {
    if (!nodes[node].kind)
      continue;
    // Free steps of one kind in a row are one step.
    if (path.legs.empty() || !isFree(*nodes[node].kind) ||
        path.legs.back().kind != *nodes[node].kind)
      path.legs.push_back({*nodes[node].kind, space.decode(nodes[node].state)});
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

void Search::slice(const State &state) {
  DigitSet idle = space.getIdle(state);
  State next = state;
  for (unsigned dim = 0; dim < state.dims.size(); ++dim) {
    int64_t most =
        space.getSize(state, state.dims[dim]) * space.getSize(state, idle);
    if (space.getBlocks(dim, most).isUneven()) {
      // What is no step digit by digit may be one at once.
      for (DigitSet some = idle; some; some = (some - 1) & idle)
        distribute(next, some, dim,
                   [&] { emit(next, CollectiveKind::AllSlice, some, 0); });
      continue;
    }
    for (DigitSet left = idle; left; left &= left - 1) {
      next.dims[dim].push_back(llvm::countr_zero(left));
      emit(next, CollectiveKind::AllSlice, left & -left, 0);
      next.dims[dim].pop_back();
    }
  }
}

void Search::makePartial(const State &state) {
  const std::optional<State> &goal = goals[state.system];
  const TensorSharding &to = space.problem.to;
  if (!goal || (state.unreduced && state.kind != to.kind))
    return;
  State next = state;
  next.kind = to.kind;
  DigitSet idle = space.getIdle(state) & goal->unreduced;
  for (DigitSet left = idle; left; left &= left - 1) {
    next.unreduced = state.unreduced | (left & -left);
    emit(next, CollectiveKind::ToPartial, left & -left, 0);
  }
  for (unsigned dim = 0; dim < state.dims.size(); ++dim) {
    int64_t k = space.getSize(state, state.dims[dim]), s = 1;
    DigitSet added = 0;
    for (uint8_t digit : llvm::reverse(state.dims[dim])) {
      if (!(goal->unreduced >> digit & 1))
        break;
      added |= DigitSet(1) << digit;
      s *= space.getDigits(state)[digit].size;
      next.dims[dim].pop_back();
      next.unreduced = state.unreduced | added;
      if (canMerge(dim, k, s))
        emit(next, CollectiveKind::ToPartial, added, 0);
    }
    next.dims[dim] = state.dims[dim];
  }
}

/// Calls `done` for every way to append all of `digits` to the lists of `dims`
/// so that block boundaries coincide. `state` is as before afterwards.
void Search::distribute(State &state, DigitSet digits, ArrayRef<unsigned> dims,
                        llvm::function_ref<void()> done) {
  if (dims.empty()) {
    if (digits == 0)
      done();
    return;
  }
  unsigned dim = dims.front();
  int64_t before = space.getSize(state, state.dims[dim]);
  auto append = [&](auto &self, int64_t s, DigitSet left) -> void {
    if (canMerge(dim, before * s, s))
      distribute(state, left, dims.drop_front(), done);
    for (DigitSet rest = left; rest; rest &= rest - 1) {
      unsigned digit = llvm::countr_zero(rest);
      state.dims[dim].push_back(digit);
      self(self, s * space.getDigits(state)[digit].size,
           left & ~(DigitSet(1) << digit));
      state.dims[dim].pop_back();
    }
  };
  append(append, 1, digits);
}

void Search::reduce(const State &state) {
  SmallVector<unsigned, 4> all;
  for (unsigned dim = 0; dim < state.dims.size(); ++dim)
    all.push_back(dim);
  uint64_t buffer = space.getVolume(getLocal(state));
  State next = state;
  for (DigitSet some = state.unreduced; some;
       some = (some - 1) & state.unreduced) {
    next.unreduced = state.unreduced & ~some;
    next.kind = next.unreduced ? state.kind : space.problem.from.kind;
    emit(next, CollectiveKind::AllReduce, some, buffer);
    // Padding adds to the buffer; without any it is too dear already.
    if (!(getCost(next, CollectiveKind::ReduceScatter, some, buffer) <
          best.cost))
      continue;
    distribute(next, some, all, [&] {
      uint64_t share = space.getVolume(getLocal(next));
      emit(next, CollectiveKind::ReduceScatter, some,
           llvm::SaturatingMultiply<uint64_t>(share,
                                              space.getSize(state, some)));
    });
  }
}

void Search::gatherOrExchange(const State &state) {
  State kept = state;
  kept.dims.clear();
  chooseKept(state, kept, 0);
}

/// Chooses how much to keep of the next dimension's digits. Once all are
/// chosen, what was removed is gathered, or appended to whole dimensions.
void Search::chooseKept(const State &state, State &kept, DigitSet removed) {
  unsigned dim = kept.dims.size();
  if (dim < state.dims.size()) {
    kept.dims.push_back(state.dims[dim]);
    int64_t k = space.getSize(state, state.dims[dim]), s = 1;
    for (uint8_t digit : llvm::reverse(state.dims[dim])) {
      if (canMerge(dim, k, s))
        chooseKept(state, kept, removed);
      removed |= DigitSet(1) << digit;
      s *= space.getDigits(state)[digit].size;
      kept.dims[dim].pop_back();
    }
    chooseKept(state, kept, removed);
    kept.dims.pop_back();
    return;
  }
  if (removed == 0)
    return;

  uint64_t group = space.getSize(state, removed);
  SmallVector<int64_t, 4> local = getLocal(state);
  emit(kept, CollectiveKind::AllGather, removed,
       llvm::SaturatingMultiply(group, space.getVolume(local)));

  SmallVector<unsigned, 4> targets;
  for (unsigned dim = 0; dim < state.dims.size(); ++dim)
    if (kept.dims[dim].size() == state.dims[dim].size())
      targets.push_back(dim);
  if (targets.empty() || !(getCost(kept, CollectiveKind::AllToAll, removed,
                                   space.getVolume(local)) < best.cost))
    return;
  distribute(kept, removed, targets, [&] {
    // What goes from one device to another is the smaller block everywhere.
    SmallVector<int64_t, 4> share = local, out = getLocal(kept);
    for (unsigned dim : targets)
      share[dim] = out[dim];
    emit(kept, CollectiveKind::AllToAll, removed,
         llvm::SaturatingMultiply(group, space.getVolume(share)));
  });
}

/// Fills dimension after dimension, and then the unreduced set, with any digits
/// of the same product.
void Search::permute(const State &state) {
  uint64_t buffer = space.getVolume(getLocal(state));
  // Whatever moves, all of the buffer does.
  const LinkModel &links = space.links;
  uint64_t least = links.getBound(
      space.getDigits(state),
      llvm::SaturatingMultiply<uint64_t>(buffer, links.getScale()));
  if (!(nodes[current].cost + Cost{least, 1, 1} < best.cost))
    return;
  int64_t addends = space.getSize(state, state.unreduced);
  StateSpace::Places places = space.getPlaces(state);
  State next = state;
  next.unreduced = 0;
  for (Digits &digits : next.dims)
    digits.clear();

  auto finish = [&] {
    DigitSet moved = 0;
    for (auto [digit, before, after] :
         llvm::enumerate(places, space.getPlaces(next)))
      if (before != after)
        moved |= DigitSet(1) << digit;
    if (moved)
      emit(next, CollectiveKind::CollectivePermute, moved, buffer);
  };
  auto fillUnreduced = [&](DigitSet left) {
    if (addends == 1)
      return finish();
    for (DigitSet some = left; some; some = (some - 1) & left)
      if (space.getSize(state, some) == addends) {
        next.unreduced = some;
        finish();
      }
    next.unreduced = 0;
  };
  auto fill = [&](auto &self, unsigned dim, DigitSet left) -> void {
    if (dim == next.dims.size())
      return fillUnreduced(left);
    int64_t missing = space.getSize(state, state.dims[dim]) /
                      space.getSize(next, next.dims[dim]);
    if (missing == 1)
      return self(self, dim + 1, left);
    for (DigitSet rest = left; rest; rest &= rest - 1) {
      unsigned digit = llvm::countr_zero(rest);
      if (missing % space.getDigits(state)[digit].size != 0)
        continue;
      next.dims[dim].push_back(digit);
      self(self, dim, left & ~(DigitSet(1) << digit));
      next.dims[dim].pop_back();
    }
  };
  fill(fill, 0, space.getAllDigits(state));
}

bool tp::reshard::search(const Problem &problem, const LinkModel &links,
                         ArrayRef<DigitSystem> systems, bool greedy,
                         unsigned maxVisits, Path &best) {
  for (const DigitSystem &system : systems)
    if (system.size() > maxDigits)
      return false;
  StateSpace space(problem, links, systems);
  return Search(space, greedy, maxVisits, best).run();
}
