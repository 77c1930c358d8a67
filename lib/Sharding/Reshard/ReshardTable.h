// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What it costs to get from any layout of a tensor to any other. Private
/// to the library.
///
/// A search looks at the states around one way. Where nearly every pair of
/// layouts is asked for, the steps from every state are found once, and going
/// backwards from a layout answers for all ways to it. It is the target that
/// says along which axes ways may make values partial. As a search, a table may
/// be of two digit systems, between which a change is free. A table pays off
/// where states are few: kFewStates.
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
  /// For tensors of `shape` in digits of `systems`. `mesh` must outlive it.
  Table(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
        llvm::ArrayRef<DigitSystem> systems);

  /// The number of a layout, none if it is not in whole digits of one system.
  std::optional<unsigned> getNumber(const TensorSharding &layout);
  /// Whether get() has an answer.
  bool knows(unsigned from, unsigned to) const {
    return from < nodes[to].prices.size();
  }
  /// Finds ways from everywhere to the first of `targets`, and to some of the
  /// others along with them, which is not much more work.
  void compute(llvm::ArrayRef<unsigned> targets);
  /// Of the cheapest way that is known, none if there is none of single steps.
  /// Digits are not counted.
  std::optional<Cost> get(unsigned from, unsigned to) const;
  /// The bound on that.
  Cost getBound(unsigned from, unsigned to);
  const LinkModel &getLinks() const { return links; }

private:
  static constexpr unsigned kLanes = 8;
  /// What tells steps apart but for where they lead: of thousands in a table,
  /// some dozens do.
  struct StepKind {
    uint64_t price = 0;
    /// Digits along which it makes values partial: see shift().
    DigitSet partial = 0;
    bool operator==(const StepKind &o) const {
      return price == o.price && partial == o.partial;
    }
  };
  struct Step {
    unsigned from, kind;
  };
  struct Node {
    /// Digits along which ways to it may make values partial: see shift().
    DigitSet wanted;
    /// Of ways to it, by where they begin, if they are known.
    std::vector<uint64_t> prices;
    std::unique_ptr<Bound> bound; ///< On ways to it.
  };

  unsigned getNumber(const State &state);
  unsigned getNumber(const StepKind &kind);
  /// Digits of a system as members of one set of all systems' digits.
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
  unsigned current = 0; ///< The node whose steps are taken; all before it were.
  std::vector<StepKind> kinds;
  llvm::DenseMap<std::pair<uint64_t, DigitSet>, unsigned> kindNumbers;
  /// By where they lead: those to node i from begins[i] to begins[i + 1].
  std::vector<Step> steps;
  std::vector<unsigned> begins = {0};
  std::vector<std::pair<unsigned, Step>> taken; ///< With where they lead.
};

} // namespace tp::reshard

#endif // TPOPT_LIB_SHARDING_RESHARDTABLE_H
