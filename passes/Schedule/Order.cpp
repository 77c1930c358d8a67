// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Order.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>
#include <set>

using namespace tp;
using namespace tp::schedule;

static unsigned getNumLinks(const Graph &graph) {
  unsigned count = 0;
  for (const Node &node : graph.nodes)
    for (unsigned link : node.links)
      count = std::max(count, link + 1);
  return count;
}

static std::vector<llvm::SmallVector<unsigned, 4>>
getUsers(const Graph &graph) {
  std::vector<llvm::SmallVector<unsigned, 4>> users(graph.nodes.size());
  for (auto [i, node] : llvm::enumerate(graph.nodes))
    for (unsigned before : node.after)
      users[before].push_back(i);
  return users;
}

/// Returns the tail of each node: the seconds from the start of the node to the
/// end of the longest chain of nodes that depend on it. The tail of node i is
/// at least `least[i]`.
static std::vector<double>
getTails(const Graph &graph,
         llvm::ArrayRef<llvm::SmallVector<unsigned, 4>> users,
         llvm::ArrayRef<double> least) {
  std::vector<double> tails(least.begin(), least.end());
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    double behind = 0;
    for (unsigned user : users[i])
      behind = std::max(behind, tails[user]);
    const Node &node = graph.nodes[i];
    tails[i] = std::max(tails[i], node.seconds + behind);
  }
  return tails;
}

/// Returns the tails of nodes, given that the link carries one transfer at a
/// time. The link carries the transfers with longer tails first. The tail of a
/// transfer lasts at least until the link has carried all transfers with
/// shorter tails.
static std::vector<double>
getTails(const Graph &graph,
         llvm::ArrayRef<llvm::SmallVector<unsigned, 4>> users) {
  std::vector<double> least(graph.nodes.size());
  std::vector<double> tails = getTails(graph, users, least);
  llvm::SmallVector<unsigned> transfers;
  for (auto [i, node] : llvm::enumerate(graph.nodes))
    if (node.isTransfer())
      transfers.push_back(i);
  auto getBehind = [&](unsigned i) {
    return tails[i] - graph.nodes[i].seconds;
  };
  llvm::sort(transfers, [&](unsigned a, unsigned b) {
    return std::pair(getBehind(a), a) < std::pair(getBehind(b), b);
  });
  std::vector<double> linkTails(getNumLinks(graph));
  for (unsigned i : transfers) {
    double behind = getBehind(i);
    for (unsigned link : graph.nodes[i].links)
      behind = std::max(behind, linkTails[link]);
    for (unsigned link : graph.nodes[i].links)
      linkTails[link] = behind + graph.nodes[i].seconds;
    least[i] = graph.nodes[i].seconds + behind;
  }
  return getTails(graph, users, least);
}

namespace {

/// Counts the bytes of buffers in use.
class Memory {
public:
  explicit Memory(const Graph &graph)
      : graph(graph), usesLeft(graph.bytes.size()), isLive(usesLeft.size()) {
    for (const Node &node : graph.nodes)
      for (unsigned buffer : node.buffers)
        ++usesLeft[buffer];
  }

  /// Returns the bytes of buffers that are in use while `node` runs.
  int64_t getBytesWith(unsigned node) const {
    int64_t bytes = live;
    for (unsigned buffer : graph.nodes[node].buffers)
      if (!isLive[buffer])
        bytes += graph.bytes[buffer];
    return bytes;
  }

  void run(unsigned node) {
    live = getBytesWith(node);
    for (unsigned buffer : graph.nodes[node].buffers) {
      isLive[buffer] = --usesLeft[buffer] > 0;
      if (!isLive[buffer])
        live -= graph.bytes[buffer];
    }
  }

private:
  const Graph &graph;
  std::vector<unsigned> usesLeft;
  std::vector<bool> isLive;
  int64_t live = 0;
};

/// Simulates a device that runs the steps once, in the order that it chooses,
/// and links that carry each transfer as soon as they can.
class ListScheduler {
public:
  ListScheduler(const Graph &graph, unsigned window, int64_t limit)
      : graph(graph), window(window), limit(limit), users(getUsers(graph)),
        tails(getTails(graph, users)), memory(graph), free(getNumLinks(graph)),
        waitsFor(graph.nodes.size()), isRun(graph.nodes.size()) {
    for (auto [i, node] : llvm::enumerate(graph.nodes)) {
      numSteps += !node.isTransfer();
      waitsFor[i] = node.after.size();
      if (node.after.empty())
        makeReady(i);
    }
    findOldest();
  }

  /// Returns the steps in the order in which the device runs them.
  std::vector<unsigned> run() {
    while (order.size() < numSteps) {
      finishArrived();
      std::optional<unsigned> step = choose();
      startTransfers(step ? graph.nodes[*step].seconds : 0);
      if (step)
        runStep(*step);
      else // the device is idle
        time = std::max(time, underWay.begin()->first);
    }
    return std::move(order);
  }

private:
  /// Ready nodes, those with the longest tails first.
  struct ByTail {
    const std::vector<double> &tails;
    bool operator()(unsigned a, unsigned b) const {
      return std::pair(-tails[a], a) < std::pair(-tails[b], b);
    }
  };
  using Ready = std::set<unsigned, ByTail>;

  void makeReady(unsigned i) {
    (graph.nodes[i].isTransfer() ? transfers : steps).insert(i);
  }

  void findOldest() {
    while (oldest < isRun.size() &&
           (isRun[oldest] || graph.nodes[oldest].isTransfer()))
      ++oldest;
  }

