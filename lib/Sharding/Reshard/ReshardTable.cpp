// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReshardTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <array>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

using namespace tp;
using namespace tp::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

Table::Table(const Mesh &mesh, ArrayRef<int64_t> shape, int64_t elementBytes,
             ArrayRef<DigitSystem> systems)
    : Expansion(space, SmallVector<DigitSet, 2>(systems.size(), 0),
                ReduceKind::Sum),
      mesh(mesh), shape(shape), systems(systems),
      links(mesh, elementBytes, getScale(systems.front())),
      space(this->shape, llvm::to_vector<4>(llvm::seq<unsigned>(shape.size())),
            ReduceKind::Sum, links, this->systems) {}

DigitSet Table::shift(DigitSet digits, unsigned system) const {
  for (const DigitSystem &before : ArrayRef(systems).take_front(system))
    digits <<= before.size();
  return digits;
}

unsigned Table::getNumber(const State &state) {
  auto [number, isNew] = numbers.insert(state);
  if (isNew)
    nodes.push_back({shift(state.unreduced, state.system), {}, nullptr});
  return number;
}

unsigned Table::getNumber(const StepKind &kind) {
  // Most steps have the same kind as the previous one.
  if (!taken.empty())
    if (unsigned last = taken.back().second.kind; kinds[last] == kind)
      return last;
  auto [it, isNew] =
      kindNumbers.try_emplace({kind.price, kind.partial}, kinds.size());
  if (isNew)
    kinds.push_back(kind);
  return it->second;
}

std::optional<unsigned> Table::getNumber(const TensorSharding &layout) {
  std::optional<unsigned> number;
  DigitSet wanted = 0;
  for (unsigned system = 0; system < systems.size(); ++system)
    if (std::optional<State> state = space.encode(layout, system)) {
      // The cost does not depend on the kind of the reduction.
      state->kind = ReduceKind::Sum;
      wanted |= shift(state->unreduced, system);
      if (!number)
        number = getNumber(*state);
    }
  if (number)
    nodes[*number].wanted = wanted;
  return number;
}

/// A price combines ticks and launches in one number: lower is cheaper. A
/// cheapest path visits no state twice, which limits the number of launches.
static constexpr unsigned kLaunchBits = 13;
static_assert(kFewStates < 1 << kLaunchBits);
/// The price if there is no path, and the price of every path that would cost
/// at least this much; such paths are left to a search. The sum of two prices
/// does not overflow.
static constexpr uint64_t kNoWay = uint64_t(1) << 62;

static uint64_t getPrice(const Cost &cost) {
  return cost.ticks < kNoWay >> kLaunchBits
             ? cost.ticks << kLaunchBits | cost.launches
             : kNoWay;
}

void Table::take(const State &next, CollectiveKind kind, DigitSet axes,
                 const Cost &cost) {
  DigitSet partial = kind == CollectiveKind::ToPartial ? axes : 0;
  StepKind own{getPrice(cost), shift(partial, next.system)};
  taken.push_back({getNumber(next), {current, getNumber(own)}});
}

/// Changing the digit system is free.
void Table::changeSystem(const State &state) {
  if (systems.size() == 1)
    return;
  TensorSharding layout = space.decode(state);
  for (unsigned system = 0; system < systems.size(); ++system)
    if (system != state.system)
      if (std::optional<State> next = space.encode(layout, system))
        taken.push_back({getNumber(*next), {current, getNumber(StepKind{})}});
}

void Table::expandAll() {
  if (current == nodes.size() && taken.empty())
    return;
  for (; current < nodes.size(); ++current) {
    State state = numbers[current];
    expand(state);
    changeSystem(state);
  }
  sortTaken();
}

/// Lets values become partial along any digit. The steps that make them partial
/// lead to many states, which are never needed if no target is partial.
void Table::allowPartial() {
  for (auto [system, digits] : llvm::zip_equal(systems, partial))
    digits = llvm::maskTrailingOnes<DigitSet>(system.size());
  // Nodes before `current` lack only the steps that make values partial.
  unsigned known = std::exchange(current, 0);
  for (; current < known; ++current) {
    State state = numbers[current];
    makePartial(state);
  }
}

