// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReshardTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <limits>
#include <queue>

using namespace tp;
using namespace tp::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

Table::Table(const Mesh &mesh, ArrayRef<int64_t> shape, int64_t elementBytes,
             const DigitSystem &system)
    : Expansion(space, {llvm::maskTrailingOnes<DigitSet>(system.size())},
                ReduceKind::Sum),
      mesh(mesh), shape(shape), system(system),
      links(mesh, elementBytes, getScale(system)),
      space(this->shape, llvm::to_vector<4>(llvm::seq<unsigned>(shape.size())),
            ReduceKind::Sum, links, this->system) {}

uint64_t Table::count(size_t digits, size_t dims) {
  if (digits >= maxDigits)
    return std::numeric_limits<uint64_t>::max();
  // Some of the digits are in lists, one after the other at any place of any
  // list; each of the others is idle or unreduced.
  uint64_t states = 0, some = 1, lists = 1;
  for (size_t inLists = 0; inLists <= digits; ++inLists) {
    states =
        llvm::SaturatingMultiplyAdd(some << (digits - inLists), lists, states);
    some = some * (digits - inLists) / (inLists + 1);
    lists = llvm::SaturatingMultiply<uint64_t>(lists, dims + inLists);
  }
  return states;
}

unsigned Table::getNumber(const State &state) {
  auto [it, isNew] = numbers.try_emplace(state, unsigned(nodes.size()));
  if (isNew)
    nodes.push_back({&it->first, {}, {}, nullptr});
  return it->second;
}

std::optional<unsigned> Table::getNumber(const TensorSharding &layout) {
  std::optional<State> state = space.encode(layout, 0);
  if (!state)
    return std::nullopt;
  // Whatever the addends' kind is, it costs as much.
  state->kind = ReduceKind::Sum;
  return getNumber(*state);
}

void Table::take(const State &next, CollectiveKind kind, DigitSet axes,
                 const Cost &cost) {
  nodes[getNumber(next)].edges.push_back(
      {current, kind == CollectiveKind::ToPartial ? axes : 0, cost});
}

void Table::expandAll() {
  for (; current < nodes.size(); ++current)
    expand(*nodes[current].state);
}

std::vector<std::optional<Cost>> Table::computeCosts(unsigned to) {
  std::vector<std::optional<Cost>> costs(nodes.size());
  // Nobody makes partial what is not wanted partial.
  DigitSet partial = nodes[to].state->unreduced;
  using Entry = std::pair<Cost, unsigned>;
  auto isLater = [](const Entry &a, const Entry &b) {
    return b.first < a.first;
  };
  std::priority_queue<Entry, std::vector<Entry>, decltype(isLater)> queue(
      isLater);
  costs[to] = Cost();
  queue.push({{}, to});
  while (!queue.empty()) {
    auto [cost, number] = queue.top();
    queue.pop();
    if (*costs[number] < cost)
      continue;
    for (const Edge &edge : nodes[number].edges) {
      if (edge.partial & ~partial)
        continue;
      Cost next = cost + edge.cost;
      std::optional<Cost> &known = costs[edge.from];
      if (known && !(next < *known))
        continue;
      known = next;
      queue.push({next, edge.from});
    }
  }
  return costs;
}

std::optional<Cost> Table::get(unsigned from, unsigned to) {
  expandAll();
  // What has been added since leads to what was there, and not back.
  std::vector<std::optional<Cost>> &costs = nodes[to].costs;
  if (from >= costs.size())
    costs = computeCosts(to);
  return costs[from];
}

Cost Table::getBound(unsigned from, unsigned to) {
  std::unique_ptr<Bound> &bound = nodes[to].bound;
  if (!bound)
    bound =
        std::make_unique<Bound>(mesh, space, space.decode(*nodes[to].state));
  return bound->get(*nodes[from].state);
}
