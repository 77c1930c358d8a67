// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The states that a reshard may pass through. Private to the library.

#ifndef TPOPT_LIB_SHARDING_RESHARDSPACE_H
#define TPOPT_LIB_SHARDING_RESHARDSPACE_H

#include "ReshardSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <vector>

namespace tp::reshard {

/// A set of digits of a system, by index.
using DigitSet = uint32_t;
constexpr unsigned maxDigits = 32;

/// A list of digits for each of some dimensions. Searches copy, compare and
/// look up states by the million, so all lists are in one array of bytes: first
/// the ends of the lists, then their digits.
class DigitLists {
public:
  DigitLists() = default;
  explicit DigitLists(unsigned numDims)
      : numDims(numDims), bytes(numDims, /*Elt=*/0) {}

  unsigned size() const { return numDims; }
  llvm::ArrayRef<uint8_t> operator[](unsigned dim) const {
    const uint8_t *digits = bytes.data() + numDims;
    return {digits + (dim ? bytes[dim - 1] : 0), digits + bytes[dim]};
  }
  /// Appends to the list of `dim`.
  void push(unsigned dim, uint8_t digit) {
    bytes.insert(bytes.begin() + numDims + bytes[dim], digit);
    for (; dim < numDims; ++dim)
      ++bytes[dim];
  }
  void pop(unsigned dim) {
    bytes.erase(bytes.begin() + numDims + bytes[dim] - 1);
    for (; dim < numDims; ++dim)
      --bytes[dim];
  }
  /// The digits of all lists.
  llvm::ArrayRef<uint8_t> getDigits() const {
    return llvm::ArrayRef<uint8_t>(bytes).drop_front(numDims);
  }
  bool operator==(const DigitLists &o) const {
    return numDims == o.numDims && bytes == o.bytes;
  }
  uint64_t getHash() const { return llvm::xxh3_64bits(bytes); }

private:
  unsigned numDims = 0;
  llvm::SmallVector<uint8_t, 20> bytes;
};

struct State {
  uint8_t system = 0;
  /// The reduction of the unreduced digits. If there are no unreduced digits,
  /// this is the reduction kind of the source.
  ReduceKind kind = ReduceKind::Sum;
  DigitSet unreduced = 0;
  /// The digits that shard each dimension of StateSpace::dims, in order.
  DigitLists dims;

  bool operator==(const State &o) const {
    return system == o.system && kind == o.kind && unreduced == o.unreduced &&
           dims == o.dims;
  }
};

/// Numbers states in the order of insertion. A hash table without deletion and
/// with small slots is fast here: there are a million look-ups, and most of
/// them find an existing state.
class StateNumbers {
public:
  /// The number of `state`, and whether it is new.
  std::pair<unsigned, bool> insert(const State &state) {
    if (2 * states.size() >= places.size())
      grow();
    uint64_t hash = getHash(state);
    for (size_t i = hash;; ++i) {
      Place &place = places[i & (places.size() - 1)];
      if (place.number == kFree) {
        place = {uint32_t(hash >> 32), uint32_t(states.size())};
        states.push_back(state);
        return {place.number, true};
      }
      if (place.hash == hash >> 32 && states[place.number] == state)
        return {place.number, false};
    }
  }
  /// The reference is valid until the next insertion.
  const State &operator[](unsigned number) const { return states[number]; }

private:
  static constexpr uint32_t kFree = ~uint32_t(0);
  struct Place {
    uint32_t hash = 0, number = kFree;
  };
  static uint64_t getHash(const State &state) {
    uint64_t rest = uint64_t(state.unreduced) << 16 |
                    uint64_t(state.kind) << 8 | state.system;
    return state.dims.getHash() ^ rest * 0x9E3779B97F4A7C15u;
  }
  void grow() {
    places.assign(std::max<size_t>(64, 2 * places.size()), Place());
    for (auto [number, state] : llvm::enumerate(states)) {
      uint64_t hash = getHash(state);
      size_t i = hash;
      while (places[i & (places.size() - 1)].number != kFree)
        ++i;
      places[i & (places.size() - 1)] = {uint32_t(hash >> 32),
                                         uint32_t(number)};
    }
  }

