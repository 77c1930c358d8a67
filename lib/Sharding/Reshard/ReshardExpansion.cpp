// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReshardExpansion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace tp;
using namespace tp::reshard;
using llvm::ArrayRef;
using llvm::SmallVector;

void Expansion::expand(const State &state) {
  slice(state);
  makePartial(state);
  reduce(state);
  gatherOrExchange(state);
  permute(state);
}

Expansion::Move Expansion::getMove(const State &state, CollectiveKind kind,
                                   DigitSet axes) const {
  Move move{kind, axes, {}};
  for (; axes; axes &= axes - 1)
    space.links.extend(move.group,
                       space.getDigits(state)[llvm::countr_zero(axes)]);
  return move;
}

Cost Expansion::getCost(const Move &move, uint64_t payload) const {
  return {space.links.getTicks(move.kind, move.group, payload),
          !isFree(move.kind), move.group.numDigits};
}

void Expansion::slice(const State &state) {
  DigitSet idle = space.getIdle(state);
  State next = state;
  for (unsigned dim = 0; dim < state.dims.size(); ++dim) {
    int64_t most =
        space.getSize(state, state.dims[dim]) * space.getSize(state, idle);
    if (space.getBlocks(dim, most).isUneven()) {
      // Digits that cannot be sliced one at a time may be sliceable together.
      for (DigitSet some = idle; some && !isSpent(); some = (some - 1) & idle) {
        Move move = getMove(state, CollectiveKind::AllSlice, some);
        distribute(next, some, dim, /*volume=*/0,
                   [&](uint64_t) { emit(next, move, 0); });
      }
      continue;
    }
    for (DigitSet left = idle; left; left &= left - 1) {
      next.dims.push(dim, llvm::countr_zero(left));
      emit(next, getMove(state, CollectiveKind::AllSlice, left & -left), 0);
      next.dims.pop(dim);
    }
  }
}

void Expansion::makePartial(const State &state) {
  DigitSet allowed = partial[state.system];
  if (!allowed || (state.unreduced && state.kind != partialKind))
    return;
  State next = state;
  next.kind = partialKind;
  DigitSet idle = space.getIdle(state) & allowed;
  for (DigitSet left = idle; left; left &= left - 1) {
    next.unreduced = state.unreduced | (left & -left);
    emit(next, getMove(state, CollectiveKind::ToPartial, left & -left), 0);
  }
  for (unsigned dim = 0; dim < state.dims.size(); ++dim) {
    int64_t k = space.getSize(state, state.dims[dim]), s = 1;
    DigitSet added = 0;
    for (uint8_t digit : llvm::reverse(state.dims[dim])) {
      if (!(allowed >> digit & 1))
        break;
      added |= DigitSet(1) << digit;
      s *= space.getDigits(state)[digit].size;
      next.dims.pop(dim);
      next.unreduced = state.unreduced | added;
      if (canMerge(dim, k, s))
        emit(next, getMove(state, CollectiveKind::ToPartial, added), 0);
    }
    next.dims = state.dims;
  }
}

//===----------------------------------------------------------------------===//
// Arrangements
//===----------------------------------------------------------------------===//

const State *Expansion::getGoal(const State &state) const {
  return goals.empty() || !goals[state.system] ? nullptr
                                               : &*goals[state.system];
}

void Expansion::beginArrangement(const State &state) {
  // One arrangement takes a choice for each digit, one that ends the list of
  // each dimension, and a last one. As many again as there are digits allow for
  // wrong choices.
  choicesLeft = getGoal(state)
                    ? 2 * space.getDigits(state).size() + state.dims.size() + 1
                    : ~0u;
}

bool Expansion::mayArrange() {
  if (isSpent())
    return false;
  hasCut |= choicesLeft == 0;
  return choicesLeft != 0 && choicesLeft-- != 0;
}

template <typename Append>
void Expansion::forEachNext(const State &state, DigitSet some, unsigned dim,
                            Append append) {
  auto callAll = [&](DigitSet digits) {
    for (; digits; digits &= digits - 1)
      append(llvm::countr_zero(digits));
  };
  const State *goal = getGoal(state);
  if (!goal)
    return callAll(some);
  // Digits that the goal has at this position come first, then digits that are
  // idle in the goal, then the rest.
  DigitSet wanted = 0;
  size_t position = state.dims[dim].size();
  if (position < goal->dims[dim].size())
    wanted = some & DigitSet(1) << goal->dims[dim][position];
  callAll(wanted);
  DigitSet idle = some & space.getIdle(*goal);
  callAll(idle & ~wanted);
  callAll(some & ~idle & ~wanted);
}

/// Calls `done` for every way to append all of `digits` to the lists of `dims`
/// such that each old block consists of whole new blocks. Passes the product of
/// `volume` and the new block sizes in `dims` to `done`. Restores `state`
/// afterwards.
void Expansion::distribute(State &state, DigitSet digits,
                           ArrayRef<unsigned> dims, uint64_t volume,
                           TakeVolume done) {
  beginArrangement(state);
  distributeRest(state, digits, dims, volume, done);
}

void Expansion::distributeRest(State &state, DigitSet digits,
                               ArrayRef<unsigned> dims, uint64_t volume,
                               TakeVolume done) {
  if (dims.empty()) {
    if (digits == 0)
      done(volume);
    return;
  }
  unsigned dim = dims.front();
  int64_t before = space.getSize(state, state.dims[dim]);
  auto append = [&](auto &self, int64_t s, DigitSet left) -> void {
    if (!mayArrange())
      return;
    // The last dimension gets all of the remaining digits.
    if (int64_t k = before * s;
        (left == 0 || dims.size() > 1) && canMerge(dim, k, s))
      distributeRest(
          state, left, dims.drop_front(),
          llvm::SaturatingMultiply<uint64_t>(volume, space.getBlock(dim, k)),
          done);
    forEachNext(state, left, dim, [&](unsigned digit) {
      state.dims.push(dim, digit);
      self(self, s * space.getDigits(state)[digit].size,
           left & ~(DigitSet(1) << digit));
      state.dims.pop(dim);
    });
  };
  append(append, 1, digits);
}

