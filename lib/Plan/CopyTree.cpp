// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CopyTree.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace tp::plan;

namespace {

class Tree {
public:
  Tree(unsigned count, unsigned required,
       llvm::function_ref<double(unsigned, unsigned)> getCost)
      : count(count), required(required), getCost(getCost), parents(count, 0) {}

  llvm::SmallVector<unsigned, 4> run() {
    grow();
    improve();
    bool dropped = false;
    for (unsigned node = required + 1; node < count; ++node)
      dropped |= drop(node);
    if (dropped)
      improve();
    if (count <= kFew)
      search();
    return std::move(parents);
  }

private:
  /// Always adds the copy that is cheapest to make from a layout made so far,
  /// so that a gather can start from a reduce-scattered sum.
  void grow() {
    llvm::SmallVector<unsigned, 4> made{0};
    while (made.size() < count) {
      double best = std::numeric_limits<double>::infinity();
      unsigned from = 0, next = 0;
      for (unsigned copy : made)
        for (unsigned to = 1; to < count; ++to)
          if (!llvm::is_contained(made, to) && getCost(copy, to) < best) {
            best = getCost(copy, to);
            from = copy;
            next = to;
          }
      parents[next] = from;
      made.push_back(next);
    }
  }

  /// Changes the source of a copy where that is cheaper. The new source may be
  /// a copy that was added later.
  void improve() {
    for (bool isBetter = true; isBetter;) {
      isBetter = false;
      for (unsigned to = 1; to < count; ++to)
        for (unsigned from = 0; from < count; ++from)
          if (parents[to] != kUnused && parents[from] != kUnused &&
              !comesFrom(from, to) &&
              getCost(from, to) < getCost(parents[to], to)) {
            parents[to] = from;
            isBetter = true;
          }
    }
  }

  bool comesFrom(unsigned copy, unsigned origin) const {
    while (copy != 0 && copy != origin)
      copy = parents[copy];
    return copy == origin;
  }

  /// Tries all trees.
  void search() {
    llvm::SmallVector<unsigned, 4> best = parents;
    double least = getSum();
    parents.assign(count, 0);
    auto visit = [&](auto &&self, unsigned node) -> void {
      if (node == count) {
        if (double sum = getSum(); sum < least) {
          least = sum;
          best = parents;
        }
        return;
      }
      for (unsigned parent = 0; parent < count; ++parent) {
        parents[node] = parent;
        if (parent != node)
          self(self, node + 1);
      }
      parents[node] = kUnused;
      if (node > required)
        self(self, node + 1);
    };
    visit(visit, 1);
    parents = std::move(best);
  }

  /// The cost of the tree; infinite if the parents do not form a tree.
  double getSum() const {
    double sum = 0;
    for (unsigned node = 1; node < count; ++node) {
      if (parents[node] == kUnused)
        continue;
      unsigned steps = 0;
      for (unsigned at = node; at != 0; at = parents[at])
        if (parents[at] == kUnused || ++steps > count)
          return std::numeric_limits<double>::infinity();
      sum += getCost(parents[node], node);
    }
    return sum;
  }

  /// Removes the layout `node`, which is optional, unless that raises the cost.
  bool drop(unsigned node) {
    unsigned parent = parents[node];
    double with = getCost(parent, node), without = 0;
    for (unsigned child = 1; child < count; ++child)
      if (parents[child] == node) {
        with += getCost(node, child);
        without += getCost(parent, child);
      }
    if (without > with)
      return false;
    for (unsigned &other : parents)
      if (other == node)
        other = parent;
    parents[node] = kUnused;
    return true;
  }

  /// All trees are tried if there are at most this many layouts: the existing
  /// one and three copies, with at most 64 trees.
  static constexpr unsigned kFew = 4;
  unsigned count, required;
  llvm::function_ref<double(unsigned, unsigned)> getCost;
  llvm::SmallVector<unsigned, 4> parents;
};

} // namespace

llvm::SmallVector<unsigned, 4>
tp::plan::growCopies(unsigned count, unsigned required,
                     llvm::function_ref<double(unsigned, unsigned)> getCost) {
  return Tree(count, required, getCost).run();
}
