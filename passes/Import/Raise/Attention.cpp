// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Attention: a softmax between two contractions. Dims are identified by the
// letters of the second contraction, `weights, value -> result`, whatever their
// order and layout:
//
//     b  batch        s  query position    d  feature of queries and keys
//     k  key head     t  key position      e  feature of values
//     g  query head of a group that shares a key head
//
// Dims of size 1 have no letter. They are added again where `tp.attention`
// needs them.

#include "Masks.h"
#include "Patterns.h"

#include "llvm/ADT/SmallSet.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::raise;

static constexpr int64_t kNone = BroadcastOperand::kNone;

namespace {

/// A key or value, and how often each of its heads is repeated.
struct Repeated {
  BroadcastOperand term;
  int64_t times = 1, heads = kNone;
};

struct Attention {
  BroadcastOperand query, key, value;
  Visibility visible;
  double scale = 1;
  /// The number that replaces the scores of hidden keys or, if `isAdded`, is
  /// added to these scores.
  std::optional<double> hidden;
  bool isAdded = false;
  /// The values that are added to the scores. Layers may share such a value.
  SmallVector<Value, 1> addends;
  /// True if rows that see no key are set to zero.
  bool isSafe = false;
  /// True if `tp.attention` gives the right result in every row. False if the
  /// zeros that it gives in rows that see no key would be wrong.
  bool fitsEveryRow = true;
  /// How often each key head is repeated. The copies of a head are adjacent.
  int64_t repeats = 1;
  int64_t b = kNone, k = kNone, g = kNone, s = kNone, t = kNone, d = kNone,
          e = kNone;
  llvm::DenseMap<int64_t, int64_t> sizes;

  int64_t sizeOf(int64_t letter) const {
    auto size = sizes.find(letter);
    return size == sizes.end() ? 1 : size->second;
  }
  Value build(OpBuilder &builder, Location loc, RankedTensorType type,
              ArrayRef<int64_t> resultLetters) const;
  bool hide(const BroadcastOperand &select, bool isInverse, bool added);
  bool readScores(BroadcastOperand scores, Type element);
  bool nameLetters(const BroadcastOperand &weights, ArrayRef<int64_t> result);
};

} // namespace

static SmallVector<int64_t> toLetters(StringRef term) {
  return SmallVector<int64_t>(term.begin(), term.end());
}

/// Returns `term` as an operand of a `tp.attention` on type `element`; nullopt
/// if that would round it. Terms of 16 bits stay narrow, because `tp.attention`
/// widens its operands.
static std::optional<BroadcastOperand> asElement(BroadcastOperand term,
                                                 Type element) {
  Type own = elementOf(term.getSource());
  if (own == element || (own.isF16() || own.isBF16()))
    return own == element || isWide(element) ? std::optional(term)
                                             : std::nullopt;
  auto convert = term.as<ConvertOp>();
  if (convert && elementOf(convert.getInput()) == element)
    return term.operand(0);
  return std::nullopt;
}

/// Handles a select between the scores of visible keys and a very low number.
bool Attention::hide(const BroadcastOperand &select, bool isInverse,
                     bool added) {
  std::optional<double> number = select.operand(isInverse ? 1 : 2).getNumber();
  if (!number || !(scale > 0) || !isHiding(*number * scale) ||
      (hidden && *hidden != *number * scale))
    return false;
  hidden = *number * scale;
  isAdded |= added;
  return visible.require({select.operand(0), !isInverse});
}

