// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rotary embedding. With a and b the two features of every pair, one of
//
//     concat(a cos - b sin, b cos + a sin)          or stacked, if interleaved
//     concat(a cos + b sin, b cos - a sin)          rotated back, in gradients
//     x cos' + concat(-b, a) sin'                   cos' = concat(cos, cos)

#include "Patterns.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace tp;
using namespace tp::raise;

namespace {

/// Half of the features of a value: every `stride`-th from `begin` on.
struct Features {
  Value of;
  int64_t begin, stride;

  bool operator==(const Features &o) const {
    return of == o.of && begin == o.begin && stride == o.stride;
  }
};

struct Rotation {
  Value input;
  BroadcastOperand cos, sin;
  /// The number of pairs that are rotated.
  int64_t half = 0;
  bool interleaved = false;
  /// True if the angles are negated, as in gradients.
  bool isBack = false;
};

} // namespace

/// If `term` is one half of a value's features, returns that half; otherwise
/// nullopt. Except for its last dim, the value has the shape `half`.
static std::optional<Features> getFeatures(const BroadcastOperand &term,
                                           ArrayRef<int64_t> half) {
  auto slice = term.as<SliceOp>();
  if (!slice)
    return std::nullopt;
  ArrayRef<int64_t> starts = slice.getStarts(), strides = slice.getStrides(),
                    from = typeOf(slice.getInput()).getShape();
  int64_t rank = starts.size(), last = half.size() - 1;
  for (int64_t i = 0; i + 1 < rank; ++i)
    if (slice.getType().getDimSize(i) != from[i])
      return std::nullopt;
  // Dims must be in order: nothing is transposed or repeated.
  int64_t next = 0;
  for (int64_t dim : term.getDims()) {
    if (dim == BroadcastOperand::kNone)
      continue;
    while (next < dim && half[next] == 1)
      ++next;
    if (dim != next++)
      return std::nullopt;
  }
  while (next <= last && half[next] == 1)
    ++next;
  if (next <= last)
    return std::nullopt;
  if (rank == last + 1)
    return Features{slice.getInput(), starts.back(), strides.back()};
  // x.reshape(.., h, 2)[.., i]
  auto pairs = slice.getInput().getDefiningOp<ReshapeOp>();
  if (rank != last + 2 || !pairs || from[last + 1] != 2 ||
      from[last] != half[last] || slice.getType().getDimSize(rank - 1) != 1 ||
      typeOf(pairs.getInput()).getShape().drop_back() != from.drop_back(2))
    return std::nullopt;
  return Features{pairs.getInput(), starts.back(), 2};
}

namespace {

/// a * cos or -a * cos.
struct Turned {
  Features features;
  BroadcastOperand angles;
  bool isNegative;
};

} // namespace

static BroadcastOperand dropSign(const BroadcastOperand &term,
                                 bool &isNegative) {
  if (!term.as<NegOp>())
    return term;
  isNegative = !isNegative;
  return term.operand(0);
}

static std::optional<Turned> getTurned(const BroadcastOperand &term,
                                       ArrayRef<int64_t> half,
                                       bool isNegative) {
  BroadcastOperand product = dropSign(term, isNegative);
  if (!product.as<MulOp>())
    return std::nullopt;
  for (unsigned feature : {0, 1}) {
    bool isBoth = isNegative;
    BroadcastOperand factor = dropSign(product.operand(feature), isBoth);
    if (std::optional<Features> of = getFeatures(factor, half))
      return Turned{*of, product.operand(1 - feature), isBoth};
  }
  return std::nullopt;
}

/// Returns the two products whose sum or difference is one half of the rotated
/// result. The product that contains the first half of the input's features
/// comes first. `half` is the shape of one half.
static std::optional<std::pair<Turned, Turned>>
getBoth(const BroadcastOperand &sum, ArrayRef<int64_t> half) {
  if (!sum.as<AddOp>() && !sum.as<SubOp>())
    return std::nullopt;
  auto first = getTurned(sum.operand(0), half, /*isNegative=*/false),
       second = getTurned(sum.operand(1), half, bool(sum.as<SubOp>()));
  if (!first || !second)
    return std::nullopt;
  return first->features.begin == 0 ? std::pair(*first, *second)
                                    : std::pair(*second, *first);
}

