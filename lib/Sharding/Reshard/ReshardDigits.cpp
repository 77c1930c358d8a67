// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How the axes of a reshard are split into digits, and the costs of sending.

#include "ReshardSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace tp;
using namespace tp::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

static constexpr double ticksPerSecond = 1e12;

/// Converts `seconds` to ticks, limited so that sums of ticks do not overflow.
static uint64_t toTicks(double seconds, double (*round)(double)) {
  return static_cast<uint64_t>(round(std::min(seconds * ticksPerSecond, 1e18)));
}

void LinkModel::extend(Group &group, const AxisRef &digit) const {
  group.size *= digit.size;
  ++group.numDigits;
  const Link &link = mesh.axes[digit.axis].link;
  group.slowest.alpha = std::max(group.slowest.alpha, link.alpha);
  group.slowest.beta = std::max(group.slowest.beta, link.beta);
}

uint64_t LinkModel::getTicks(CollectiveKind kind, const Group &group,
                             uint64_t payload) const {
  if (isFree(kind))
    return 0;
  if (!mesh.hasLinks) {
    // The number of shares that a device sends, each of size payload / group.
    uint64_t shares = kind == CollectiveKind::AllReduce ? 2 * (group.size - 1)
                      : kind == CollectiveKind::CollectivePermute
                          ? group.size
                          : group.size - 1;
    return llvm::SaturatingMultiply(llvm::SaturatingMultiply<uint64_t>(
                                        shares * (scale / group.size), payload),
                                    static_cast<uint64_t>(elementBytes));
  }
  double bytes = getWireElements(kind, group.size, payload) * elementBytes;
  return toTicks(group.slowest.alpha + group.slowest.beta * bytes, std::ceil);
}

uint64_t LinkModel::getBound(ArrayRef<AxisRef> axes, uint64_t elements) const {
  if (elements == 0 || axes.empty())
    return 0;
  if (!mesh.hasLinks)
    return llvm::SaturatingMultiply(elements,
                                    static_cast<uint64_t>(elementBytes));
  Link fastest = mesh.axes[axes.front().axis].link;
  for (const AxisRef &axis : axes.drop_front()) {
    const Link &link = mesh.axes[axis.axis].link;
    fastest.alpha = std::min(fastest.alpha, link.alpha);
    fastest.beta = std::min(fastest.beta, link.beta);
  }
  double bytes = static_cast<double>(elements) / scale * elementBytes;
  return toTicks(fastest.alpha + fastest.beta * bytes, std::floor);
}

double LinkModel::toCost(uint64_t ticks) const {
  return mesh.hasLinks ? ticks / ticksPerSecond
                       : static_cast<double>(ticks) / scale;
}

//===----------------------------------------------------------------------===//
// Digits
//===----------------------------------------------------------------------===//

/// Positions at which an axis is cut. A position is the product of the sizes of
/// all digits before it: 1 at the start of the axis, and the size of the axis
/// at its end.
using Cuts = SmallVector<int64_t, 8>;

static void sortCuts(Cuts &cuts) {
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
}

static bool formDigits(const Cuts &cuts) {
  for (size_t i = 1; i < cuts.size(); ++i)
    if (cuts[i] % cuts[i - 1] != 0)
      return false;
  return true;
}

static AxisList getUsedAxes(const TensorSharding &sharding) {
  AxisList used = sharding.getDimAxes();
  used.append(sharding.unreduced);
  return used;
}

static void addCuts(Cuts &cuts, unsigned axis, ArrayRef<AxisRef> used) {
  for (const AxisRef &ref : used)
    if (ref.axis == axis)
      cuts.append({ref.pre, ref.end()});
  sortCuts(cuts);
}

