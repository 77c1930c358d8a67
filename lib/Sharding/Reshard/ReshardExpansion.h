// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file All single steps from a state of a reshard. Private to the library.

#ifndef TPOPT_LIB_SHARDING_RESHARDEXPANSION_H
#define TPOPT_LIB_SHARDING_RESHARDEXPANSION_H

#include "ReshardSpace.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tp::reshard {

/// Finds the steps from a state, and calls take() for each of them. Steps that
/// mayHelp() rejects may be left out. If there are too many arrangements of
/// digits to look at, the caller gives goals, which are target states. Then
/// only a few arrangements are tried for each kind of step, beginning with
/// those that move digits to their position in the goal.
class Expansion {
public:
  /// `partial` holds, for every digit system, the digits along which values may
  /// become partial, with the reduction `partialKind`. `goals` is empty, or
  /// holds the target state in each digit system.
  Expansion(const StateSpace &space, llvm::SmallVector<DigitSet, 2> partial,
            ReduceKind partialKind,
            llvm::ArrayRef<std::optional<State>> goals = {})
      : space(space), partial(std::move(partial)), partialKind(partialKind),
        goals(goals) {}

protected:
  virtual ~Expansion() = default;

  /// Receives a step to `next` along the digits `axes`.
  virtual void take(const State &next, CollectiveKind kind, DigitSet axes,
                    const Cost &cost) = 0;
  /// Returns true if a step that costs `least` or more is worth considering.
  virtual bool mayHelp(const Cost &least) const = 0;
  /// Returns true if the search for steps must stop. It is called before each
  /// choice of a digit, since many choices may be needed to find a step.
  virtual bool isSpent() = 0;
  /// Returns true if arrangements have been left out.
  bool isCut() const { return hasCut; }

  void expand(const State &state);
  /// Calls take() for the steps from `state` that make values partial.
  void makePartial(const State &state);

  const StateSpace &space;
  llvm::SmallVector<DigitSet, 2> partial;

private:
  /// The properties that several steps from one state share.
  struct Move {
    CollectiveKind kind;
    DigitSet axes;
    LinkModel::Group group;
  };
  Move getMove(const State &state, CollectiveKind kind, DigitSet axes) const;
  Cost getCost(const Move &move, uint64_t payload) const;
  void emit(const State &next, const Move &move, uint64_t payload) {
    take(next, move.kind, move.axes, getCost(move, payload));
  }
  bool canMerge(unsigned dim, int64_t k, int64_t s) const {
    return space.mergesEvenly(dim, k, s);
  }

  // Each of these functions calls take() for steps of one or two kinds.
  void slice(const State &state);
  void reduce(const State &state);
  void gatherOrExchange(const State &state);
  void permute(const State &state);

  using TakeVolume = llvm::function_ref<void(uint64_t volume)>;
  void distribute(State &state, DigitSet digits, llvm::ArrayRef<unsigned> dims,
                  uint64_t volume, TakeVolume done);
  void distributeRest(State &state, DigitSet digits,
                      llvm::ArrayRef<unsigned> dims, uint64_t volume,
                      TakeVolume done);
  void chooseKept(const State &state, State &kept, unsigned dim,
                  DigitSet removed);

  /// Calls `append` for each digit of `some` that may come next in the list of
  /// `dim`.
  template <typename Append>
  void forEachNext(const State &state, DigitSet some, unsigned dim,
                   Append append);
  const State *getGoal(const State &state) const;
  void beginArrangement(const State &state);
  bool mayArrange();

  ReduceKind partialKind;
  llvm::ArrayRef<std::optional<State>> goals;
  unsigned choicesLeft = 0; ///< For the current arrangement.
  bool hasCut = false;
};

} // namespace tp::reshard

#endif // TPOPT_LIB_SHARDING_RESHARDEXPANSION_H