/// Reads backwards from the softmax's input to the product of queries and keys.
bool Attention::readScores(BroadcastOperand scores, Type element) {
  for (unsigned depth = 0; depth < 8; ++depth) {
    Type own = elementOf(scores.getSource());
    if (!isWide(own))
      return false;
    if (scores.as<SelectOp>()) {
      bool isInverse = scores.operand(1).getNumber().has_value();
      if (!hide(scores, isInverse, /*added=*/false))
        return false;
      scores = scores.operand(isInverse ? 2 : 1);
      continue;
    }
    if (scores.as<AddOp>()) {
      // scores + select(condition, 0, -1e9), where the select may have 16 bits
      auto asSelect = [](const BroadcastOperand &term) {
        auto convert = term.as<ConvertOp>();
        Type element = convert ? elementOf(convert.getInput()) : Type();
        return convert && (element.isF16() || element.isBF16())
                   ? term.operand(0)
                   : term;
      };
      bool isFirst = bool(asSelect(scores.operand(0)).as<SelectOp>());
      BroadcastOperand select = asSelect(scores.operand(isFirst ? 0 : 1));
      if (!select.as<SelectOp>())
        return false;
      bool isInverse = select.operand(2).isNumber(0);
      if (!select.operand(isInverse ? 2 : 1).isNumber(0) ||
          !hide(select, isInverse, /*added=*/true))
        return false;
      addends.push_back(select.getSource());
      scores = scores.operand(isFirst ? 1 : 0);
      continue;
    }
    if (auto einsum = scores.as<EinsumOp>()) {
      EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
      llvm::DenseMap<int64_t, int64_t> rename;
      for (auto [letter, dim] : llvm::zip_equal(terms.result, scores.getDims()))
        rename[letter] = dim;
      BroadcastOperand sides[2];
      for (unsigned i : {0, 1}) {
        StringRef letters = i ? terms.rhs : terms.lhs;
        SmallVector<int64_t> dims;
        for (auto [letter, size] : llvm::zip_equal(
                 letters, typeOf(einsum->getOperand(i)).getShape())) {
          // Contracted letters get new names, because the same letters may have
          // a different meaning outside of the einsum.
          auto outer = rename.find(letter);
          dims.push_back(outer != rename.end() ? outer->second : letter + 256);
          if (size != 1)
            sizes[dims.back()] = size;
        }
        sides[i] = BroadcastOperand::of(einsum->getOperand(i), dims);
      }
      bool swapped = sides[0].isAlong(t);
      auto asQuery = asElement(sides[swapped], element),
           asKey = asElement(sides[!swapped], element);
      if (!asQuery || !asKey || sides[0].isAlong(t) == sides[1].isAlong(t))
        return false;
      query = *asQuery;
      key = *asKey;
      // Flax scales only the queries; other frameworks scale queries and keys.
      for (BroadcastOperand *side : {&query, &key})
        if (isWide(elementOf(side->getSource()))) {
          Scaled scaled = Scaled::of(*side);
          scale *= scaled.coefficient;
          *side = scaled.term;
        }
      return true;
    }
    Scaled scaled = Scaled::of(scores);
    if (scaled.coefficient == 1)
      return false;
    scale *= scaled.coefficient;
    scores = scaled.term;
  }
  return false;
}

/// If `term` is a reshape that merges [.., heads, times, ..], returns the value
/// that is repeated.
static Repeated getRepeated(const BroadcastOperand &term) {
  auto merge = term.as<ReshapeOp>();
  if (!merge)
    return {term};
  auto broadcast = merge.getInput().getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {term};
  ArrayRef<int64_t> wide = broadcast.getType().getShape(),
                    merged = merge.getType().getShape();
  if (wide.size() != merged.size() + 1)
    return {term};
  // The broadcast must add exactly one dim, directly after the heads.
  for (auto [heads, size] : llvm::enumerate(merged)) {
    if (wide[heads] == size)
      continue;
    if (wide[heads] * wide[heads + 1] != size ||
        merged.drop_front(heads + 1) != wide.drop_front(heads + 2) ||
        llvm::is_contained(broadcast.getDims(), int64_t(heads) + 1))
      return {term};
    SmallVector<int64_t> dims(term.getDims());
    int64_t head = dims[heads];
    dims.insert(dims.begin() + heads + 1, kNone);
    if (wide[heads] == 1 || head == kNone)
      return {term};
    return {BroadcastOperand::of(merge.getInput(), dims), wide[heads + 1],
            head};
  }
  return {term};
}