void Expansion::reduce(const State &state) {
  SmallVector<unsigned, 6> all;
  for (unsigned dim = 0; dim < state.dims.size(); ++dim)
    all.push_back(dim);
  uint64_t buffer = space.getVolume(space.getLocal(state));
  State next = state;
  for (DigitSet some = state.unreduced; some && !isSpent();
       some = (some - 1) & state.unreduced) {
    next.unreduced = state.unreduced & ~some;
    next.kind = next.unreduced ? state.kind : space.kind;
    Move move = getMove(state, CollectiveKind::AllReduce, some);
    emit(next, move, buffer);
    move.kind = CollectiveKind::ReduceScatter;
    // Padding only adds to the buffer, so skip the step if it is too expensive
    // even without padding.
    if (!mayHelp(getCost(move, buffer)))
      continue;
    distribute(next, some, all, space.getVolume({}), [&](uint64_t share) {
      emit(next, move,
           llvm::SaturatingMultiply<uint64_t>(share, move.group.size));
    });
  }
}

void Expansion::gatherOrExchange(const State &state) {
  State kept = state;
  chooseKept(state, kept, /*dim=*/0, /*removed=*/0);
}

/// Chooses how many digits each dimension from `dim` on keeps. `removed` holds
/// the digits taken away so far. In the end, the removed digits are gathered,
/// or appended to dimensions that keep all of their digits.
void Expansion::chooseKept(const State &state, State &kept, unsigned dim,
                           DigitSet removed) {
  if (isSpent())
    return;
  if (dim < state.dims.size()) {
    int64_t k = space.getSize(state, state.dims[dim]), s = 1;
    for (uint8_t digit : llvm::reverse(state.dims[dim])) {
      if (canMerge(dim, k, s))
        chooseKept(state, kept, dim + 1, removed);
      removed |= DigitSet(1) << digit;
      s *= space.getDigits(state)[digit].size;
      kept.dims.pop(dim);
    }
    chooseKept(state, kept, dim + 1, removed);
    for (uint8_t digit : state.dims[dim])
      kept.dims.push(dim, digit);
    return;
  }
  if (removed == 0)
    return;

  Move move = getMove(state, CollectiveKind::AllGather, removed);
  uint64_t group = move.group.size;
  SmallVector<int64_t, 6> local = space.getLocal(state);
  emit(kept, move, llvm::SaturatingMultiply(group, space.getVolume(local)));
  move.kind = CollectiveKind::AllToAll;

  // What one device sends to another has, in each dimension, the smaller of the
  // block sizes before and after the step.
  SmallVector<unsigned, 6> targets;
  SmallVector<int64_t, 6> sources;
  for (unsigned dim = 0; dim < state.dims.size(); ++dim)
    if (kept.dims[dim].size() == state.dims[dim].size())
      targets.push_back(dim);
    else
      sources.push_back(local[dim]);
  if (targets.empty() || !mayHelp(getCost(move, space.getVolume(local))))
    return;
  distribute(kept, removed, targets, space.getVolume(sources),
             [&](uint64_t share) {
               emit(kept, move, llvm::SaturatingMultiply(group, share));
             });
}

/// Finds the permutations. Empties the lists of all dimensions and the set of
/// unreduced digits, then refills one after another with any digits. Only the
/// product of the digits' sizes must be the same as before, in each list and in
/// the set.
void Expansion::permute(const State &state) {
  uint64_t buffer = space.getVolume(space.getLocal(state));
  // Any permutation moves the whole buffer.
  const LinkModel &links = space.links;
  uint64_t least = links.getBound(
      space.getDigits(state),
      llvm::SaturatingMultiply<uint64_t>(buffer, links.getScale()));
  if (!mayHelp({least, 1, 1}))
    return;
  int64_t addends = space.getSize(state, state.unreduced);
  StateSpace::Places places = space.getPlaces(state);
  State next = state;
  next.unreduced = 0;
  next.dims = DigitLists(state.dims.size());

  auto finish = [&] {
    DigitSet moved = 0;
    for (auto [digit, before, after] :
         llvm::enumerate(places, space.getPlaces(next)))
      if (before != after)
        moved |= DigitSet(1) << digit;
    if (moved)
      emit(next, getMove(state, CollectiveKind::CollectivePermute, moved),
           buffer);
  };
  auto fillUnreduced = [&](DigitSet left) {
    if (addends == 1)
      return finish();
    for (DigitSet some = left; some && !isSpent(); some = (some - 1) & left)
      if (space.getSize(state, some) == addends) {
        next.unreduced = some;
        finish();
      }
    next.unreduced = 0;
  };
  auto fill = [&](auto &self, unsigned dim, DigitSet left) -> void {
    if (!mayArrange())
      return;
    if (dim == next.dims.size())
      return fillUnreduced(left);
    int64_t missing = space.getSize(state, state.dims[dim]) /
                      space.getSize(next, next.dims[dim]);
    if (missing == 1)
      return self(self, dim + 1, left);
    forEachNext(next, left, dim, [&](unsigned digit) {
      if (missing % space.getDigits(state)[digit].size != 0)
        return;
      next.dims.push(dim, digit);
      self(self, dim, left & ~(DigitSet(1) << digit));
      next.dims.pop(dim);
    });
  };
  beginArrangement(state);
  fill(fill, 0, space.getAllDigits(state));
}
