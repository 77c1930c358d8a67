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
  CopyMaker(SearchSpace &space, const PlanGraph &graph, const PlanValue &value,
            const ReshardPrices &prices, const Selection &selection)
      : space(space), value(value), prices(prices) {
    Copy &made = copies.emplace_back();
    made.layout = graph.getLayout(value.producer, selection);
    made.begin = getMoment(value.begin);
    made.end = getMoment(value.end);
    lastMoments.push_back(2 * value.after - 1);
    for (const PlanUse &use : value.needs)
      needed.push_back(graph.getLayout(use.port, selection));
  }

  llvm::SmallVector<Copy, 2> run(const Cuts &cuts) {
    for (unsigned cut : cuts)
      makeCopies(cut);
    makeCopies(value.needs.size());
    if (copies.size() > 1)
      freeEarly();
    return std::move(copies);
  }

private:
  /// Makes the copies for the uses from the previous cut up to `cut`, an index
  /// in `needs`.
  void makeCopies(unsigned cut) {
    firstUse = lastUse;
    lastUse = cut;
    collectLayouts();
    // For each entry of `layouts`, the index of its copy; -1 if there is none.
    llvm::SmallVector<int, 4> numbers(layouts.size(), -1);
    numbers[0] = 0;
    if (layouts.size() > 1)
      makeTree(numbers);
    for (unsigned use = firstUse; use < lastUse; ++use) {
      if (value.needs[use].isPassedOn)
        continue;
      unsigned number = numbers[getPlace(needed[use])];
      unsigned moment = getMoment(value.needs[use].end);
      copies[number].end = std::max(copies[number].end, moment);
      // Points in the using op's regions come after the op's own point, so they
      // must be included.
      lastMoments[number] =
          std::max(lastMoments[number], 2 * value.needs[use].after - 1);
    }
  }

  /// Collects the layouts that the uses need: first those that ops need, then
  /// those that only constraints and barriers need.
  void collectLayouts() {
    layouts.assign(1, copies.front().layout);
    auto add = [&](bool isPassedOn) {
      for (unsigned use = firstUse; use < lastUse; ++use)
        if (value.needs[use].isPassedOn == isPassedOn &&
            !llvm::is_contained(layouts, needed[use]))
          layouts.push_back(needed[use]);
    };
    add(false);
    required = layouts.size() - 1;
    add(true);
  }
  unsigned getPlace(unsigned layout) const {
    return llvm::find(layouts, layout) - layouts.begin();
  }

  void makeTree(llvm::MutableArrayRef<int> numbers) {
    llvm::SmallVector<unsigned, 4> parents =
        growCopies(layouts.size(), required, [&](unsigned from, unsigned to) {
          return prices.get(layouts[from], layouts[to], value.times > 1)
              .getTotal();
        });
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

  /// Adds a copy. The copy is made before the first use that needs any layout
  /// not made so far, because copies that are added later may be made from this
  /// one.
  void add(unsigned layout, unsigned source, llvm::ArrayRef<unsigned> parents,
           llvm::ArrayRef<int> numbers) {
    Copy copy;
    copy.layout = layout;
    copy.source = source;
    copy.firstUse = firstUse;
    copy.lastUse = lastUse;
    const PlanUse *before = nullptr;
    for (unsigned number = firstUse; number < lastUse; ++number) {
      const PlanUse &use = value.needs[number];
      unsigned place = getPlace(needed[number]);
      bool isWanted = needed[number] == layout;
      bool isOpen =
          parents[place] != kUnused && (numbers[place] < 0 || isWanted);
      if (isOpen && !before)
        before = &use;
      if (isWanted && !copy.need)
        copy.need = &use;
    }
    copy.begin = copy.end = 2 * before->begin;
    Copy &from = copies[source];
    from.end = std::max(from.end, copy.begin);
    copies.push_back(copy);
    lastMoments.push_back(copy.begin);
  }

  /// If a source is only held for a smaller copy, makes that copy as soon as
  /// the source has no other use.
  void freeEarly() {
    for (unsigned number = 1; number < copies.size(); ++number) {
      Copy &copy = copies[number], &source = copies[copy.source];
      unsigned last = lastMoments[copy.source];
      for (unsigned other = 1; other < copies.size(); ++other)
        if (other != number && copies[other].source == copy.source)
          last = std::max(last, copies[other].begin);
      if (last >= copy.begin || source.end != copy.begin ||
          !canBeMadeAfter(copy.source, last) ||
          space.getBytes(value.type, copy.layout) >=
              space.getBytes(value.type, source.layout))
        continue;
      copy.begin = source.end = (last + 1) / 2 * 2;
    }
  }

  /// Returns true if a copy can be made from `source` directly after `moment`,
  /// and `source` can then be freed. Storage of the caller or of another value
  /// cannot be freed. An argument of a region cannot be copied at the point
  /// where the argument's lifetime begins, because that point may be in another
  /// region of the op.
  bool canBeMadeAfter(unsigned source, unsigned moment) const {
    return source != 0 || (value.storage == PlanValue::Activation &&
                           (llvm::isa<mlir::OpResult>(value.value) ||
                            moment > copies.front().begin));
  }

  SearchSpace &space;
  const PlanValue &value;
  const ReshardPrices &prices;
  llvm::SmallVector<unsigned, 4> needed; ///< Indexed by use.
  unsigned firstUse = 0, lastUse = 0;    ///< The uses to make copies for.
  llvm::SmallVector<unsigned, 4> layouts;
  unsigned required = 0;
  llvm::SmallVector<Copy, 2> copies;
  /// For each copy: the last moment of the ops that use it, including their
  /// regions. If no op uses it, the moment at which it is made.
  llvm::SmallVector<unsigned, 2> lastMoments;
};

} // namespace

llvm::SmallVector<Copy, 2>
tp::plan::getCopies(SearchSpace &space, const PlanGraph &graph, unsigned value,
                    const ReshardPrices &prices, const Selection &selection,
                    const Cuts &cuts) {
  return CopyMaker(space, graph, graph.values[value], prices, selection)
      .run(cuts);
}