/// Assigns a role to every letter; returns false if some letter does not fit
/// any role.
bool Attention::nameLetters(const BroadcastOperand &weights,
                            ArrayRef<int64_t> result) {
  auto isOf = [](const BroadcastOperand &term) {
    return [&](int64_t letter) { return term.isAlong(letter); };
  };
  auto inQuery = isOf(query), inKey = isOf(key), inValue = isOf(value);
  SmallVector<int64_t, 2> batch, rows;
  llvm::SmallSet<int64_t, 8> seen;
  for (const BroadcastOperand &term : {query, key, value})
    for (int64_t letter : term.getDims()) {
      if (letter == kNone || letter == t || !seen.insert(letter).second)
        continue;
      bool isResult = llvm::is_contained(result, letter);
      if (isResult && inQuery(letter) && inKey(letter) && inValue(letter))
        batch.push_back(letter);
      else if (isResult && inQuery(letter) && !inKey(letter) &&
               !inValue(letter))
        rows.push_back(letter);
      else if (isResult && !inQuery(letter) && !inKey(letter) && e == kNone)
        e = letter;
      else if (!isResult && inQuery(letter) && inKey(letter) &&
               !inValue(letter) && d == kNone)
        d = letter;
      else
        return false;
    }
  if (!inKey(t) || !inValue(t) || batch.size() > 2 || rows.size() > 2)
    return false;
  for (int64_t letter : weights.getDims())
    if (letter != kNone && letter != t && !llvm::is_contained(batch, letter) &&
        !llvm::is_contained(rows, letter))
      return false;

  // Up to two letters belong to the query alone. Conditions depend on the
  // letter of the position; the other one is a head.
  if (rows.size() == 2) {
    bool isSecond = visible.isAlong(rows[1]);
    if ((isSecond && visible.isAlong(rows[0])) || repeats != 1)
      return false;
    s = rows[isSecond];
    g = rows[!isSecond];
  } else if (rows.size() == 1) {
    s = rows[0];
  }
  if (!visible.understand(s, t))
    return false;
  auto isMasked = [&](int64_t letter) {
    return llvm::any_of(visible.getMasks(), [&](const Condition &mask) {
      return mask.term.isAlong(letter);
    });
  };
  if (batch.size() == 2 && isMasked(batch[1]))
    std::swap(batch[0], batch[1]);
  bool hasBatch =
      batch.size() == 2 || (batch.size() == 1 && isMasked(batch[0]));
  if (repeats != 1) {
    // If key heads are repeated, their letter k must be a batch letter.
    if (!llvm::is_contained(batch, k))
      return false;
    llvm::erase(batch, k);
    b = batch.empty() ? kNone : batch[0];
  } else if (hasBatch) {
    b = batch[0];
    k = batch.size() == 2 ? batch[1] : kNone;
  } else if (!batch.empty()) {
    k = batch[0];
  }
  fitsEveryRow = visible.seesAlways(sizeOf(s), sizeOf(t)) ||
                 (isSafe && std::isinf(*hidden));
  // Conditions that build() emits must not depend on heads.
  return llvm::all_of(
      fitsEveryRow ? visible.getMasks() : visible.getConditions(),
      [&](const Condition &c) {
        return llvm::all_of(c.term.getDims(), [&](int64_t letter) {
          return letter == kNone || letter == b || letter == s || letter == t;
        });
      });
}

