// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The cost of the program for a selection, kept up to date as options change.

#ifndef TPOPT_PLAN_PLANPRICE_H
#define TPOPT_PLAN_PLANPRICE_H

#include "Copies.h"
#include "PeakTree.h"

namespace tp::plan {

class PlanPrice {
public:
  /// `space` and `graph` must outlive this object.
  PlanPrice(SearchSpace &space, const PlanGraph &graph, Selection selection);

  /// Selects an option for a choice. The time grows with the number of uses of
  /// the choice's values, and with the logarithm of the size of the program.
  void select(unsigned choice, unsigned option);
  const Selection &getSelection() const { return selection; }
  /// Replaces the cuts of a value's uses, and makes the value's copies anew.
  void setCuts(unsigned value, Cuts cuts);
  const Cuts &getCuts(unsigned value) const { return parts[value].cuts; }

  /// The price of the ops and the reshards, each times the number of its runs.
  const cost::Price &getPrice() const { return prices.getSum(); }
  /// Bytes that arguments keep from one call to the next.
  int64_t getPersistentBytes() const { return persistent; }
  /// The peak memory of all values that are not persistent, in bytes. It may
  /// exceed the peak of the program if several reshards are made before one op.
  int64_t getPeakBytes() const { return held.getMax(); }
  /// The bytes that a device must have: persistent bytes plus the peak.
  int64_t getHeldBytes() const { return persistent + held.getMax(); }
  /// The first moment at which the most memory is held.
  unsigned getPeakMoment() const { return held.getMaxPlace(); }
  /// The bytes held at a moment, not counting persistent ones.
  int64_t getBytesAt(unsigned moment) const { return held.get(moment); }

  /// Storage of a value or of a copy of it, from one moment to another.
  struct Held {
    int64_t bytes;
    unsigned begin, end;
  };
  llvm::ArrayRef<Held> getHeld(unsigned value) const {
    return parts[value].held;
  }
  /// Returns the value and its copies. The value must be its own origin, and
  /// must not enter or leave a manual region.
  llvm::SmallVector<Copy, 2> getCopies(unsigned value) const {
    return plan::getCopies(space, graph, value, *parts[value].prices, selection,
                           parts[value].cuts);
  }

private:
  /// What one value contributes to the price and to the held memory.
  struct Part {
    std::optional<cost::ReshardPrices> prices; ///< None if it adds nothing.
    Cuts cuts;
    int64_t persistent = 0;
    llvm::SmallVector<Held, 2> held;
  };

  /// The origin whose storage a value overwrites, and the use of that origin by
  /// the op that overwrites it.
  struct Target {
    unsigned value;
    Port use;
  };

  void findTargets();
  /// Returns true if memory is held for the value itself. A value that is
  /// written into the storage of another value needs no memory of its own,
  /// unless it is written into a copy of the other value.
  bool holdsMemory(unsigned value) const;
  void priceChoice(unsigned choice);
  void priceValue(unsigned value);

  SearchSpace &space;
  const PlanGraph &graph;
  Selection selection;
  std::vector<llvm::SmallVector<unsigned, 4>> valuesOf; ///< Indexed by choice.
  std::vector<int64_t> scratch;                         ///< Indexed by choice.
  std::vector<Part> parts;                              ///< Indexed by value.
  std::vector<std::optional<Target>> targets;           ///< Indexed by value.
  SumTree<cost::Price> prices; ///< Prices of choices, then those of values.
  PeakTree held;               ///< Indexed by moment.
  int64_t persistent = 0;
};

} // namespace tp::plan

#endif // TPOPT_PLAN_PLANPRICE_H
