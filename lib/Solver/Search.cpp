// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Search.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

using namespace tp;
using namespace tp::pbqp;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Problem::Search::Search(const Problem &problem, std::vector<unsigned> counts,
                        double budget)
    : problem(problem), budget(budget), counts(std::move(counts)),
      largest(budget), timesKept(problem.nodes.size(), 0) {}

Problem::Search::Search(const Problem &problem, double budget)
    : Search(problem, {}, budget) {
  for (const Node &node : problem.nodes)
    counts.push_back(node.numCandidates);
}

std::optional<std::vector<unsigned>>
Problem::Search::solve(const Problem &problem, double budget) {
  if (problem.getNumEntries() > budget) // each is looked at
    return std::nullopt;
  Search search(problem, budget);
  std::optional<Order> order = findExactOrder(problem, search.counts, budget);
  if (!order)
    return std::nullopt;
  return search.run(*order, std::vector<unsigned>(problem.nodes.size(), 0));
}

std::optional<Problem::Search::Order>
Problem::Search::findExactOrder(const Problem &problem,
                                std::vector<unsigned> counts, double budget) {
  Order order = Search(problem, std::move(counts), budget).findOrder();
  if (!order.isExact)
    return std::nullopt;
  return order;
}

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

/// Where no table is too large the order by fill has mostly less work; what to
/// keep where one is, is a question of work.
Problem::Search::Order Problem::Search::findOrder() const {
  Order order = findOrder(Rule::Fill);
  return order.isExact ? order : findOrder(Rule::Work);
}

Problem::Search::Order Problem::Search::findOrder(Rule rule) const {
  Order order;
  std::vector<llvm::SmallVector<unsigned, 8>> neighbours(problem.nodes.size());
  auto connect = [&](unsigned a, unsigned b) {
    if (llvm::is_contained(neighbours[a], b))
      return false;
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
    return true;
  };
  for (const Edge &edge : problem.edges)
    if (counts[edge.nodes[0]] > 1 && counts[edge.nodes[1]] > 1)
      connect(edge.nodes[0], edge.nodes[1]);

  // Scored by what would be new between its neighbours, or by its table.
  auto getWork = [&](unsigned node) {
    double work = counts[node];
    for (unsigned neighbour : neighbours[node])
      work *= counts[neighbour];
    return work;
  };
  auto getScore = [&](unsigned node) {
    double fill = 0, work = getWork(node);
    llvm::ArrayRef<unsigned> around = neighbours[node];
    if (rule == Rule::Fill && work > largest)
      fill = kInfinity; // who has many neighbours is not worth a look
    else if (rule == Rule::Fill)
      for (auto [i, a] : llvm::enumerate(around))
        for (unsigned b : around.drop_front(i + 1))
          if (!llvm::is_contained(neighbours[a], b))
            fill += double(counts[a]) * counts[b];
    return std::make_pair(fill, work);
  };
  using Score = std::pair<double, double>;
  using Entry = std::pair<Score, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  constexpr Score kGone = {-1, -1};
  std::vector<Score> scores(problem.nodes.size(), kGone);
  auto enqueue = [&](unsigned node) {
    scores[node] = getScore(node);
    queue.push({scores[node], node});
  };
  // Who has no choice comes between no others.
  for (unsigned node = 0; node < problem.nodes.size(); ++node)
    if (counts[node] > 1)
      enqueue(node);
    else
      order.steps.push_back({node, /*isKept=*/true, {}});
  while (!queue.empty()) {
    auto [score, node] = queue.top();
    queue.pop();
    if (score != scores[node])
      continue; // it is elsewhere in the queue, or gone
    double work = score.second;
    bool isKept = work > largest;
    if (isKept) {
      order.isExact = false;
      if (rule == Rule::Fill)
        return order;
      // One of those here: seldom kept, with many candidates.
      for (unsigned other : neighbours[node])
        if (std::make_pair(timesKept[other], counts[node]) <
            std::make_pair(timesKept[node], counts[other]))
          node = other;
    } else {
      order.work += work;
      if (order.work > budget) {
        order.isExact = false;
        return order;
      }
    }
    scores[node] = kGone;
    order.steps.push_back(
        {node, isKept, {neighbours[node].begin(), neighbours[node].end()}});
    llvm::ArrayRef<unsigned> around = order.steps.back().neighbours;
    for (unsigned other : around)
      llvm::erase(neighbours[other], node);
    // What is beside both ends of a new pair lacks one pair less.
    llvm::SmallSetVector<unsigned, 16> changed(around.begin(), around.end());
    if (!isKept)
      for (auto [i, a] : llvm::enumerate(around))
        for (unsigned b : around.drop_front(i + 1))
          if (connect(a, b) && rule == Rule::Fill)
            for (unsigned other : neighbours[a])
              if (llvm::is_contained(neighbours[b], other))
                changed.insert(other);
    for (unsigned other : changed)
      enqueue(other);
  }
  return order;
}

//===----------------------------------------------------------------------===//
// A round
//===----------------------------------------------------------------------===//