Value Attention::build(OpBuilder &builder, Location loc, RankedTensorType type,
                       ArrayRef<int64_t> resultLetters) const {
  Emitter emit(builder, loc);
  Type element = type.getElementType();
  int64_t heads = sizeOf(k) / repeats, group = sizeOf(g) * repeats;
  int64_t rows = sizeOf(s), keys = sizeOf(t);
  // Query heads are one dim with the letter k, or two with k and g.
  SmallVector<int64_t> queryLetters{b, s, k, d},
      querySizes{sizeOf(b), rows, sizeOf(k), sizeOf(d)};
  if (g != kNone) {
    queryLetters.insert(queryLetters.begin() + 3, g);
    querySizes.insert(querySizes.begin() + 3, sizeOf(g));
  }
  Value q =
      emit.convert(query.arrange(emit, queryLetters, querySizes), element);
  q = emit.reshape(q, {sizeOf(b), rows, heads, group, sizeOf(d)});
  Value keyValue = emit.convert(
      key.arrange(emit, {b, t, k, d}, {sizeOf(b), keys, heads, sizeOf(d)}),
      element);
  Value v =
      value.arrange(emit, {b, t, k, e}, {sizeOf(b), keys, heads, sizeOf(e)});
  int64_t plane[] = {sizeOf(b), rows, keys};
  auto conjoin = [&](ArrayRef<Condition> conditions) {
    Value all;
    for (const Condition &condition : conditions) {
      Value one = condition.arrange(emit, {b, s, t}, plane);
      all = all ? emit.binary<AndOp>(all, one) : one;
    }
    return all;
  };
  Value mask = conjoin(visible.getMasks());
  Value offset;
  if (visible.getDiagonal() && *visible.getDiagonal() != 0)
    offset = emit.constant(double(*visible.getDiagonal()),
                           RankedTensorType::get({}, builder.getI32Type()));
  IntegerAttr window;
  if (visible.getWindow())
    window = builder.getI64IntegerAttr(*visible.getWindow());
  SmallVector<int64_t> shape{sizeOf(b), rows, heads, group, sizeOf(e)};
  Value y =
      AttentionOp::create(
          builder, loc, RankedTensorType::get(shape, element), q, keyValue, v,
          offset, /*lengths=*/Value(), mask, builder.getF64FloatAttr(scale),
          visible.getDiagonal() ? builder.getUnitAttr() : UnitAttr(), window)
          .getResult();

  if (!fitsEveryRow) {
    // `tp.attention` gives zeros for a row that sees no key. The original
    // softmax gives NaN if hidden scores are -inf, and the mean of all values
    // if they are finite, because all scores of the row are then equal.
    Value seen =
        visible.getDiagonal() ? conjoin(visible.getConditions()) : mask;
    seen = emit.convert(seen, builder.getI8Type());
    seen = emit.convert(emit.reduce(ReductionKind::Max, seen, 2),
                        builder.getI1Type());
    Value otherwise;
    if (std::isinf(*hidden)) {
      otherwise = emit.constant(std::numeric_limits<double>::quiet_NaN(), y);
    } else {
      Value sum = emit.reduce(ReductionKind::Sum, emit.widen(v), 1);
      Value mean = emit.binary<MulOp>(sum, emit.constant(1.0 / keys, sum));
      otherwise = emit.broadcast(emit.convert(mean, element), shape, {0, 2, 4});
    }
    y = emit.select(emit.broadcast(seen, shape, {0, 1}), y, otherwise);
  }
  queryLetters.back() = e;
  querySizes.back() = sizeOf(e);
  return BroadcastOperand::of(emit.reshape(y, querySizes), queryLetters)
      .arrange(emit, resultLetters, type.getShape());
}

/// Returns true if `rows` is true exactly for the rows in which all `scores`
/// along `t` are -inf.
static bool isNowhereFinite(BroadcastOperand rows,
                            const BroadcastOperand &scores, int64_t t) {
  // Looks through conversions and negations of a boolean. Returns true if the
  // boolean is negated.
  auto peel = [](BroadcastOperand &term) {
    bool isInverse = false;
    while (Operation *op = term.getSource().getDefiningOp()) {
      auto convert = dyn_cast<ConvertOp>(op);
      if (!isa<NotOp>(op) &&
          !(convert && isa<IntegerType>(elementOf(convert.getInput()))))
        break;
      isInverse ^= isa<NotOp>(op);
      term = term.operand(0);
    }
    return isInverse;
  };
  bool isInverse = peel(rows);
  auto reduce = rows.as<ReduceOp>();
  if (!reduce || reduce.getDims().size() != 1 || rows.isAlong(t))
    return false;
  BroadcastOperand each = rows.reduced(t);
  bool isEachInverse = peel(each);
  auto compare = each.as<CompareOp>();
  if (!compare)
    return false;
  bool isUnequal = compare.getPredicate() == ComparePredicate::NE;
  if ((!isUnequal && compare.getPredicate() != ComparePredicate::EQ) ||
      (isEachInverse != isUnequal) != isInverse ||
      // "All scores equal -inf" is a minimum; "no score differs from -inf" is
      // the negation of a maximum.
      reduce.getKind() != (isInverse ? ReductionKind::Max : ReductionKind::Min))
    return false;
  return each.operand(0) == scores &&
         each.operand(1).isNumber(-std::numeric_limits<double>::infinity());
}