  llvm::SmallVector<State, 0> states;
  std::vector<Place> places; ///< A power of two, at most half of them taken.
};

/// Which dimensions and digits take part in a reshard, and how states and
/// layouts correspond.
class StateSpace {
public:
  /// Describes states of tensors of `shape`. Only the dimensions `dims` can be
  /// sharded. States without unreduced axes have the reduction kind `kind`.
  /// Arguments passed by reference must outlive this object.
  StateSpace(llvm::ArrayRef<int64_t> shape, llvm::SmallVector<unsigned, 4> dims,
             ReduceKind kind, const LinkModel &links,
             llvm::ArrayRef<DigitSystem> systems);

  std::optional<State> encode(const TensorSharding &layout,
                              uint8_t system) const;
  TensorSharding decode(const State &state) const;

  llvm::ArrayRef<AxisRef> getDigits(const State &state) const {
    return systems[state.system];
  }
  DigitSet getAllDigits(const State &state) const {
    return llvm::maskTrailingOnes<DigitSet>(systems[state.system].size());
  }
  int64_t getSize(const State &state, llvm::ArrayRef<uint8_t> digits) const {
    int64_t size = 1;
    for (uint8_t digit : digits)
      size *= systems[state.system][digit].size;
    return size;
  }
  int64_t getSize(const State &state, DigitSet digits) const {
    int64_t size = 1;
    for (; digits; digits &= digits - 1)
      size *= systems[state.system][llvm::countr_zero(digits)].size;
    return size;
  }
  DigitSet getIdle(const State &state) const;
  /// The role of each digit. A digit that shards a dimension has the number of
  /// the dimension and a weight. Instead of the dimension, an unreduced digit
  /// has -2, and an idle digit has -1.
  using Places = llvm::SmallVector<std::pair<int, int64_t>, 8>;
  Places getPlaces(const State &state) const;
  BlockLayout getBlocks(unsigned dim, int64_t k) const {
    return {shape[dims[dim]], k};
  }
  /// The block size of BlockLayout.
  int64_t getBlock(unsigned dim, int64_t k) const {
    return k <= numKnown ? knownBlocks[dim * numKnown + k - 1]
                         : getBlocks(dim, k).block();
  }
  bool mergesEvenly(unsigned dim, int64_t k, int64_t s) const {
    return s == 1 || s == k || getBlock(dim, k / s) == s * getBlock(dim, k);
  }
  /// The sizes of a device's buffer in the dimensions `dims`.
  llvm::SmallVector<int64_t, 6> getLocal(const State &state) const;
  /// The number of elements of a buffer whose size in dimension `dims[i]` is
  /// `blocks[i]`.
  uint64_t getVolume(llvm::ArrayRef<int64_t> blocks) const {
    uint64_t volume = restVolume;
    for (int64_t block : blocks)
      volume = llvm::SaturatingMultiply<uint64_t>(volume, block);
    return volume;
  }

  const llvm::ArrayRef<int64_t> shape;
  /// The dimensions that states may shard.
  const llvm::SmallVector<unsigned, 4> dims;
  const ReduceKind kind;
  const LinkModel &links;
  const llvm::ArrayRef<DigitSystem> systems;

private:
  /// The product of the sizes of all other dimensions.
  uint64_t restVolume = 1;
  /// Precomputed block sizes of each dimension, for up to `numKnown` devices,
  /// because divisions are slow.
  int64_t numKnown;
  llvm::SmallVector<int64_t, 32> knownBlocks;
};

/// A lower bound on the cost of reaching one layout: see ReshardSearch.h.
class Bound {
public:
  Bound(const Mesh &mesh, const StateSpace &space, const TensorSharding &to);

  Cost get(const State &state) const;

private:
  const StateSpace &space;
  /// Whether the target has unreduced axes.
  bool toPartial;
  /// The number of elements in the tensor.
  uint64_t volume;
  /// The number of copies of each element in the target layout.
  int64_t targetCopies;

  /// A device that the bound is computed for: its digits in every system, the
  /// range that it needs in each dimension, and the number of elements in these
  /// ranges.
  struct Sample {
    llvm::SmallVector<llvm::SmallVector<int64_t, 6>, 2> digits;
    llvm::SmallVector<std::pair<int64_t, int64_t>, 4> needed;
    uint64_t volume;
  };
  std::vector<Sample> samples;
  uint64_t mostNeeded = 0;
};

} // namespace tp::reshard

#endif // TPOPT_LIB_SHARDING_RESHARDSPACE_H
