// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FitMemory.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/FunctionExtras.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <tuple>

using namespace tp;
using namespace tp::plan;

namespace {

class MemoryFitter {
public:
  MemoryFitter(const PlanGraph &graph, PlanPrice &price, int64_t capacity)
      : graph(graph), price(price), capacity(capacity) {}

  void run() {
    while (price.getHeldBytes() > capacity && lower(price.getPeakMoment())) {
    }
  }

private:
  struct Move {
    enum { Cut, Select } kind;
    /// For Cut: the number of the value whose uses are cut. For Select: the
    /// number of the choice whose option changes.
    unsigned number;
    unsigned place;  ///< The use before which to cut, or the option to select.
    double rate = 0; ///< The cost for each byte that the move frees.

    bool operator<(const Move &other) const {
      return std::tuple(rate, kind, number, place) <
             std::tuple(other.rate, other.kind, other.number, other.place);
    }
  };

  /// Changes the plan, one move at a time, until the memory held at `moment`
  /// fits. Returns false if no move was possible.
  bool lower(unsigned moment) {
    std::vector<Move> moves;
    for (Move &move : findMoves(moment))
      if (std::optional<double> rate = tryMove(move, moment, /*keeps=*/false)) {
        move.rate = *rate;
        moves.push_back(move);
      }
    llvm::sort(moves);
    bool isLower = false;
    for (const Move &move : moves) {
      if (price.getBytesAt(moment) + price.getPersistentBytes() <= capacity)
        break;
      // A move changes what other moves save. The search ends because each
      // choice changes at most once.
      if (move.kind == Move::Select && changed.contains(move.number))
        continue;
      if (!tryMove(move, moment, /*keeps=*/true))
        continue;
      isLower = true;
      if (move.kind == Move::Select)
        changed.insert(move.number);
    }
    return isLower;
  }

  std::vector<Move> findMoves(unsigned moment) {
    std::vector<Move> moves;
    llvm::SetVector<unsigned> choices;
    llvm::SmallVector<unsigned> values = findHeld(moment);
    for (unsigned value : values)
      addCuts(value, moment, moves);
    // Other options for the ops around small values would free little, and
    // trying all of them would take long.
    constexpr size_t kMost = 64;
    for (unsigned value : llvm::ArrayRef(values).take_front(kMost)) {
      choices.insert(graph.values[value].producer.choice);
      for (const PlanUse &use : graph.values[value].needs)
        choices.insert(use.port.choice);
    }
    // An argument whose layout is free can be kept in smaller blocks.
    for (const PlanValue &value : graph.values)
      if (value.storage == PlanValue::Persistent)
        choices.insert(value.producer.choice);
    for (unsigned choice : choices)
      for (unsigned option = 0;
           option < graph.choices[choice].options->prices.size(); ++option)
        if (!changed.contains(choice) && option != price.getSelection()[choice])
          moves.push_back({Move::Select, choice, option});
    return moves;
  }

  /// The values that are held, themselves or their copies, at `moment`; those
  /// that take most memory first.
  llvm::SmallVector<unsigned> findHeld(unsigned moment) const {
    std::vector<std::pair<int64_t, unsigned>> order;
    for (unsigned number = 0; number < graph.values.size(); ++number) {
      int64_t bytes = 0;
      for (const PlanPrice::Held &held : price.getHeld(number))
        if (held.begin <= moment && moment <= held.end)
          bytes += held.bytes;
      if (bytes > 0)
        order.push_back({-bytes, number});
    }
    llvm::sort(order);
    return llvm::to_vector(llvm::make_second_range(order));
  }

  /// Adds moves that cut the uses of `value`. Each of these frees a copy that
  /// is held at `moment` although no op uses it then.
  void addCuts(unsigned value, unsigned moment, std::vector<Move> &moves) {
    // If only the value itself is held, there is no copy to free.
    bool holdsItself = graph.values[value].storage == PlanValue::Activation;
    if (price.getHeld(value).size() <= holdsItself)
      return;
    const std::vector<PlanUse> &needs = graph.values[value].needs;
    llvm::SmallSetVector<unsigned, 2> places;
    auto copies = price.getCopies(value);
    for (const Copy &copy : llvm::ArrayRef(copies).drop_front()) {
      if (moment < copy.begin || copy.end < moment)
        continue;
      unsigned next = copy.firstUse;
      while (next < copy.lastUse && 2 * needs[next].begin <= moment)
        ++next;
      if (next > copy.firstUse && next < copy.lastUse)
        places.insert(next);
    }
    for (unsigned place : places)
      moves.push_back({Move::Cut, value, place});
  }

  /// Tries a move. Returns its cost per byte that it frees at `moment`, or
  /// nullopt if it frees nothing there or raises the peak. The move is undone
  /// if the result is nullopt or `keeps` is false.
  std::optional<double> tryMove(const Move &move, unsigned moment, bool keeps) {
    auto getBytes = [&] {
      return price.getBytesAt(moment) + price.getPersistentBytes();
    };
    int64_t bytes = getBytes(), most = price.getHeldBytes();
    double cost = price.getPrice().getTotal();
    llvm::unique_function<void()> undo;
    if (move.kind == Move::Cut) {
      Cuts before = price.getCuts(move.number), cuts = before;
      cuts.insert(llvm::lower_bound(cuts, move.place), move.place);
      price.setCuts(move.number, std::move(cuts));
      undo = [this, &move, before] { price.setCuts(move.number, before); };
    } else {
      unsigned before = price.getSelection()[move.number];
      price.select(move.number, move.place);
      undo = [this, &move, before] { price.select(move.number, before); };
    }
    int64_t freed = bytes - getBytes();
    bool isGood = freed > 0 && price.getHeldBytes() <= most;
    double rate = (price.getPrice().getTotal() - cost) / double(freed);
    if (!isGood || !keeps)
      undo();
    return isGood ? std::optional(rate) : std::nullopt;
  }

  const PlanGraph &graph;
  PlanPrice &price;
  int64_t capacity;
  llvm::DenseSet<unsigned> changed; ///< Choices that have been changed.
};

} // namespace

void tp::plan::fitMemory(const PlanGraph &graph, PlanPrice &price,
                         int64_t capacity) {
  MemoryFitter(graph, price, capacity).run();
}
