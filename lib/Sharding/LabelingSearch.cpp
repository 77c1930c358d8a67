// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LabelingSearch.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

using namespace tp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Labeling::Search::Search(const Labeling &problem, double budget)
    : problem(problem), largest(budget), timesKept(problem.nodes.size(), 0) {
  // The larger the tables, the fewer nodes are kept.
  while (largest > 1 && findOrder().work > budget)
    largest /= 4;
}

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

/// The node with the smallest table goes first.
Labeling::Search::Order Labeling::Search::findOrder() const {
  Order order;
  std::vector<llvm::SmallVector<unsigned, 4>> neighbours(problem.nodes.size());
  auto connect = [&](unsigned a, unsigned b) {
    if (llvm::is_contained(neighbours[a], b))
      return;
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  };
  for (const Edge &edge : problem.edges)
    connect(edge.nodes[0], edge.nodes[1]);

  using Entry = std::pair<double, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<double> work(problem.nodes.size());
  auto enqueue = [&](unsigned node) {
    work[node] = problem.nodes[node].numCandidates;
    for (unsigned neighbour : neighbours[node])
      work[node] *= problem.nodes[neighbour].numCandidates;
    queue.push({work[node], node});
  };
  for (unsigned node = 0; node < problem.nodes.size(); ++node)
    enqueue(node);
  while (!queue.empty()) {
    auto [least, node] = queue.top();
    queue.pop();
    if (least != work[node])
      continue; // it is elsewhere in the queue, or gone
    bool isKept = least > largest;
    if (isKept) {
      // One of those here: seldom kept, with many candidates.
      for (unsigned other : neighbours[node])
        if (std::make_pair(timesKept[other],
                           problem.nodes[node].numCandidates) <
            std::make_pair(timesKept[node], problem.nodes[other].numCandidates))
          node = other;
      order.isExact = false;
    } else {
      order.work += least;
    }
    work[node] = -1;
    order.steps.push_back({node, isKept, neighbours[node]});
    llvm::ArrayRef<unsigned> around = order.steps.back().neighbours;
    for (auto [i, other] : llvm::enumerate(around)) {
      llvm::erase(neighbours[other], node);
      if (!isKept)
        for (unsigned next : around.drop_front(i + 1))
          connect(other, next);
    }
    for (unsigned other : around)
      enqueue(other);
  }
  return order;
}

//===----------------------------------------------------------------------===//
// A round
//===----------------------------------------------------------------------===//

void Labeling::Search::start() {
  tables.clear();
  storage.clear();
  tablesOf.assign(problem.nodes.size(), {});
  for (const Edge &edge : problem.edges) {
    Table &table = tables.emplace_back();
    table.values = edge.matrix->values.data();
    table.axes = {{edge.nodes[0], edge.ports[0].data(), edge.matrix->columns},
                  {edge.nodes[1], edge.ports[1].data(), 1}};
    for (unsigned node : edge.nodes)
      tablesOf[node].push_back(&table);
  }
}

void Labeling::Search::keep(unsigned node, unsigned label) {
  ++timesKept[node];
  for (Table *table : tablesOf[node]) {
    auto *axis = llvm::find_if(
        table->axes, [&](const Axis &axis) { return axis.node == node; });
    table->values += axis->getOffset(label);
    table->axes.erase(axis);
  }
  tablesOf[node].clear();
}