void Problem::Search::start() {
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

void Problem::Search::keep(unsigned node, unsigned label) {
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
/// for every place of the others. The innermost ones are taken together, as one
/// line long enough to be worth a loop.
class Problem::Search::Answers {
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
    const Axis *own = nullptr;
    /// Where in the table each place of a line is; empty if all are the same.
    std::vector<uint32_t> line;
    bool isPlain; ///< The line is 0, 1, 2, ..
    /// Axes of outer neighbours, and which these are.
    llvm::SmallVector<std::pair<const Axis *, unsigned>, 4> outer;
  };
  void fill(unsigned level, llvm::ArrayRef<double> before);
  void add(const Term &term, llvm::ArrayRef<double> before,
           llvm::MutableArrayRef<double> sum) const;

  unsigned numCandidates, lineSize = 1;
  llvm::SmallVector<unsigned> sizes, places; ///< Of the outer neighbours.
  // By level, which is how many outer neighbours have their place: what each
  // candidate costs beside each place of a line.
  std::vector<std::vector<Term>> terms;
  std::vector<std::vector<double>> sums;
  double *out = nullptr;
};

Problem::Search::Answers::Answers(const Search &search, unsigned node,
                                  llvm::ArrayRef<unsigned> neighbours)
    : numCandidates(search.counts[node]) {
  constexpr unsigned kLongEnough = 32;
  size_t numOuter = neighbours.size();
  while (numOuter > 0 && lineSize < kLongEnough)
    lineSize *= search.counts[neighbours[--numOuter]];
  for (unsigned neighbour : neighbours.take_front(numOuter))
    sizes.push_back(search.counts[neighbour]);
  places.assign(numOuter, 0);
  terms.resize(numOuter + 1);
  sums.resize(numOuter + 1);
  for (double cost : search.problem.getCosts(node))
    sums[0].insert(sums[0].end(), lineSize, cost);
  for (const Table *table : search.tablesOf[node]) {
    Term term;
    term.values = table->values;
    unsigned level = 0;
    llvm::SmallVector<const Axis *> inner(neighbours.size(), nullptr);
    for (const Axis &axis : table->axes) {
      unsigned place = llvm::find(neighbours, axis.node) - neighbours.begin();
      if (axis.node == node) {
        term.own = &axis;
      } else if (place >= numOuter) {
        inner[place] = &axis;
      } else {
        term.outer.push_back({&axis, place});
        level = std::max(level, place + 1);
      }
    }
    if (llvm::any_of(inner, [](const Axis *axis) { return axis; })) {
      term.line.push_back(0);
      for (size_t i = numOuter; i < neighbours.size(); ++i) {
        std::vector<uint32_t> longer;
        longer.reserve(lineSize);
        for (uint32_t offset : term.line)
          for (unsigned c = 0; c < search.counts[neighbours[i]]; ++c)
            longer.push_back(offset + (inner[i] ? inner[i]->getOffset(c) : 0));
        term.line = std::move(longer);
      }
    }
    term.isPlain = !term.line.empty();
    for (auto [i, offset] : llvm::enumerate(term.line))
      term.isPlain &= offset == i;
    if (level == 0)
      add(term, sums[0], sums[0]);
    else
      terms[level].push_back(std::move(term));
  }
  for (unsigned level = 1; level <= numOuter; ++level)
    if (!terms[level].empty())
      sums[level].resize(sums[0].size());
}

void Problem::Search::Answers::fill(unsigned level,
                                    llvm::ArrayRef<double> before) {
  if (level == sizes.size()) {
    const double *line = before.data();
    for (unsigned c = 0; c < numCandidates; ++c, line += lineSize)
      for (unsigned i = 0; i < lineSize; ++i)
        out[i] = std::min(out[i], line[i]);
    out += lineSize;
    return;
  }
  unsigned &place = places[level];
  std::vector<double> &sum = sums[++level];
  for (place = 0; place < sizes[level - 1]; ++place) {
    llvm::ArrayRef<double> soFar = before;
    for (const Term &term : terms[level]) {
      add(term, soFar, sum);
      soFar = sum;
    }
    fill(level, soFar);
  }
}

void Problem::Search::Answers::add(const Term &term,
                                   llvm::ArrayRef<double> before,
                                   llvm::MutableArrayRef<double> sum) const {
  const double *table = term.values;
  for (auto [axis, neighbour] : term.outer)
    table += axis->getOffset(places[neighbour]);
  const double *from = before.data();
  double *to = sum.data();
  for (unsigned c = 0; c < numCandidates; ++c) {
    const double *row = table + term.own->getOffset(c);
    if (term.line.empty())
      for (unsigned i = 0; i < lineSize; ++i)
        to[i] = from[i] + *row;
    else if (term.isPlain)
      for (unsigned i = 0; i < lineSize; ++i)
        to[i] = from[i] + row[i];
    else
      for (unsigned i = 0; i < lineSize; ++i)
        to[i] = from[i] + row[term.line[i]];
    from += lineSize;
    to += lineSize;
  }
}

/// Puts one table of a node's best answers beside those that it is in, and
/// takes them from its neighbours.
void Problem::Search::eliminate(unsigned node,
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
void Problem::Search::decide(const Order &order,
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

std::vector<unsigned> Problem::Search::run(const Order &order,
                                           llvm::ArrayRef<unsigned> labels) {
  start();
  for (const Order::Step &step : order.steps)
    if (step.isKept)
      keep(step.node, labels[step.node]);
    else
      eliminate(step.node, step.neighbours);
  std::vector<unsigned> found = labels.vec();
  decide(order, found);
  return found;
}

bool Problem::Search::improve(std::vector<unsigned> &labels) {
  // The larger the tables, the fewer nodes are kept.
  while (largest > 1 && findOrder().work > budget)
    largest /= 4;
  constexpr unsigned kPatience = 2;
  double cost = problem.evaluate(labels);
  for (unsigned idle = 0; idle < kPatience; ++idle) {
    Order order = findOrder();
    std::vector<unsigned> trial = run(order, labels);
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
