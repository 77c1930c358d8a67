// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Sharding/Reshard/ReshardEstimate.h"

#include "ReshardReduction.h"
#include "ReshardTable.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <utility>

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {

/// A table of costs, looked up by the numbers of layouts.
class LayoutTable {
public:
  LayoutTable(ArrayRef<unsigned> dims, reshard::Table &table)
      : dims(dims), table(table) {}

  struct Layout {
    unsigned number;
    const TensorSharding &sharding;
  };
  /// Returns nullopt if there is no path, if a layout is not in digits of the
  /// table, or if a layout shards a dimension that is not in the table.
  /// `others` are layouts of `pool` that will be needed as targets as well.
  std::optional<reshard::Cost> get(Layout from, Layout to,
                                   ArrayRef<unsigned> others,
                                   const LayoutPool &pool) {
    int a = getState(from), b = getState(to);
    if (a < 0 || b < 0)
      return std::nullopt;
    if (!table.knows(a, b)) {
      std::vector<unsigned> targets = {unsigned(b)};
      for (unsigned other : others)
        if (int state = getState({other, pool.get(other)});
            state >= 0 && state != b)
          targets.push_back(state);
      table.compute(targets);
    }
    return table.get(a, b);
  }
  /// A lower bound on the cost that get() returns. Call get() first.
  reshard::Cost getBound(Layout from, Layout to) {
    return table.getBound(getState(from), getState(to));
  }
  const reshard::LinkModel &getLinks() const { return table.getLinks(); }

private:
  static constexpr int kUnknown = -2, kNone = -1;
  int getState(Layout layout) {
    if (layout.number >= states.size())
      states.resize(layout.number + 1, kUnknown);
    int &state = states[layout.number];
    if (state == kUnknown)
      state = computeState(layout.sharding);
    return state;
  }
  int computeState(const TensorSharding &layout) {
    TensorSharding own;
    for (unsigned dim : dims)
      own.dims.push_back(layout.dims[dim]);
    own.unreduced = layout.unreduced;
    if (own.getDimAxes().size() != layout.getDimAxes().size())
      return kNone; // the layout shards a dimension that is not in the table
    std::optional<unsigned> state = table.getNumber(own);
    return state ? int(*state) : kNone;
  }

  SmallVector<unsigned, 4> dims; ///< The dimensions of the table, in its order.
  reshard::Table &table;
  std::vector<int> states; ///< Indexed by number of the layout.
};

} // namespace

struct ReshardEstimator::Tables {
  /// Prices paths that move whole digits. None if there are too many states.
  std::optional<LayoutTable> coarse;
  /// Prices paths that also move parts of digits. None if there are too many
  /// states, or if the digits have no parts.
  std::optional<LayoutTable> fine;
};

std::unique_ptr<ReshardEstimator::Tables>
ReshardEstimator::createTables(const Kind &kind, const AxisList &system) {
  SmallVector<unsigned, 4> dims = reshard::getRoomyDims(kind.sizes, system);
  // Kinds of shapes that differ only in the order of dimensions share a table.
  llvm::sort(dims, [&](unsigned a, unsigned b) {
    return std::pair(kind.sizes[a], a) < std::pair(kind.sizes[b], b);
  });
  Kind own{{}, kind.elementBytes};
  for (unsigned dim : dims)
    own.sizes.push_back(kind.sizes[dim]);
  auto create = [&](std::optional<LayoutTable> &table,
                    ArrayRef<reshard::DigitSystem> digits) {
    if (digits.empty() || !reshard::areFew(digits, dims.size()))
      return;
    std::unique_ptr<reshard::Table> &shared = costs[{own, digits.vec()}];
    if (!shared)
      shared = std::make_unique<reshard::Table>(mesh, own.sizes,
                                                own.elementBytes, digits);
    table.emplace(dims, *shared);
  };
  auto result = std::make_unique<Tables>();
  create(result->coarse, system);
  SmallVector<reshard::DigitSystem, 2> parts =
      reshard::getFineSystems(system, dims.size());
  if (ArrayRef<reshard::DigitSystem>(parts) !=
      ArrayRef<reshard::DigitSystem>(system))
    create(result->fine, parts);
  return result;
}

ReshardEstimator::ReshardEstimator(const Mesh &mesh, const LayoutPool &pool)
    : mesh(mesh), pool(pool), numDevices(mesh.getNumDevices()), planner(mesh) {}

ReshardEstimator::~ReshardEstimator() = default;

