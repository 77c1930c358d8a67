// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReshardSpace.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>

using namespace tp;
using namespace tp::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

StateSpace::StateSpace(ArrayRef<int64_t> shape, SmallVector<unsigned, 4> dims,
                       ReduceKind kind, const LinkModel &links,
                       ArrayRef<DigitSystem> systems)
    : shape(shape), dims(std::move(dims)), kind(kind), links(links),
      systems(systems), numKnown(std::min<int64_t>(links.getScale(), 64)) {
  for (unsigned dim = 0; dim < this->dims.size(); ++dim)
    for (int64_t k = 1; k <= numKnown; ++k)
      knownBlocks.push_back(getBlocks(dim, k).block());
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(this->dims, dim))
      restVolume = llvm::SaturatingMultiply<uint64_t>(restVolume, size);
}

std::optional<State> StateSpace::encode(const TensorSharding &layout,
                                        uint8_t system) const {
  State state;
  state.system = system;
  state.kind = layout.unreduced.empty() ? kind : layout.kind;
  state.dims = DigitLists(dims.size());
  /// Passes each digit in `axis` to `append`. Returns false if `axis` does not
  /// consist of whole digits.
  auto split = [&](const AxisRef &axis, auto append) {
    int64_t begin = axis.pre;
    for (auto [index, digit] : llvm::enumerate(systems[system]))
      if (digit.axis == axis.axis && digit.pre == begin &&
          axis.end() % digit.end() == 0 && begin < axis.end()) {
        append(index);
        begin = digit.end();
      }
    return begin == axis.end();
  };
  for (auto [index, dim] : llvm::enumerate(dims))
    for (const AxisRef &axis : layout.dims[dim].axes)
      if (!split(axis, [&, dim = index](unsigned digit) {
            state.dims.push(dim, digit);
          }))
        return std::nullopt;
  for (const AxisRef &axis : layout.unreduced)
    if (!split(axis, [&](unsigned digit) {
          state.unreduced |= DigitSet(1) << digit;
        }))
      return std::nullopt;
  return state;
}

TensorSharding StateSpace::decode(const State &state) const {
  const DigitSystem &system = systems[state.system];
  TensorSharding layout = TensorSharding::replicate(shape.size());
  for (auto [index, dim] : llvm::enumerate(dims))
    for (uint8_t digit : state.dims[index])
      appendMerged(layout.dims[dim].axes, system[digit]);
  AxisList unreduced;
  for (DigitSet left = state.unreduced; left; left &= left - 1)
    unreduced.push_back(system[llvm::countr_zero(left)]);
  layout.unreduced = getMerged(unreduced);
  if (!layout.unreduced.empty())
    layout.kind = state.kind;
  return layout;
}

DigitSet StateSpace::getIdle(const State &state) const {
  DigitSet used = state.unreduced;
  for (uint8_t digit : state.dims.getDigits())
    used |= DigitSet(1) << digit;
  return getAllDigits(state) & ~used;
}

StateSpace::Places StateSpace::getPlaces(const State &state) const {
  const DigitSystem &system = systems[state.system];
  Places places(system.size(), {-1, 0});
  for (unsigned dim = 0; dim < state.dims.size(); ++dim) {
    int64_t weight = 1;
    for (uint8_t digit : llvm::reverse(state.dims[dim])) {
      places[digit] = {static_cast<int>(dim), weight};
      weight *= system[digit].size;
    }
  }
  for (DigitSet left = state.unreduced; left; left &= left - 1)
    places[llvm::countr_zero(left)] = {-2, 0};
  return places;
}

SmallVector<int64_t, 6> StateSpace::getLocal(const State &state) const {
  SmallVector<int64_t, 6> local;
  for (unsigned dim = 0; dim < state.dims.size(); ++dim)
    local.push_back(getBlock(dim, getSize(state, state.dims[dim])));
  return local;
}

//===----------------------------------------------------------------------===//
// Bound
//===----------------------------------------------------------------------===//

Bound::Bound(const Mesh &mesh, const StateSpace &space,
             const TensorSharding &to)
    : space(space), toPartial(!to.unreduced.empty()) {
  SmallVector<int64_t> sizes;
  for (unsigned dim : space.dims)
    sizes.push_back(space.shape[dim]);
  volume = space.getVolume(sizes);
  targetCopies = space.links.getScale() / tp::getSize(to.getDimAxes());

  constexpr int64_t maxSamples = 64;
  int64_t numDevices = mesh.getNumDevices();
  for (int64_t i = 0, n = std::min(numDevices, maxSamples); i < n; ++i) {
    // If there are more devices than samples, spread the samples over all axes.
    int64_t device = numDevices <= maxSamples
                         ? i
                         : static_cast<int64_t>(
                               static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u %
                               static_cast<uint64_t>(numDevices));
    Sample sample;
    for (const DigitSystem &system : space.systems) {
      sample.digits.emplace_back();
      for (const AxisRef &digit : system)
        sample.digits.back().push_back(getPosition(mesh, digit, device));
    }
    SmallVector<int64_t> lengths;
    for (auto [index, dim] : llvm::enumerate(space.dims)) {
      const AxisList &axes = to.dims[dim].axes;
      BlockLayout blocks = space.getBlocks(index, tp::getSize(axes));
      int64_t position = getPosition(mesh, axes, device);
      sample.needed.emplace_back(blocks.begin(position),
                                 blocks.begin(position + 1));
      lengths.push_back(blocks.valid(position));
    }
    sample.volume = space.getVolume(lengths);
    mostNeeded = std::max(mostNeeded, sample.volume);
    samples.push_back(std::move(sample));
  }
}

Cost Bound::get(const State &state) const {
  if (toPartial)
    return {};
  ArrayRef<AxisRef> digitsOf = space.getDigits(state);
  uint64_t elements = 0; // multiplied by the scale
  if (int64_t addends = space.getSize(state, state.unreduced); addends > 1) {
    elements =
        llvm::SaturatingMultiply<uint64_t>(volume, targetCopies + addends - 2);
  } else {
    SmallVector<int64_t, 6> blocks = space.getLocal(state);
    uint64_t most = 0;
    for (const Sample &sample : samples) {
      uint64_t common = space.getVolume({});
      for (unsigned index = 0; index < state.dims.size(); ++index) {
        int64_t position = 0;
        for (uint8_t digit : state.dims[index])
          position = position * digitsOf[digit].size +
                     sample.digits[state.system][digit];
        // Block ends beyond the tensor do not matter: needed elements are
        // inside it.
        auto [begin, end] = sample.needed[index];
        int64_t overlap = std::min(end, (position + 1) * blocks[index]) -
                          std::max(begin, position * blocks[index]);
        common = llvm::SaturatingMultiply<uint64_t>(
            common, std::max<int64_t>(overlap, 0));
      }
      most = std::max(most, sample.volume - common);
      if (most == mostNeeded)
        break;
    }
    elements = llvm::SaturatingMultiply<uint64_t>(most, space.links.getScale());
  }
  uint64_t ticks = space.links.getBound(digitsOf, elements);
  return {ticks, elements > 0, 0};
}
