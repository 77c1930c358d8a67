// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Copies.h"

#include "CopyTree.h"

using namespace tp;
using namespace tp::plan;
using namespace tp::cost;

namespace {

class CopyMaker {
public:
  CopyMaker(const PlanGraph &graph, const PlanValue &value,
            const ReshardPrices &prices, const Selection &selection)
      : graph(graph), value(value), prices(prices), selection(selection) {}

  llvm::SmallVector<Copy, 2> run() {
    Copy &made = copies.emplace_back();
    made.layout = graph.getLayout(value.producer, selection);
    made.begin = getMoment(value.begin);
    made.end = getMoment(value.end);
    collectLayouts(made.layout);
    if (layouts.size() > 1)
      makeCopies();
    for (auto [use, layout] : llvm::zip_equal(value.needs, needed))
      if (!use.isPassedOn) {
        Copy &copy = copies[getNumber(layout)];
        copy.end = std::max(copy.end, getMoment(use.end));
      }
    return std::move(copies);
  }

private:
  /// Those that some op needs before those that are only passed on.
  void collectLayouts(unsigned made) {
    layouts.push_back(made);
    for (const PlanUse &use : value.needs)
      needed.push_back(graph.getLayout(use.port, selection));
    auto add = [&](bool isPassedOn) {
      for (auto [use, layout] : llvm::zip_equal(value.needs, needed))
        if (use.isPassedOn == isPassedOn &&
            !llvm::is_contained(layouts, layout))
          layouts.push_back(layout);
    };
    add(false);
    required = layouts.size() - 1;
    add(true);
  }

  void makeCopies() {
    llvm::SmallVector<unsigned, 4> parents =
        growCopies(layouts.size(), required, [&](unsigned from, unsigned to) {
          return prices.get(layouts[from], layouts[to]).getTotal();
        });
    // By place in `layouts`.
    llvm::SmallVector<int, 4> numbers(layouts.size(), -1);
    numbers[0] = 0;
    for (bool isChanged = true; isChanged;) {
      isChanged = false;
      for (unsigned to = 1; to < layouts.size(); ++to) {
        if (parents[to] == kUnused || numbers[to] >= 0 ||
            numbers[parents[to]] < 0)
          continue;
        numbers[to] = copies.size();
        add(layouts[to], numbers[parents[to]], parents, numbers);
        isChanged = true;
      }
    }
  }

  /// Makes a copy before the first use of any that is not made yet, since later
  /// copies may be made from this one.
  void add(unsigned layout, unsigned source, llvm::ArrayRef<unsigned> parents,
           llvm::ArrayRef<int> numbers) {
    Copy copy;
    copy.layout = layout;
    copy.source = source;
    for (auto [use, wanted] : llvm::zip_equal(value.needs, needed)) {
      unsigned place = llvm::find(layouts, wanted) - layouts.begin();
      bool isOpen =
          parents[place] != kUnused && (numbers[place] < 0 || wanted == layout);
      if (isOpen && !copy.before)
        copy.before = &use;
      if (wanted == layout && !copy.need)
        copy.need = &use;
    }
    copy.begin = copy.end = 2 * copy.before->begin;
    Copy &from = copies[source];
    from.end = std::max(from.end, copy.begin);
    copies.push_back(copy);
  }

  unsigned getNumber(unsigned layout) const {
    return llvm::find_if(
               copies,
               [&](const Copy &copy) { return copy.layout == layout; }) -
           copies.begin();
  }

  const PlanGraph &graph;
  const PlanValue &value;
  const ReshardPrices &prices;
  const Selection &selection;
  llvm::SmallVector<unsigned, 4> needed; ///< By use.
  llvm::SmallVector<unsigned, 4> layouts;
  unsigned required = 0;
  llvm::SmallVector<Copy, 2> copies;
};

} // namespace

llvm::SmallVector<Copy, 2> tp::plan::getCopies(const PlanGraph &graph,
                                               unsigned value,
                                               const ReshardPrices &prices,
                                               const Selection &selection) {
  return CopyMaker(graph, graph.values[value], prices, selection).run();
}
