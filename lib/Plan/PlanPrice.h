// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the program of a selection costs, kept up to date as options change.

#ifndef TPOPT_PLAN_PLANPRICE_H
#define TPOPT_PLAN_PLANPRICE_H

#include "Copies.h"
#include "PeakTree.h"

namespace tp::plan {

class PlanPrice {
public:
  /// Space and graph must outlive it.
  PlanPrice(SearchSpace &space, const PlanGraph &graph, Selection selection);

  /// Takes another option for a choice. Time grows with the uses of the values
  /// of the choice, and with the logarithm of the size of the program.
  void select(unsigned choice, unsigned option);
  const Selection &getSelection() const { return selection; }

  /// Of the ops and the reshards, each times how often it runs.
  const cost::Price &getPrice() const { return prices.getSum(); }
  /// Bytes that arguments keep from one call to the next.
  int64_t getPersistentBytes() const { return persistent; }
  /// The most that all other values hold at one time, in bytes: that of the
  /// program, or more where several reshards are made before one op.
  int64_t getPeakBytes() const { return held.getMax(); }

private:
  /// What a value adds to all that.
  struct Part {
    std::optional<cost::ReshardPrices> prices; ///< None if it adds nothing.
    int64_t persistent = 0;
    struct Held {
      int64_t bytes;
      unsigned begin, end;
    };
    llvm::SmallVector<Held, 2> held;
  };

  void priceChoice(unsigned choice);
  void priceValue(unsigned value);

  SearchSpace &space;
  const PlanGraph &graph;
  Selection selection;
  std::vector<llvm::SmallVector<unsigned, 4>> valuesOf; ///< By choice.
  std::vector<int64_t> scratch;                         ///< By choice.
  std::vector<Part> parts;                              ///< By value.
  SumTree<cost::Price> prices; ///< Of choices, then of values.
  PeakTree held;               ///< By moment.
  int64_t persistent = 0;
};

} // namespace tp::plan

#endif // TPOPT_PLAN_PLANPRICE_H