/// Matches a rotation, given both halves of the result.
static std::optional<Rotation> matchHalves(const BroadcastOperand &first,
                                           const BroadcastOperand &second,
                                           ArrayRef<int64_t> half) {
  auto upper = getBoth(first, half), lower = getBoth(second, half);
  if (!upper || !lower)
    return std::nullopt;
  const auto &[acos, bsin] = *upper;
  const auto &[asin, bcos] = *lower;
  const Features &a = acos.features, &b = bsin.features;
  if (!(asin.features == a) || !(bcos.features == b) ||
      !(acos.angles == bcos.angles) || !(asin.angles == bsin.angles) ||
      acos.isNegative || bcos.isNegative || asin.isNegative == bsin.isNegative)
    return std::nullopt;
  int64_t size = half.back();
  bool interleaved = a.stride == 2;
  if (a.of != b.of || a.begin != 0 || a.stride != b.stride ||
      b.begin != (interleaved ? 1 : size) || a.stride > 2)
    return std::nullopt;
  return Rotation{a.of, acos.angles, bsin.angles,
                  size, interleaved, /*isBack=*/asin.isNegative};
}

/// Matches concat(y1, y2), perhaps followed by features that are not rotated.
static std::optional<Rotation> matchConcat(ConcatOp concat) {
  auto type = concat.getType();
  int64_t last = type.getRank() - 1;
  unsigned parts = concat.getInputs().size();
  if (int64_t(concat.getDim()) != last || parts < 2 || parts > 3)
    return std::nullopt;
  Value first = concat.getInputs()[0], second = concat.getInputs()[1];
  if (first.getType() != second.getType())
    return std::nullopt;
  std::optional<Rotation> rotation =
      matchHalves(BroadcastOperand::of(first), BroadcastOperand::of(second),
                  typeOf(first).getShape());
  if (!rotation || rotation->interleaved || rotation->input.getType() != type)
    return std::nullopt;
  if (parts == 3) {
    auto rest = concat.getInputs()[2].getDefiningOp<SliceOp>();
    if (!rest || rest.getInput() != rotation->input ||
        rest.getStarts().back() != 2 * rotation->half ||
        rest.getStrides().back() != 1)
      return std::nullopt;
  }
  return rotation;
}

/// Matches stack(y1, y2, -1), reshaped to [.., 2h].
static std::optional<Rotation> matchStack(ReshapeOp reshape) {
  auto stack = reshape.getInput().getDefiningOp<ConcatOp>();
  if (!stack || stack.getInputs().size() != 2)
    return std::nullopt;
  ArrayRef<int64_t> pairs = stack.getType().getShape(),
                    shape = reshape.getType().getShape();
  int64_t rank = pairs.size();
  if (int64_t(stack.getDim()) != rank - 1 || pairs.back() != 2 ||
      rank != int64_t(shape.size()) + 1 ||
      pairs.drop_back(2) != shape.drop_back() ||
      typeOf(stack.getInputs()[0]).getShape().back() != 1)
    return std::nullopt;
  std::optional<Rotation> rotation = matchHalves(
      BroadcastOperand::of(stack.getInputs()[0]),
      BroadcastOperand::of(stack.getInputs()[1]), pairs.drop_back());
  if (!rotation || !rotation->interleaved ||
      rotation->input.getType() != reshape.getType())
    return std::nullopt;
  return rotation;
}

/// Returns true if both halves of the last dim are equal.
static bool isDoubled(const BroadcastOperand &angles) {
  BroadcastOperand inner = angles;
  if (inner.as<CosOp>() || inner.as<SinOp>())
    inner = inner.operand(0);
  // All angles may have a common factor, as in x cos(s m) with a number s.
  inner = Scaled::of(inner).term;
  auto concat = inner.as<ConcatOp>();
  return concat && concat.getInputs().size() == 2 &&
         concat.getInputs()[0] == concat.getInputs()[1] &&
         int64_t(concat.getDim()) == concat.getType().getRank() - 1;
}

/// Matches x * cos' + concat(-b, a) * sin', where x is concat(a, b), cos' is
/// concat(cos, cos) and sin' is concat(sin, sin).
static std::optional<Rotation> matchTurnedHalves(AddOp add) {
  ArrayRef<int64_t> shape = add.getType().getShape();
  int64_t last = shape.size() - 1;
  if (shape.empty() || shape[last] % 2 != 0)
    return std::nullopt;
  SmallVector<int64_t> half(shape);
  half[last] /= 2;
  for (unsigned straight : {0, 1}) {
    auto xcos = add->getOperand(straight).getDefiningOp<MulOp>(),
         turned = add->getOperand(1 - straight).getDefiningOp<MulOp>();
    if (!xcos || !turned)
      return std::nullopt;
    for (unsigned i : {0, 1}) {
      auto concat = turned->getOperand(i).getDefiningOp<ConcatOp>();
      if (!concat || concat.getInputs().size() != 2 ||
          int64_t(concat.getDim()) != last)
        continue;
      BroadcastOperand minus = BroadcastOperand::of(concat.getInputs()[0]);
      if (!minus.as<NegOp>())
        continue;
      auto b = getFeatures(minus.operand(0), half),
           a = getFeatures(BroadcastOperand::of(concat.getInputs()[1]), half);
      if (!a || !b || a->of != b->of || !(*a == Features{a->of, 0, 1}) ||
          !(*b == Features{a->of, half[last], 1}))
        continue;
      for (unsigned x : {0, 1}) {
        if (xcos->getOperand(x) != a->of)
          continue;
        BroadcastOperand cos = BroadcastOperand::of(xcos->getOperand(1 - x)),
                         sin = BroadcastOperand::of(turned->getOperand(1 - i));
        if (isDoubled(cos) && isDoubled(sin))
          return Rotation{a->of, cos, sin, half[last]};
      }
    }
  }
  return std::nullopt;
}

