// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Order.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
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
    tails[i] = std::max(tails[i], node.preparation + node.seconds + behind);
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
    return tails[i] - graph.nodes[i].seconds - graph.nodes[i].preparation;
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
    least[i] = graph.nodes[i].preparation + graph.nodes[i].seconds + behind;
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
        tails(getTails(graph, users)), memory(graph),
        carried(getNumLinks(graph)), waitsFor(graph.nodes.size()),
        isRun(graph.nodes.size()) {
    for (auto [i, node] : llvm::enumerate(graph.nodes)) {
      waitsFor[i] = node.after.size();
      if (node.after.empty())
        makeReady(i);
    }
  }

  /// Returns the steps in the order in which the device runs them.
  std::vector<unsigned> run() {
    while (oldest < graph.nodes.size()) {
      advanceLinks();
      if (std::optional<unsigned> step = choose())
        runStep(*step);
      else if (oldest < graph.nodes.size())
        time = std::max(time, getNextArrival()); // the device is idle
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

  void finish(unsigned i) {
    isRun[i] = true;
    while (oldest < isRun.size() && isRun[oldest])
      ++oldest;
    for (unsigned user : users[i])
      if (--waitsFor[user] == 0)
        makeReady(user);
  }

  /// Finishes the transfers that have arrived by now, and starts those whose
  /// links are free.
  void advanceLinks() {
    do {
      for (std::optional<Carried> &link : carried)
        if (link && link->arrival <= time)
          finishTransfer(link->transfer);
    } while (startTransfer());
  }

  void finishTransfer(unsigned i) {
    for (unsigned link : graph.nodes[i].links)
      carried[link].reset();
    finish(i);
  }

  /// Starts the first transfer whose links are free. A transfer with a longer
  /// tail that waits for one of them keeps it free. Returns false if there is
  /// none.
  bool startTransfer() {
    std::vector<bool> isTaken;
    for (const std::optional<Carried> &link : carried)
      isTaken.push_back(link.has_value());
    for (unsigned i : transfers) {
      const Node &node = graph.nodes[i];
      if (llvm::none_of(node.links,
                        [&](unsigned link) { return isTaken[link]; })) {
        transfers.erase(i);
        time += node.preparation;
        for (unsigned link : node.links)
          carried[link] = {i, time + node.seconds};
        return true;
      }
      for (unsigned link : node.links)
        isTaken[link] = true;
      if (llvm::all_of(isTaken, [](bool taken) { return taken; }))
        return false;
    }
    return false;
  }

  double getNextArrival() const {
    double next = std::numeric_limits<double>::infinity();
    for (const std::optional<Carried> &link : carried)
      if (link)
        next = std::min(next, link->arrival);
    return next;
  }

  std::optional<unsigned> choose() const {
    for (unsigned step : steps)
      if (step == oldest ||
          (step < oldest + window && memory.getBytesWith(step) <= limit))
        return step;
    // A step beyond the limits runs only if no step is within the limits and no
    // transfer is on a link.
    if (llvm::any_of(carried, [](auto &link) { return link.has_value(); }) ||
        steps.empty())
      return std::nullopt;
    return *llvm::min_element(steps);
  }

  void runStep(unsigned step) {
    steps.erase(step);
    memory.run(step);
    time += graph.nodes[step].seconds;
    order.push_back(step);
    finish(step);
  }

  const Graph &graph;
  const unsigned window;
  const int64_t limit;
  const std::vector<llvm::SmallVector<unsigned, 4>> users;
  const std::vector<double> tails;
  Memory memory;
  /// A transfer on a link, and when it arrives.
  struct Carried {
    unsigned transfer;
    double arrival;
  };
  std::vector<std::optional<Carried>> carried; ///< Indexed by link.
  std::vector<unsigned> waitsFor; ///< The nodes in `after` that are not done.
  std::vector<bool> isRun;
  unsigned oldest = 0; ///< The first node in program order that is not done.
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