SmallVector<DigitSystem, 2>
tp::reshard::getCoarseSystems(const Problem &problem) {
  AxisList from = getUsedAxes(problem.from), to = getUsedAxes(problem.to);
  DigitSystem systems[2];
  bool two = false;
  for (unsigned axis = 0; axis < problem.mesh.axes.size(); ++axis) {
    Cuts ends = {1, problem.mesh.axes[axis].size};
    sortCuts(ends);
    Cuts both = ends;
    addCuts(both, axis, from);
    addCuts(both, axis, to);
    bool fits = formDigits(both);
    two |= !fits;
    for (int i = 0; i < 2; ++i) {
      Cuts cuts = ends;
      if (fits)
        cuts = both;
      else
        addCuts(cuts, axis, i == 0 ? from : to);
      for (size_t j = 1; j < cuts.size(); ++j) {
        AxisRef digit = {axis, cuts[j - 1], cuts[j] / cuts[j - 1]};
        // A path can change to the other system only in layouts that use the
        // axis as a whole, so each system needs all digits of the axis.
        if (!fits || overlap(from, digit) || overlap(to, digit))
          systems[i].push_back(digit);
      }
    }
  }
  if (two)
    return {systems[0], systems[1]};
  return {systems[0]};
}

static size_t countPrimes(int64_t n) {
  size_t count = 0;
  for (int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p)
      ++count;
  return count + (n > 1);
}

/// Calls `done` for every way to split `digits` into `count` parts, which are
/// appended to `system`. The ways that leave the first digits whole come first.
static void
forEachRefinement(ArrayRef<AxisRef> digits, size_t count, DigitSystem &system,
                  llvm::function_ref<void(const DigitSystem &)> done) {
  if (digits.empty() || count < digits.size()) {
    if (digits.empty() && count == 0)
      done(system);
    return;
  }
  AxisRef digit = digits.front();
  system.push_back(digit);
  forEachRefinement(digits.drop_front(), count - 1, system, done);
  system.pop_back();
  for (int64_t first = 2; first < digit.size; ++first) {
    if (digit.size % first != 0)
      continue;
    AxisList rest = {{digit.axis, digit.pre * first, digit.size / first}};
    llvm::append_range(rest, digits.drop_front());
    system.push_back({digit.axis, digit.pre, first});
    forEachRefinement(rest, count - 1, system, done);
    system.pop_back();
  }
}

SmallVector<DigitSystem, 2>
tp::reshard::getFineSystems(ArrayRef<DigitSystem> coarse, size_t numDims) {
  SmallVector<DigitSystem, 2> fine;
  for (const DigitSystem &system : coarse) {
    size_t primes = 0;
    for (const AxisRef &digit : system)
      primes += countPrimes(digit.size);
    size_t count = std::min(primes, std::max(kFineDigits, system.size() + 1));
    DigitSystem refined;
    forEachRefinement(system, count, refined, [&](const DigitSystem &next) {
      if (llvm::is_contained(fine, next))
        return;
      fine.push_back(next);
      if (!areFew(fine, numDims))
        fine.pop_back();
    });
  }
  return fine;
}

SmallVector<unsigned, 4> tp::reshard::getRoomyDims(ArrayRef<int64_t> shape,
                                                   const DigitSystem &system) {
  int64_t most = getSize(system);
  bool isEven = llvm::all_of(
      shape, [&](int64_t size) { return size == 1 || size % most == 0; });
  SmallVector<unsigned, 4> dims;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size != 1 || !isEven)
      dims.push_back(dim);
  return dims;
}

/// The number of states of one system.
static uint64_t countStates(size_t digits, size_t dims) {
  // Each digit is idle, is unreduced, or has a position in the list of one
  // dimension. The loop sums over the number of digits that are in lists.
  uint64_t states = 0, some = 1, lists = 1;
  for (size_t inLists = 0; inLists <= digits; ++inLists) {
    states =
        llvm::SaturatingMultiplyAdd(some << (digits - inLists), lists, states);
    some = some * (digits - inLists) / (inLists + 1);
    lists = llvm::SaturatingMultiply<uint64_t>(lists, dims + inLists);
  }
  return states;
}

uint64_t tp::reshard::countStates(ArrayRef<DigitSystem> systems, size_t dims) {
  uint64_t states = 0, digits = 0;
  for (const DigitSystem &system : systems) {
    // A DigitSet has one bit per digit.
    digits += system.size();
    if (digits >= 32)
      return std::numeric_limits<uint64_t>::max();
    states = llvm::SaturatingAdd(states, ::countStates(system.size(), dims));
  }
  return states;
}

size_t tp::reshard::countUsefulDims(ArrayRef<DigitSystem> systems,
                                    size_t numCut, size_t numSpare) {
  size_t useful = std::min<size_t>(numSpare, 2);
  while (useful < numSpare && areFew(systems, numCut + useful + 1))
    ++useful;
  return useful;
}