/// Returns the softmax inside PyTorch's safe softmax, which is zero where all
/// scores are -inf:
///
///     select(all(x == -inf), 0, softmax(x))
static std::optional<BroadcastOperand>
getSafeSoftmax(const BroadcastOperand &weights) {
  if (!weights.as<SelectOp>() || !weights.operand(1).isNumber(0))
    return std::nullopt;
  BroadcastOperand inner = weights.operand(2);
  auto softmax = inner.as<SoftmaxOp>();
  if (!softmax || !isNowhereFinite(weights.operand(0), inner.operand(0),
                                   inner.getDims()[softmax.getDim()]))
    return std::nullopt;
  return inner;
}

/// Follows transposes from `root`, for as long as each value has only one use.
/// Returns the last transpose; `root` if there is none. Permutes `result`, the
/// letters of the dimensions, in the same way.
static Operation *takeTransposes(Operation *root,
                                 SmallVector<int64_t> &result) {
  while (root->hasOneUse()) {
    auto transpose = dyn_cast<TransposeOp>(*root->user_begin());
    if (!transpose)
      break;
    SmallVector<int64_t> permuted;
    for (int64_t from : transpose.getPermutation())
      permuted.push_back(result[from]);
    result = permuted;
    root = transpose;
  }
  return root;
}

std::optional<Match> tp::raise::matchAttention(Operation *root) {
  auto einsum = dyn_cast<EinsumOp>(root);
  if (!einsum)
    return std::nullopt;
  EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
  SmallVector<int64_t> result = toLetters(terms.result);
  for (unsigned side : {0, 1}) {
    StringRef own = side ? terms.rhs : terms.lhs,
              other = side ? terms.lhs : terms.rhs;
    Value values = einsum->getOperand(1 - side);
    Type element = elementOf(values);
    BroadcastOperand weights =
        BroadcastOperand::of(einsum->getOperand(side), toLetters(own));
    // Weights may be rounded to the 16-bit type of the values; other
    // conversions are not supported.
    if (weights.as<ConvertOp>() && (element.isBF16() || element.isF16()))
      weights = weights.operand(0);
    Attention attention;
    if (std::optional<BroadcastOperand> inner = getSafeSoftmax(weights)) {
      attention.isSafe = true;
      weights = *inner;
    }
    auto softmax = weights.as<SoftmaxOp>();
    if (!softmax || elementOf(einsum.getResult()) != element)
      continue;
    attention.t = weights.getDims()[softmax.getDim()];
    if (attention.t == kNone || llvm::is_contained(result, attention.t))
      continue;
    for (auto [letters, operand] :
         {std::pair(own, einsum->getOperand(side)), std::pair(other, values)})
      for (auto [letter, size] :
           llvm::zip_equal(letters, typeOf(operand).getShape()))
        if (size != 1)
          attention.sizes[letter] = size;
    attention.value = BroadcastOperand::of(values, toLetters(other));
    if (!attention.readScores(weights.operand(0), element))
      continue;
    Repeated key = getRepeated(attention.key),
             value = getRepeated(attention.value);
    if (key.times != 1 && key.times == value.times &&
        key.heads == value.heads) {
      attention.key = key.term;
      attention.value = value.term;
      attention.repeats = key.times;
      attention.k = key.heads;
    }
    if (!attention.nameLetters(weights, result))
      continue;
    // If all keys of a row are hidden, adding the same number to all scores
    // does not change the softmax, unless the number is so large that the
    // scores vanish in rounding.
    constexpr double kAbsorbing = -1e30;
    if (!attention.fitsEveryRow && attention.isAdded &&
        *attention.hidden > kAbsorbing)
      continue;

    Match match{"attention", takeTransposes(root, result), {}, {}};
    match.inputs = {attention.query.getSource(), attention.key.getSource(),
                    attention.value.getSource()};
    llvm::append_range(match.inputs, attention.addends);
    for (const Condition &condition : attention.visible.getConditions())
      match.inputs.push_back(condition.term.getSource());
    for (int64_t &letter : result)
      if (attention.sizeOf(letter) == 1)
        letter = kNone;
    match.build = [attention, result, type = typeOf(match.root->getResult(0))](
                      OpBuilder &builder, Location loc) {
      return attention.build(builder, loc, type, result);
    };
    return match;
  }
  return std::nullopt;
}