/// Puts one table of a node's best answers beside those that it is in, and
/// takes them from its neighbours.
void Labeling::Search::eliminate(unsigned node,
                                 llvm::SmallVector<unsigned, 4> neighbours) {
  if (neighbours.empty())
    return;
  // Innermost the one in the fewest tables: what others say is summed before.
  auto countTables = [&](unsigned neighbour) {
    return llvm::count_if(tablesOf[node], [&](const Table *table) {
      return llvm::any_of(table->axes, [&](const Axis &axis) {
        return axis.node == neighbour;
      });
    });
  };
  std::swap(*llvm::min_element(neighbours,
                               [&](unsigned a, unsigned b) {
                                 return countTables(a) < countTables(b);
                               }),
            neighbours.back());
  Table answers;
  size_t size = 1;
  for (unsigned neighbour : llvm::reverse(neighbours)) {
    answers.axes.push_back({neighbour, nullptr, size});
    size *= problem.nodes[neighbour].numCandidates;
  }
  std::vector<double> &values = storage.emplace_back(size, kInfinity);
  answers.values = values.data();

  llvm::ArrayRef<double> own = problem.getCosts(node);
  unsigned last = neighbours.back();
  unsigned numLast = problem.nodes[last].numCandidates;
  // By candidate of the node and of the last neighbour: what no other neighbour
  // has a part in.
  std::vector<double> common(own.size() * numLast);
  for (auto [c, cost] : llvm::enumerate(own))
    std::fill_n(common.begin() + c * numLast, numLast, cost);
  struct Term {
    const Table *table;
    const Axis *mine, *inner;
    llvm::SmallVector<std::pair<const Axis *, const unsigned *>, 4> outer;
  };
  std::vector<unsigned> place(neighbours.size(), 0);
  llvm::SmallVector<Term> terms;
  for (const Table *table : tablesOf[node]) {
    Term term{table, nullptr, nullptr, {}};
    for (const Axis &axis : table->axes) {
      if (axis.node == node)
        term.mine = &axis;
      else if (axis.node == last)
        term.inner = &axis;
      else
        term.outer.push_back(
            {&axis,
             &place[llvm::find(neighbours, axis.node) - neighbours.begin()]});
    }
    if (!term.outer.empty()) {
      terms.push_back(std::move(term));
      continue;
    }
    for (unsigned c = 0; c < own.size(); ++c)
      for (unsigned label = 0; label < numLast; ++label)
        common[c * numLast + label] +=
            table->values[term.mine->getOffset(c) +
                          (term.inner ? term.inner->getOffset(label) : 0)];
  }

  std::vector<double> shifts(own.size()), sums(numLast);
  for (double *out = values.data(), *end = out + size; out != end;
       out += numLast) {
    std::fill(shifts.begin(), shifts.end(), 0);
    llvm::SmallVector<std::pair<const double *, const Term *>> rows;
    for (const Term &term : terms) {
      const double *from = term.table->values;
      for (auto [axis, label] : term.outer)
        from += axis->getOffset(*label);
      if (term.inner) {
        rows.push_back({from, &term});
        continue;
      }
      for (unsigned c = 0; c < own.size(); ++c)
        shifts[c] += from[term.mine->getOffset(c)];
    }
    for (unsigned c = 0; c < own.size(); ++c) {
      const double *line = &common[size_t(c) * numLast];
      for (auto [from, term] : rows) {
        const double *row = from + term->mine->getOffset(c);
        const Axis &inner = *term->inner;
        if (!inner.ports && inner.stride == 1)
          for (unsigned label = 0; label < numLast; ++label)
            sums[label] = line[label] + row[label];
        else
          for (unsigned label = 0; label < numLast; ++label)
            sums[label] = line[label] + row[inner.getOffset(label)];
        line = sums.data();
      }
      for (unsigned label = 0; label < numLast; ++label)
        out[label] = std::min(out[label], line[label] + shifts[c]);
    }
    for (size_t i = neighbours.size() - 1; i-- > 0;) {
      if (++place[i] < problem.nodes[neighbours[i]].numCandidates)
        break;
      place[i] = 0;
    }
  }
  Table *added = &tables.emplace_back(std::move(answers));
  for (unsigned neighbour : neighbours) {
    llvm::erase_if(tablesOf[neighbour], [&](Table *table) {
      return llvm::is_contained(tablesOf[node], table);
    });
    tablesOf[neighbour].push_back(added);
  }
}

/// Best choices by the tables in which nodes were when they went.
void Labeling::Search::decide(const Order &order,
                              std::vector<unsigned> &labels) const {
  for (const Order::Step &step : llvm::reverse(order.steps)) {
    if (step.isKept)
      continue;
    std::vector<double> sums = problem.getCosts(step.node).vec();
    for (const Table *table : tablesOf[step.node]) {
      const double *from = table->values;
      const Axis *mine = nullptr;
      for (const Axis &axis : table->axes)
        if (axis.node == step.node)
          mine = &axis;
        else
          from += axis.getOffset(labels[axis.node]);
      for (unsigned c = 0; c < sums.size(); ++c)
        sums[c] += from[mine->getOffset(c)];
    }
    labels[step.node] =
        std::min_element(sums.begin(), sums.end()) - sums.begin();
  }
}

bool Labeling::Search::improve(std::vector<unsigned> &labels) {
  constexpr unsigned kPatience = 2;
  double cost = problem.evaluate(labels);
  for (unsigned idle = 0; idle < kPatience; ++idle) {
    Order order = findOrder();
    std::vector<unsigned> trial = labels;
    start();
    for (const Order::Step &step : order.steps)
      if (step.isKept)
        keep(step.node, labels[step.node]);
      else
        eliminate(step.node, step.neighbours);
    decide(order, trial);
    double trialCost = problem.evaluate(trial);
    // A margin, or rounding could make two choices alternate.
    if (trialCost < cost - 1e-12 * std::abs(cost)) {
      cost = trialCost;
      labels = std::move(trial);
      idle = 0;
    }
    if (order.isExact)
      return true;
  }
  return false;
}
