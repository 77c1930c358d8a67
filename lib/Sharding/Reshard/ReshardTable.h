// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The costs of getting from any layout of a tensor to any other. Private
/// to the library.
///
/// A search looks at the states around one path. If nearly every pair of
/// layouts is needed, it is better to find the steps from every state once:
/// going backwards from a layout then gives the costs of all paths to it. The
/// target determines along which axes values may become partial. Like a search,
/// a table may have two digit systems, with free changes between them. A table
/// pays off if there are at most kFewStates states.
///
///     Table table(mesh, {8, 8}, 4, {x, y});
///     unsigned from = *table.getNumber(..), to = *table.getNumber(..);
///     if (!table.knows(from, to))
///       table.compute({to});
///     table.get(from, to);

#ifndef TPOPT_LIB_SHARDING_RESHARDTABLE_H
#define TPOPT_LIB_SHARDING_RESHARDTABLE_H

#include "ReshardExpansion.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>

namespace tp::reshard {

class Table : Expansion {
public:
  /// A table for layouts of tensors of `shape`, in the digits of `systems`.
  /// `mesh` must outlive the table.
  Table(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
        llvm::ArrayRef<DigitSystem> systems);

  /// The number of a layout, or nullopt if the layout is not in whole digits of
  /// one system.
  std::optional<unsigned> getNumber(const TensorSharding &layout);
  /// Returns true if get() has an answer.
  bool knows(unsigned from, unsigned to) const {
    return from < nodes[to].prices.size();
  }
  /// Finds paths from all layouts to the first of `targets`, and to other
  /// targets where this takes little more work.
  void compute(llvm::ArrayRef<unsigned> targets);
  /// The cost of the cheapest path, or nullopt if there is none. `Cost::digits`
  /// is left at 0.
  std::optional<Cost> get(unsigned from, unsigned to) const;
  /// A lower bound on the result of get().
  Cost getBound(unsigned from, unsigned to);
  const LinkModel &getLinks() const { return links; }

private:
  static constexpr unsigned kLanes = 8;
  /// The properties of a step other than its two ends. Thousands of steps in a
  /// table share a few dozen kinds.
  struct StepKind {
    uint64_t price = 0;
    /// Digits along which the step makes values partial: see shift().
    DigitSet partial = 0;
    bool operator==(const StepKind &o) const {
      return price == o.price && partial == o.partial;
    }
  };
  struct Step {
    unsigned from, kind;
  };
  struct Node {
    /// Digits along which paths to this node may make values partial: see
    /// shift().
    DigitSet wanted;
    /// Prices of paths to this node, indexed by the node at which they start.
    /// Empty if not known.
    std::vector<uint64_t> prices;
    std::unique_ptr<Bound> bound; ///< Bounds the cost of paths to this node.
  };

  unsigned getNumber(const State &state);
  unsigned getNumber(const StepKind &kind);
  /// Converts a set of digits of one system to a set over the digits of all
  /// systems. The digits of the second system are numbered after those of the
  /// first.
  DigitSet shift(DigitSet digits, unsigned system) const;
  void changeSystem(const State &state);
  void take(const State &next, CollectiveKind kind, DigitSet axes,
            const Cost &cost) override;
  bool mayHelp(const Cost &) const override { return true; }
  bool isSpent() override { return false; }
  void allowPartial();
  void expandAll();
  void sortTaken();
  void computePrices(llvm::ArrayRef<unsigned> targets);

  const Mesh &mesh;
  llvm::SmallVector<int64_t, 4> shape;
  llvm::SmallVector<DigitSystem, 2> systems;
  LinkModel links;
  StateSpace space;
  StateNumbers numbers;
  std::vector<Node> nodes;
  unsigned current = 0; ///< The node whose steps are being found.
  std::vector<StepKind> kinds;
  llvm::DenseMap<std::pair<uint64_t, DigitSet>, unsigned> kindNumbers;
  /// Sorted by target node: steps[begins[i]] to steps[begins[i + 1] - 1] lead
  /// to node i.
  std::vector<Step> steps;
  std::vector<unsigned> begins = {0};
  std::vector<std::pair<unsigned, Step>> taken; ///< Paired with their targets.
};

} // namespace tp::reshard

#endif // TPOPT_LIB_SHARDING_RESHARDTABLE_H