/// Merges `taken` into `steps`.
void Table::sortTaken() {
  for (unsigned to = 0; to + 1 < begins.size(); ++to)
    for (unsigned i = begins[to]; i < begins[to + 1]; ++i)
      taken.push_back({to, steps[i]});
  begins.assign(nodes.size() + 1, 0);
  for (const auto &[to, step] : taken)
    ++begins[to];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  steps.resize(taken.size());
  for (const auto &[to, step] : taken)
    steps[--begins[to]] = step;
  taken = {};
}

/// Computes the prices of paths to at most kLanes targets, all partial along
/// the same digits. This is Dijkstra's algorithm for all of them at once: nodes
/// are visited in the order of their lowest new price, and again if their price
/// for another target falls later.
void Table::computePrices(ArrayRef<unsigned> targets) {
  using Lanes = std::array<uint64_t, kLanes>;
  Lanes none;
  none.fill(kNoWay);
  std::vector<Lanes> prices(nodes.size(), none);
  std::vector<uint64_t> highest(nodes.size(), kNoWay); // of each node's prices
  std::vector<uint64_t> waiting(nodes.size(), kNoWay); // the lowest new price
  using Entry = std::pair<uint64_t, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  auto wait = [&](uint64_t price, unsigned number) {
    if (price >= waiting[number])
      return;
    waiting[number] = price;
    queue.push({price, number});
  };
  for (auto [lane, to] : llvm::enumerate(targets)) {
    prices[to][lane] = 0;
    wait(0, to);
  }
  // Only digits that are to be partial in the target may become partial.
  DigitSet wanted = nodes[targets.front()].wanted;
  auto spread = [&](unsigned number, uint64_t lowest) {
    Lanes behind = prices[number];
    for (unsigned i = begins[number]; i < begins[number + 1]; ++i) {
      const StepKind &kind = kinds[steps[i].kind];
      unsigned from = steps[i].from;
      if ((kind.partial & ~wanted) || lowest + kind.price >= highest[from])
        continue;
      Lanes &known = prices[from];
      uint64_t least = kNoWay, most = 0;
      for (unsigned lane = 0; lane < targets.size(); ++lane) {
        uint64_t price = behind[lane] + kind.price;
        if (price < known[lane]) {
          known[lane] = price;
          least = std::min(least, price);
        }
        most = std::max(most, known[lane]);
      }
      highest[from] = most;
      wait(least, from);
    }
  };
  while (!queue.empty()) {
    auto [price, number] = queue.top();
    queue.pop();
    if (waiting[number] != price)
      continue; // the node has been visited since
    waiting[number] = kNoWay;
    spread(number, price);
  }
  for (auto [lane, to] : llvm::enumerate(targets)) {
    nodes[to].prices.clear();
    for (const Lanes &own : prices)
      nodes[to].prices.push_back(own[lane]);
  }
}

void Table::compute(ArrayRef<unsigned> targets) {
  if (nodes[targets.front()].wanted && !partial.front())
    allowPartial();
  expandAll();
  SmallVector<unsigned, kLanes> together;
  const Node &first = nodes[targets.front()];
  for (unsigned to : targets)
    // Skip targets that have prices. Their prices stay valid when states are
    // added: paths from older states do not go through newer ones.
    if (together.empty() ||
        (together.size() < kLanes && nodes[to].prices.empty() &&
         nodes[to].wanted == first.wanted))
      together.push_back(to);
  computePrices(together);
}

std::optional<Cost> Table::get(unsigned from, unsigned to) const {
  uint64_t price = nodes[to].prices[from];
  if (price >= kNoWay)
    return std::nullopt;
  return Cost{price >> kLaunchBits,
              unsigned(price & llvm::maskTrailingOnes<uint64_t>(kLaunchBits)),
              0};
}

Cost Table::getBound(unsigned from, unsigned to) {
  std::unique_ptr<Bound> &bound = nodes[to].bound;
  if (!bound)
    bound = std::make_unique<Bound>(mesh, space, space.decode(numbers[to]));
  return bound->get(numbers[from]);
}