/// The tables for reshards between two layouts of a kind. Returns null if the
/// layouts cut an axis in incompatible ways, or if both are partial, with
/// different reductions.
ReshardEstimator::Tables *
ReshardEstimator::getTables(unsigned from, unsigned to, unsigned kind) {
  const TensorSharding &source = pool.get(from), &target = pool.get(to);
  if (!source.unreduced.empty() && !target.unreduced.empty() &&
      source.kind != target.kind)
    return nullptr;
  auto [it, isNew] =
      systemOf.try_emplace({getUse(from), getUse(to)}, kNoSystem);
  if (isNew) {
    SmallVector<reshard::DigitSystem, 2> coarse =
        reshard::getCoarseSystems({mesh, source, target, {}, 1});
    if (coarse.size() == 1) {
      auto [known, isFirst] = systemNumbers.try_emplace(
          coarse.front(), unsigned(systemNumbers.size()));
      if (isFirst)
        systems.push_back(&known->first);
      it->second = known->second;
    }
  }
  if (it->second == kNoSystem)
    return nullptr;
  if (kind >= tables.size())
    tables.resize(kinds.size());
  if (it->second >= tables[kind].size())
    tables[kind].resize(systemNumbers.size());
  std::unique_ptr<Tables> &result = tables[kind][it->second];
  if (!result)
    result = createTables(*kinds[kind], *systems[it->second]);
  return result.get();
}

//===----------------------------------------------------------------------===//
// ReshardEstimator
//===----------------------------------------------------------------------===//

/// The number that identifies the set of axes that a layout uses.
unsigned ReshardEstimator::getUse(unsigned layout) {
  if (layout >= uses.size())
    uses.resize(layout + 1, kUnknown);
  unsigned &use = uses[layout];
  if (use == kUnknown) {
    AxisList used = pool.get(layout).getDimAxes();
    used.append(pool.get(layout).unreduced);
    llvm::sort(used);
    use = useNumbers.try_emplace(used, useNumbers.size()).first->second;
  }
  return use;
}

ReshardEstimator::Shape ReshardEstimator::getShape(ArrayRef<int64_t> sizes,
                                                   int64_t elementBytes) {
  Kind kind{SmallVector<int64_t, 4>(sizes), elementBytes};
  double copies = 1;
  if (!mesh.hasLinks) {
    for (int64_t &size : kind.sizes)
      if (size > 0 && size % numDevices == 0)
        copies *= double(std::exchange(size, numDevices) / numDevices);
    copies *= double(std::exchange(kind.elementBytes, 1));
  }
  auto [it, isNew] =
      kindNumbers.try_emplace(std::move(kind), unsigned(kinds.size()));
  if (isNew) {
    kinds.push_back(&it->first);
    prices.emplace_back();
  }
  return {it->second, copies};
}

unsigned ReshardEstimator::Prices::getPlace(unsigned layout) {
  if (layout >= places.size())
    places.resize(layout + 1, kUnknown);
  unsigned &place = places[layout];
  if (place == kUnknown) {
    place = rows.size();
    rows.emplace_back();
    layouts.push_back(layout);
  }
  return place;
}

ReshardEstimator::Estimate &ReshardEstimator::Prices::at(unsigned from,
                                                         unsigned to) {
  unsigned row = getPlace(from), column = getPlace(to);
  if (column >= rows[row].size())
    rows[row].resize(rows.size(), {/*cost=*/-1, 0});
  return rows[row][column];
}

ReshardEstimator::Estimate ReshardEstimator::get(unsigned from, unsigned to,
                                                 Shape shape) {
  if (from == to)
    return {};
  Estimate &known = prices[shape.number].at(from, to);
  if (known.cost < 0)
    known = compute(from, to, shape.number);
  return {known.cost * shape.copies, known.launches};
}

ReshardEstimator::Estimate ReshardEstimator::compute(unsigned from, unsigned to,
                                                     unsigned kind) {
  LayoutTable::Layout source{from, pool.get(from)}, target{to, pool.get(to)};
  auto getEstimate = [](const LayoutTable &table, const reshard::Cost &cost) {
    return Estimate{table.getLinks().toCost(cost.ticks), cost.launches};
  };
  if (Tables *own = getTables(from, to, kind); own && own->coarse) {
    LayoutTable &coarse = *own->coarse;
    ArrayRef<unsigned> others = prices[kind].getLayouts();
    std::optional<reshard::Cost> cost =
        coarse.get(source, target, others, pool);
    if (cost && !own->fine)
      return getEstimate(coarse, *cost);
    if (cost) {
      reshard::Cost bound = coarse.getBound(source, target);
      if (cost->ticks == bound.ticks && cost->launches == bound.launches)
        return getEstimate(coarse, *cost);
      if ((cost = own->fine->get(source, target, others, pool)))
        return getEstimate(*own->fine, *cost);
    }
  }
  return search(pool.get(from), pool.get(to), *kinds[kind]);
}

ReshardEstimator::Estimate ReshardEstimator::search(const TensorSharding &from,
                                                    const TensorSharding &to,
                                                    const Kind &kind) {
  reshard::Reduction reduction({mesh, from, to, kind.sizes, kind.elementBytes});
  reshard::Problem reduced = reduction.getProblem();
  const ReshardPlan &plan = planner.plan(reduced.from, reduced.to,
                                         reduced.shape, reduced.elementBytes);
  return {plan.cost * reduction.getCopies(), plan.launches};
}
