// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What it costs to get from any layout of a tensor to any other. Private
/// to the library.
///
/// A search looks at the states around one way. Where nearly every pair of
/// layouts is asked for, the steps from every state are found once, and one run
/// of Dijkstra's algorithm, backwards, answers for all ways to a layout. It is
/// the target that says along which axes ways may make values partial.

#ifndef TPOPT_LIB_SHARDING_RESHARDTABLE_H
#define TPOPT_LIB_SHARDING_RESHARDTABLE_H

#include "ReshardExpansion.h"

#include <memory>
#include <unordered_map>

namespace tp::reshard {

/// Steps and costs are worked out when first asked for.
class Table : Expansion {
public:
  /// For tensors of `shape` in digits of `system`. `mesh` must outlive it.
  Table(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
        const DigitSystem &system);

  /// How many states a table has, at most the largest number.
  static uint64_t count(size_t digits, size_t dims);

  /// The number of a layout, none if it is not in whole digits.
  std::optional<unsigned> getNumber(const TensorSharding &layout);
  /// Of the cheapest way, none if there is none of single steps.
  std::optional<Cost> get(unsigned from, unsigned to);
  /// The bound on that.
  Cost getBound(unsigned from, unsigned to);
  const LinkModel &getLinks() const { return links; }

private:
  struct Edge {
    unsigned from;
    /// Digits along which it makes values partial.
    DigitSet partial;
    Cost cost;
  };
  struct Node {
    const State *state;      ///< In `numbers`.
    std::vector<Edge> edges; ///< To it.
    /// What ways to it cost, by where they begin, if that is known.
    std::vector<std::optional<Cost>> costs;
    std::unique_ptr<Bound> bound; ///< On ways to it.
  };

  unsigned getNumber(const State &state);
  void take(const State &next, CollectiveKind kind, DigitSet axes,
            const Cost &cost) override;
  bool mayHelp(const Cost &) const override { return true; }
  bool isSpent() override { return false; }
  void expandAll();
  std::vector<std::optional<Cost>> computeCosts(unsigned to);

  const Mesh &mesh;
  llvm::SmallVector<int64_t, 4> shape;
  DigitSystem system;
  LinkModel links;
  StateSpace space;
  std::unordered_map<State, unsigned, StateHash> numbers;
  std::vector<Node> nodes;
  unsigned current = 0; ///< The node whose steps are taken; all before it were.
};

} // namespace tp::reshard

#endif // TPOPT_LIB_SHARDING_RESHARDTABLE_H
