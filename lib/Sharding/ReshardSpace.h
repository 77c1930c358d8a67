// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The states that a reshard may pass through. Private to the library.

#ifndef TPOPT_LIB_SHARDING_RESHARDSPACE_H
#define TPOPT_LIB_SHARDING_RESHARDSPACE_H

#include "ReshardSearch.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/Support/MathExtras.h"

#include <vector>

namespace tp::reshard {

/// Digits of a system by index: a list on a dimension, or a set.
using Digits = llvm::SmallVector<uint8_t, 6>;
using DigitSet = uint32_t;
constexpr unsigned maxDigits = 32;

struct State {
  uint8_t system = 0;
  /// How unreduced digits combine. The source's kind if there are none.
  ReduceKind kind = ReduceKind::Sum;
  DigitSet unreduced = 0;
  /// Of the dimensions that take part.
  llvm::SmallVector<Digits, 4> dims;

  bool operator==(const State &o) const {
    return system == o.system && kind == o.kind && unreduced == o.unreduced &&
           dims == o.dims;
  }
};

struct StateHash {
  size_t operator()(const State &state) const {
    llvm::hash_code code = llvm::hash_combine(
        state.system, static_cast<uint8_t>(state.kind), state.unreduced);
    for (const Digits &digits : state.dims)
      code = llvm::hash_combine(
          code, llvm::hash_combine_range(digits.begin(), digits.end()));
    return code;
  }
};

/// Which dimensions and digits take part in a reshard, and how states and
/// layouts correspond.
class StateSpace {
public:
  /// For tensors of `shape`. `dims` are the dimensions that take part; values
  /// without unreduced axes have the kind `kind`. What it is given by reference
  /// must outlive it.
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
  /// Where each digit counts: in a dimension with a weight, as unreduced (-2),
  /// or nowhere (-1).
  using Places = llvm::SmallVector<std::pair<int, int64_t>, 8>;
  Places getPlaces(const State &state) const;
  BlockLayout getBlocks(unsigned dim, int64_t k) const {
    return {shape[dims[dim]], k};
  }
  /// The sizes of a buffer in the dimensions that take part.
  llvm::SmallVector<int64_t, 4> getLocal(const State &state) const;
  /// Elements of a buffer with `blocks[i]` in the i-th dimension that takes
  /// part.
  uint64_t getVolume(llvm::ArrayRef<int64_t> blocks) const {
    uint64_t volume = restVolume;
    for (int64_t block : blocks)
      volume = llvm::SaturatingMultiply<uint64_t>(volume, block);
    return volume;
  }

  const llvm::ArrayRef<int64_t> shape;
  /// Positions in the tensor of the dimensions that take part.
  const llvm::SmallVector<unsigned, 4> dims;
  const ReduceKind kind;
  const LinkModel &links;
  const llvm::ArrayRef<DigitSystem> systems;

private:
  /// The product of the sizes of all other dimensions.
  uint64_t restVolume = 1;
};

/// The least that it costs to come to one layout: see ReshardSearch.h.
class Bound {
public:
  Bound(const Mesh &mesh, const StateSpace &space, const TensorSharding &to);

  Cost get(const State &state) const;

private:
  const StateSpace &space;
  /// Whether something is to be unreduced in the end.
  bool toPartial;
  /// Elements in the tensor.
  uint64_t volume;
  /// Copies of an element in the end.
  int64_t targetCopies;

  /// For some devices: their digits in every system, the part of each dimension
  /// that they need, and the elements in that.
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