static std::optional<Rotation> matchRotation(Operation *root) {
  if (root->getNumResults() != 1 || !isWide(elementOf(root->getResult(0))))
    return std::nullopt;
  if (auto concat = dyn_cast<ConcatOp>(root))
    return matchConcat(concat);
  if (auto reshape = dyn_cast<ReshapeOp>(root))
    return matchStack(reshape);
  if (auto add = dyn_cast<AddOp>(root))
    return matchTurnedHalves(add);
  return std::nullopt;
}

std::optional<Match> tp::raise::matchRotary(Operation *root) {
  std::optional<Rotation> rotation = matchRotation(root);
  if (!rotation)
    return std::nullopt;

  // Angles run along positions and pairs, and perhaps along a batch dim in
  // front of them.
  SmallVector<int64_t> shape(typeOf(rotation->input).getShape());
  int64_t last = shape.size() - 1;
  SmallVector<int64_t> lead;
  for (const BroadcastOperand &angles : {rotation->cos, rotation->sin})
    for (int64_t dim : angles.getDims())
      if (dim != BroadcastOperand::kNone && dim != last &&
          !llvm::is_contained(lead, dim))
        lead.push_back(dim);
  llvm::sort(lead);
  if (lead.size() > 2 || last < 1)
    return std::nullopt;
  if (lead.empty())
    lead.push_back(0);
  int64_t position = lead.back(), batch = -1;
  if (lead.size() == 2)
    batch = lead[0];
  else
    for (int64_t dim = last - 1; dim >= 0; --dim)
      if (dim != position)
        batch = dim;
  // Values [position, feature] and [position, head, feature] have no batch dim.
  SmallVector<int64_t> order, sizes;
  bool addsBatch = batch < 0 || (lead.size() == 1 && position == 0);
  if (!addsBatch)
    order.push_back(batch);
  order.push_back(position);
  for (int64_t dim = 0; dim <= last; ++dim)
    if (!llvm::is_contained(order, dim))
      order.push_back(dim);
  for (int64_t dim : order)
    sizes.push_back(shape[dim]);
  if (addsBatch)
    sizes.insert(sizes.begin(), 1);

  Match match{"rotary", root, {}, {}};
  match.inputs = {rotation->input, rotation->cos.getSource(),
                  rotation->sin.getSource()};
  match.build = [=, rotation = *rotation, isDouble = isa<AddOp>(root)](
                    OpBuilder &builder, Location loc) -> Value {
    Emitter emit(builder, loc);
    SmallVector<int64_t> angleOrder{position, last},
        angleSizes{shape[position], rotation.half};
    if (lead.size() == 2) {
      angleOrder.insert(angleOrder.begin(), batch);
      angleSizes.insert(angleSizes.begin(), shape[batch]);
    }
    auto getAngles = [&](const BroadcastOperand &angles) {
      SmallVector<int64_t> wide(angleSizes);
      if (isDouble)
        wide.back() *= 2;
      Value value = angles.arrange(emit, angleOrder, wide);
      SmallVector<int64_t> starts(wide.size(), 0);
      return isDouble ? emit.slice(value, starts, angleSizes) : value;
    };
    Value cos = getAngles(rotation.cos), sin = getAngles(rotation.sin);
    if (rotation.isBack)
      sin = emit.unary<NegOp>(sin);
    Value x = rotation.input;
    bool isInOrder = llvm::is_sorted(order);
    if (!isInOrder)
      x = emit.transpose(x, order);
    x = emit.reshape(x, sizes);
    Value y = RotaryOp::create(builder, loc, x.getType(), x, cos, sin,
                               rotation.interleaved);
    if (addsBatch)
      y = emit.reshape(y, ArrayRef<int64_t>(sizes).drop_front());
    return isInOrder ? y : emit.transpose(y, invertPermutationVector(order));
  };
  return match;
}