  void finish(unsigned i) {
    for (unsigned user : users[i])
      if (--waitsFor[user] == 0)
        makeReady(user);
  }

  void finishArrived() {
    while (!underWay.empty() && underWay.begin()->first <= time) {
      unsigned transfer = underWay.begin()->second;
      underWay.erase(underWay.begin());
      finish(transfer);
    }
  }

  /// Starts the transfers whose links are free within the next `ahead` seconds,
  /// those with the longest tails first. A transfer that waits for a link keeps
  /// it free of those with shorter tails.
  void startTransfers(double ahead) {
    std::vector<bool> isTaken(free.size());
    for (auto it = transfers.begin();
         it != transfers.end() &&
         !llvm::all_of(isTaken, [](bool is) { return is; });) {
      const Node &node = graph.nodes[*it];
      double begin = time;
      for (unsigned link : node.links)
        begin = std::max(begin, free[link]);
      bool waits = begin > time + ahead ||
                   llvm::any_of(node.links,
                                [&](unsigned link) { return isTaken[link]; });
      for (unsigned link : node.links)
        if (waits)
          isTaken[link] = true;
        else
          free[link] = begin + node.seconds;
      if (waits) {
        ++it;
        continue;
      }
      underWay.insert({begin + node.seconds, *it});
      memory.run(*it);
      it = transfers.erase(it);
    }
  }

  std::optional<unsigned> choose() const {
    for (unsigned step : steps) {
      if (step == oldest)
        return step;
      if (step < oldest + window && memory.getBytesWith(step) <= limit)
        return step;
    }
    // A step beyond the limits runs only if no step is within the limits and no
    // transfer is under way or can start.
    if (!underWay.empty() || !transfers.empty() || steps.empty())
      return std::nullopt;
    return *llvm::min_element(steps);
  }

  void runStep(unsigned step) {
    steps.erase(step);
    memory.run(step);
    time += graph.nodes[step].seconds;
    order.push_back(step);
    isRun[step] = true;
    findOldest();
    finish(step);
  }

  const Graph &graph;
  const unsigned window;
  const int64_t limit;
  const std::vector<llvm::SmallVector<unsigned, 4>> users;
  const std::vector<double> tails;
  Memory memory;
  std::vector<double> free;                       ///< When each link is free.
  std::set<std::pair<double, unsigned>> underWay; ///< Transfers by arrival.
  std::vector<unsigned> waitsFor; ///< The nodes in `after` that are not done.
  std::vector<bool> isRun;        ///< Steps that have run.
  size_t numSteps = 0;
  unsigned oldest = 0; ///< The first step in program order that has not run.
  Ready steps{ByTail{tails}}, transfers{ByTail{tails}};
  double time = 0;
  std::vector<unsigned> order;
};

/// Inserts the transfers between the reordered steps.
class TransferPlacer {
public:
  TransferPlacer(const Graph &graph, llvm::ArrayRef<unsigned> steps)
      : graph(graph), steps(steps), earliest(graph.nodes.size()),
        latest(graph.nodes.size(), steps.size()), wanted(latest) {
    for (auto [place, step] : llvm::enumerate(steps)) {
      earliest[step] = place + 1;
      latest[step] = wanted[step] = place;
    }
  }

  std::vector<unsigned> run() {
    const std::vector<Node> &nodes = graph.nodes;
    for (size_t i = nodes.size(); i-- > 0;) {
      if (nodes[i].isTransfer())
        wanted[i] = getWanted(i);
      for (unsigned before : nodes[i].after)
        if (nodes[before].isTransfer())
          latest[before] = std::min(latest[before], latest[i]);
    }
    std::vector<llvm::SmallVector<unsigned, 2>> at(steps.size() + 1);
    for (auto [i, node] : llvm::enumerate(nodes)) {
      if (!node.isTransfer())
        continue;
      for (unsigned before : node.after)
        earliest[i] = std::max(earliest[i], earliest[before]);
      earliest[i] = std::max(earliest[i], std::min(wanted[i], latest[i]));
      at[earliest[i]].push_back(i);
    }
    std::vector<unsigned> order;
    for (size_t place = 0; place <= steps.size(); ++place) {
      llvm::append_range(order, at[place]);
      if (place < steps.size())
        order.push_back(steps[place]);
    }
    return order;
  }

private:
  /// Returns the place that transfer `i` should have. If the transfer directly
  /// follows, in program order, a node that it depends on, this is the earliest
  /// place. Otherwise it is the place of the node that follows the transfer.
  unsigned getWanted(unsigned i) const {
    if (i > 0 && llvm::is_contained(graph.nodes[i].after, i - 1))
      return 0;
    return i + 1 < graph.nodes.size() ? wanted[i + 1] : steps.size();
  }

  const Graph &graph;
  llvm::ArrayRef<unsigned> steps;
  /// Three places for each node. Place p is the point in the order right after
  /// the first p steps. For a step, `earliest` is the place right after that
  /// step.
  std::vector<unsigned> earliest, latest, wanted;
};

} // namespace

std::vector<unsigned> schedule::findOrder(const Graph &graph, unsigned window,
                                          int64_t limit) {
  std::vector<unsigned> steps = ListScheduler(graph, window, limit).run();
  return TransferPlacer(graph, steps).run();
}

int64_t schedule::getPeakBytes(const Graph &graph,
                               llvm::ArrayRef<unsigned> order) {
  Memory memory(graph);
  int64_t peak = 0;
  for (unsigned node : order) {
    peak = std::max(peak, memory.getBytesWith(node));
    memory.run(node);
  }
  return peak;
}
