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

Labeling::Search::Search(const Labeling &problem, std::vector<unsigned> counts,
                         double budget)
    : problem(problem), budget(budget), counts(std::move(counts)),
      largest(budget), timesKept(problem.nodes.size(), 0) {}

Labeling::Search::Search(const Labeling &problem, double budget)
    : Search(problem, {}, budget) {
  for (const Node &node : problem.nodes)
    counts.push_back(node.numCandidates);
}

bool Labeling::Search::canFinish(const Labeling &problem,
                                 std::vector<unsigned> counts, double budget) {
  Order order = Search(problem, std::move(counts), budget).findOrder();
  return order.isExact && order.work <= budget;
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
    if (counts[edge.nodes[0]] > 1 && counts[edge.nodes[1]] > 1)
      connect(edge.nodes[0], edge.nodes[1]);

  using Entry = std::pair<double, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<double> work(problem.nodes.size());
  auto enqueue = [&](unsigned node) {
    work[node] = counts[node];
    for (unsigned neighbour : neighbours[node])
      work[node] *= counts[neighbour];
    queue.push({work[node], node});
  };
  // Who has no choice comes between no others.
  for (unsigned node = 0; node < problem.nodes.size(); ++node)
    if (counts[node] > 1)
      enqueue(node);
    else
      order.steps.push_back({node, /*isKept=*/true, {}});
  while (!queue.empty()) {
    auto [least, node] = queue.top();
    queue.pop();
    if (least != work[node])
      continue; // it is elsewhere in the queue, or gone
    bool isKept = least > largest;
    if (isKept) {
      // One of those here: seldom kept, with many candidates.
      for (unsigned other : neighbours[node])
        if (std::make_pair(timesKept[other], counts[node]) <
            std::make_pair(timesKept[node], counts[other]))
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

/// Fills the table of a node's best answers, one neighbour inside the other.
/// What a table says is added once all neighbours in it have their place, not
/// for every place of the others.
class Labeling::Search::Answers {
public:
  /// `neighbours` from the outermost to the innermost.
  Answers(const Search &search, unsigned node,
          llvm::ArrayRef<unsigned> neighbours);
  void fill(double *values) {
    out = values;
    fill(/*level=*/0, sums[0]);
  }

private:
  struct Term {
    const double *values;
    const Axis *own = nullptr, *inner = nullptr;
    /// Axes of outer neighbours, and which these are.
    llvm::SmallVector<std::pair<const Axis *, unsigned>, 4> outer;
  };
  void fill(unsigned level, llvm::ArrayRef<double> before);
  void add(const Term &term, llvm::MutableArrayRef<double> sum) const;

  unsigned numCandidates, numInner;
  llvm::SmallVector<unsigned> sizes, places; ///< Of the outer neighbours.
  // By level, which is how many outer neighbours have their place: what each
  // candidate costs beside each of the innermost neighbour.
  llvm::SmallVector<llvm::SmallVector<Term, 2>> terms;
  std::vector<std::vector<double>> sums;
  double *out = nullptr;
};

Labeling::Search::Answers::Answers(const Search &search, unsigned node,
                                   llvm::ArrayRef<unsigned> neighbours)
    : numCandidates(search.counts[node]),
      numInner(search.counts[neighbours.back()]),
      places(neighbours.size() - 1, 0), terms(neighbours.size()),
      sums(neighbours.size()) {
  for (unsigned neighbour : neighbours.drop_back())
    sizes.push_back(search.counts[neighbour]);
  for (double cost : search.problem.getCosts(node))
    sums[0].insert(sums[0].end(), numInner, cost);
  for (const Table *table : search.tablesOf[node]) {
    Term term;
    term.values = table->values;
    unsigned level = 0;
    for (const Axis &axis : table->axes) {
      unsigned place = llvm::find(neighbours, axis.node) - neighbours.begin();
      if (axis.node == node) {
        term.own = &axis;
      } else if (place + 1 == neighbours.size()) {
        term.inner = &axis;
      } else {
        term.outer.push_back({&axis, place});
        level = std::max(level, place + 1);
      }
    }
    if (level == 0)
      add(term, sums[0]);
    else
      terms[level].push_back(std::move(term));
  }
}

void Labeling::Search::Answers::fill(unsigned level,
                                     llvm::ArrayRef<double> before) {
  if (level == sizes.size()) {
    const double *line = before.data();
    for (unsigned c = 0; c < numCandidates; ++c, line += numInner)
      for (unsigned label = 0; label < numInner; ++label)
        out[label] = std::min(out[label], line[label]);
    out += numInner;
    return;
  }
  unsigned &place = places[level];
  std::vector<double> &sum = sums[++level];
  for (place = 0; place < sizes[level - 1]; ++place) {
    if (terms[level].empty()) {
      fill(level, before);
      continue;
    }
    sum.assign(before.begin(), before.end());
    for (const Term &term : terms[level])
      add(term, sum);
    fill(level, sum);
  }
}

void Labeling::Search::Answers::add(const Term &term,
                                    llvm::MutableArrayRef<double> sum) const {
  const double *from = term.values;
  for (auto [axis, neighbour] : term.outer)
    from += axis->getOffset(places[neighbour]);
  double *line = sum.data();
  for (unsigned c = 0; c < numCandidates; ++c, line += numInner) {
    const double *row = from + term.own->getOffset(c);
    if (!term.inner)
      for (unsigned label = 0; label < numInner; ++label)
        line[label] += *row;
    else if (!term.inner->ports && term.inner->stride == 1)
      for (unsigned label = 0; label < numInner; ++label)
        line[label] += row[label];
    else
      for (unsigned label = 0; label < numInner; ++label)
        line[label] += row[term.inner->getOffset(label)];
  }
}

/// Puts one table of a node's best answers beside those that it is in, and
/// takes them from its neighbours.
void Labeling::Search::eliminate(unsigned node,
                                 llvm::SmallVector<unsigned, 4> neighbours) {
  if (neighbours.empty())
    return;
  // Those in the fewest tables innermost: what others say is summed before.
  auto countTables = [&](unsigned neighbour) {
    return llvm::count_if(tablesOf[node], [&](const Table *table) {
      return llvm::any_of(table->axes, [&](const Axis &axis) {
        return axis.node == neighbour;
      });
    });
  };
  llvm::sort(neighbours, [&](unsigned a, unsigned b) {
    return std::make_pair(-countTables(a), a) <
           std::make_pair(-countTables(b), b);
  });
  Table answers;
  size_t size = 1;
  for (unsigned neighbour : llvm::reverse(neighbours)) {
    answers.axes.push_back({neighbour, nullptr, size});
    size *= counts[neighbour];
  }
  std::vector<double> &values = storage.emplace_back(size, kInfinity);
  answers.values = values.data();
  Answers(*this, node, neighbours).fill(values.data());
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
  // The larger the tables, the fewer nodes are kept.
  while (largest > 1 && findOrder().work > budget)
    largest /= 4;
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
    if (trialCost < cost - 1e-12 * std::abs(trialCost)) {
      cost = trialCost;
      labels = std::move(trial);
      idle = 0;
    }
    if (order.isExact)
      return true;
  }
  return false;
}
