// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Masks.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::raise;

bool tp::raise::isHiding(double score) { return score <= -1e9; }

namespace {

/// The position along dim `letter`, plus the number `plus`.
struct Position {
  int64_t letter;
  int64_t plus;
};

/// low <= t - s, or t - s <= high.
struct Band {
  std::optional<int64_t> low, high;
};

} // namespace

/// Returns true if a constant is 0, 1, 2, ..
static bool counts(ConstantOp constant) {
  auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
  if (!dense || dense.isSplat() || dense.getType().getRank() != 1 ||
      dense.getNumElements() > (1 << 20))
    return false;
  int64_t next = 0;
  return llvm::all_of(dense.getValues<APInt>(),
                      [&](const APInt &number) { return number == next++; });
}

static std::optional<Position> readPosition(BroadcastOperand term) {
  int64_t plus = 0;
  for (unsigned depth = 0; depth < 4; ++depth) {
    // Only accepts types in which no position wraps around.
    Type element = elementOf(term.getSource());
    if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64))
      return std::nullopt;
    if (auto iota = term.as<IotaOp>()) {
      int64_t letter = term.getDims()[iota.getDim()];
      if (letter == BroadcastOperand::kNone)
        return std::nullopt;
      return Position{letter, plus};
    }
    if (auto constant = term.as<ConstantOp>();
        constant && term.getDims().size() == 1 &&
        term.getDims()[0] != BroadcastOperand::kNone && counts(constant))
      return Position{term.getDims()[0], plus};
    if (term.as<ConvertOp>()) {
      term = term.operand(0);
      continue;
    }
    if (!term.as<AddOp>() && !term.as<SubOp>())
      return std::nullopt;
    std::optional<double> number = term.operand(1).getNumber();
    unsigned other = 0;
    if (!number && term.as<AddOp>()) {
      number = term.operand(0).getNumber();
      other = 1;
    }
    if (!number || std::abs(*number) > (1 << 24))
      return std::nullopt;
    plus += int64_t(term.as<AddOp>() ? *number : -*number);
    term = term.operand(other);
  }
  return std::nullopt;
}

static std::optional<Band> getBand(const Condition &condition, int64_t s,
                                   int64_t t) {
  auto compare = condition.term.as<CompareOp>();
  if (!compare)
    return std::nullopt;
  std::optional<Position> left = readPosition(condition.term.operand(0)),
                          right = readPosition(condition.term.operand(1));
  if (!left || !right || left->letter == right->letter ||
      (left->letter != s && left->letter != t) ||
      (right->letter != s && right->letter != t))
    return std::nullopt;
  // The comparison bounds left - right, which is t - s or s - t, by `number`.
  int64_t number = right->plus - left->plus;
  bool isBelow, isStrict;
  switch (compare.getPredicate()) {
  case ComparePredicate::EQ:
  case ComparePredicate::NE:
    return std::nullopt;
  case ComparePredicate::LE:
  case ComparePredicate::LT:
    isBelow = true;
    isStrict = compare.getPredicate() == ComparePredicate::LT;
    break;
  case ComparePredicate::GE:
  case ComparePredicate::GT:
    isBelow = false;
    isStrict = compare.getPredicate() == ComparePredicate::GT;
    break;
  }
  if (!condition.holds) {
    isBelow = !isBelow;
    isStrict = !isStrict;
  }
  if (isStrict)
    number += isBelow ? -1 : 1;
  if (left->letter == s) {
    isBelow = !isBelow;
    number = -number;
  }
  return isBelow ? Band{std::nullopt, number} : Band{number, std::nullopt};
}

bool Visibility::require(const Condition &condition) {
  SmallVector<Condition> open{condition};
  for (unsigned count = 0; !open.empty(); ++count) {
    if (count == 32)
      return false;
    auto [term, holds] = open.pop_back_val();
    if (term.isNumber(holds ? 1 : 0))
      continue;
    // A conjunction, or by De Morgan's law the negation of a disjunction.
    if (holds ? bool(term.as<AndOp>()) : bool(term.as<OrOp>())) {
      open.push_back({term.operand(0), holds});
      open.push_back({term.operand(1), holds});
    } else if (term.as<NotOp>()) {
      open.push_back({term.operand(0), !holds});
    } else if (term.as<SelectOp>() && term.operand(1).isNumber(1) &&
               term.operand(2).isNumber(0)) {
      open.push_back({term.operand(0), holds});
    } else if (term.as<SelectOp>() && term.operand(1).isNumber(0) &&
               term.operand(2).isNumber(1)) {
      open.push_back({term.operand(0), !holds});
    } else if (term.as<CompareOp>() && term.operand(0).as<ConvertOp>() &&
               term.as<CompareOp>().getPredicate() == ComparePredicate::NE &&
               term.operand(1).isNumber(0) &&
               elementOf(term.operand(0).operand(0).getSource()).isInteger(1)) {
      // Flax computes masks in floating point.
      open.push_back({term.operand(0).operand(0), holds});
    } else {
      conditions.push_back({term, holds});
    }
  }
  return true;
}

bool Visibility::isAlong(int64_t letter) const {
  return llvm::any_of(conditions, [&](const Condition &condition) {
    const BroadcastOperand &term = condition.term;
    if (!term.as<CompareOp>())
      return term.isAlong(letter);
    // A position does not depend on heads, even if it is broadcast over heads.
    for (unsigned i : {0, 1}) {
      BroadcastOperand side = term.operand(i);
      std::optional<Position> position = readPosition(side);
      if (position ? position->letter == letter : side.isAlong(letter))
        return true;
    }
    return false;
  });
}

bool Visibility::understand(int64_t s, int64_t t) {
  std::optional<int64_t> low;
  for (const Condition &condition : conditions) {
    std::optional<Band> band = getBand(condition, s, t);
    if (!band)
      masks.push_back(condition);
    else if (band->high)
      diagonal = diagonal ? std::min(*diagonal, *band->high) : *band->high;
    else
      low = low ? std::max(*low, *band->low) : *band->low;
  }
  if (low) {
    // A window reaches back from the diagonal.
    if (!diagonal || *low > *diagonal)
      return false;
    window = *diagonal - *low + 1;
  }
  return true;
}

Value Condition::arrange(Emitter &emit, ArrayRef<int64_t> order,
                         ArrayRef<int64_t> sizes) const {
  Value value = term.arrange(emit, order, sizes);
  return holds ? value : emit.unary<NotOp>(value);
}

bool Visibility::seesAlways(int64_t rows, int64_t keys) const {
  if (!masks.empty())
    return false;
  if (!diagonal)
    return true;
  // The band of visible positions must contain a key both for the first row and
  // for the last row.
  return *diagonal >= 0 &&
         (!window || rows - 1 + *diagonal - *window + 1 <= keys - 1);
}
