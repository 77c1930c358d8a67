// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// GELU, SiLU, and products gated by them.

#include "Patterns.h"

#include "passes/Import/StableHLO/StableHLO.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::raise;

static constexpr double kPi = 3.14159265358979323846;

/// If `sum` is the sum of 1 and another operand, returns that operand.
static std::optional<BroadcastOperand>
getBesideOne(const BroadcastOperand &sum) {
  if (sum.as<AddOp>())
    for (unsigned one : {0, 1})
      if (sum.operand(one).isNumber(1))
        return sum.operand(1 - one);
  return std::nullopt;
}

/// Returns the x in exp(-x) + 1.
static std::optional<BroadcastOperand>
getLogisticInput(const BroadcastOperand &denominator) {
  std::optional<BroadcastOperand> exp = getBesideOne(denominator);
  if (!exp || !exp->as<ExpOp>() || !exp->operand(0).as<NegOp>())
    return std::nullopt;
  return exp->operand(0).operand(0);
}

/// Returns true if `cube` is x^3, as x * x * x or a power.
static bool isCube(const BroadcastOperand &cube, const BroadcastOperand &x) {
  if (cube.as<PowOp>())
    return cube.operand(1).isNumber(3) && cube.operand(0) == x;
  Product product = Product::of(cube, &x);
  return product.coefficient == 1 && product.under.empty() &&
         product.over.size() == 3 &&
         llvm::all_of(product.over, [&](const BroadcastOperand &factor) {
           return factor == x;
         });
}

/// Returns the x in sqrt(2 / pi) * (x + 0.044715 * x^3).
static std::optional<BroadcastOperand>
getTanhInput(const BroadcastOperand &argument, Type element) {
  auto [outer, sum] = Scaled::of(argument);
  if (!sum.as<AddOp>() || !isRounded(outer, std::sqrt(2 / kPi), element))
    return std::nullopt;
  for (unsigned linear : {0, 1}) {
    BroadcastOperand x = sum.operand(linear);
    auto [inner, cube] = Scaled::of(sum.operand(1 - linear));
    if (isRounded(inner, 0.044715, element) && isCube(cube, x))
      return x;
  }
  return std::nullopt;
}

/// If `erfc` is erfc(x) in the form that the importer writes, returns x.
static std::optional<BroadcastOperand>
getErfcInput(const BroadcastOperand &erfc) {
  auto select = erfc.as<SelectOp>();
  if (!select)
    return std::nullopt;
  auto compare = select.getCondition().getDefiningOp<CompareOp>();
  auto size = compare ? compare.getLhs().getDefiningOp<AbsOp>() : nullptr;
  if (!size)
    return std::nullopt;
  Block scratch;
  OpBuilder builder(select.getContext());
  builder.setInsertionPointToStart(&scratch);
  Emitter emit(builder, select.getLoc());
  Value expected = emitErfc(emit, size.getInput());
  if (!isWrittenAlike(select, expected))
    return std::nullopt;
  return BroadcastOperand::of(size.getInput(), erfc.getDims());
}

namespace {

/// The activation of x that one factor of a product suggests: erf, for example,
/// suggests GELU. The product is this activation if its other factors are
/// `coefficient` and x.
struct Hint {
  Activation kind;
  BroadcastOperand x;
  double coefficient;
};

} // namespace

static std::optional<Hint> readFactor(const BroadcastOperand &factor,
                                      bool isUnder, Type element) {
  if (isUnder) {
    if (std::optional<BroadcastOperand> x = getLogisticInput(factor))
      return Hint{Activation::Silu, *x, 1};
    return std::nullopt;
  }
  if (factor.as<LogisticOp>())
    return Hint{Activation::Silu, factor.operand(0), 1};
  if (std::optional<BroadcastOperand> inner = getErfcInput(factor)) {
    auto [coefficient, x] = Scaled::of(*inner);
    if (isRounded(coefficient, -std::sqrt(0.5), element))
      return Hint{Activation::Gelu, x, 0.5};
    return std::nullopt;
  }
  std::optional<BroadcastOperand> curve = getBesideOne(factor);
  if (curve && curve->as<ErfOp>()) {
    auto [coefficient, x] = Scaled::of(curve->operand(0));
    if (isRounded(coefficient, std::sqrt(0.5), element))
      return Hint{Activation::Gelu, x, 0.5};
  }
  if (curve && curve->as<TanhOp>())
    if (std::optional<BroadcastOperand> x =
            getTanhInput(curve->operand(0), element))
      return Hint{Activation::GeluTanh, *x, 0.5};
  return std::nullopt;
}

std::optional<Match> tp::raise::matchActivation(Operation *root) {
  if (!isa<MulOp, DivOp>(root))
    return std::nullopt;
  auto type = typeOf(root->getResult(0));
  if (!isWide(type.getElementType()))
    return std::nullopt;
  BroadcastOperand whole = BroadcastOperand::of(root->getResult(0));
  Product apart = Product::of(whole);
  std::optional<Hint> hint;
  for (bool isUnder : {false, true})
    for (const BroadcastOperand &factor : isUnder ? apart.under : apart.over)
      if (!hint)
        hint = readFactor(factor, isUnder, type.getElementType());
  if (!hint)
    return std::nullopt;

  // Apart from this factor, the product must consist of x and the coefficient.
  Product product = Product::of(whole, &hint->x);
  unsigned under = product.under.size();
  if (product.coefficient != hint->coefficient ||
      product.over.size() + under != 2 || under > 1 ||
      llvm::count(product.over, hint->x) != 1)
    return std::nullopt;

  Match match{hint->kind == Activation::Silu ? "silu" : "gelu", root, {}, {}};
  match.inputs.push_back(hint->x.getSource());
  match.build = [hint = *hint, type](OpBuilder &builder,
                                     Location loc) -> Value {
    Emitter emit(builder, loc);
    Value x = hint.x.materialize(emit, type.getShape());
    if (hint.kind == Activation::Silu)
      return SiluOp::create(builder, loc, type, x);
    return GeluOp::create(builder, loc, type, x,
                          hint.kind == Activation::GeluTanh);
  };
  return match;
}

std::optional<Match> tp::raise::matchGated(Operation *root) {
  auto mul = dyn_cast<MulOp>(root);
  if (!mul)
    return std::nullopt;
  for (unsigned gate : {0, 1}) {
    Operation *active = mul->getOperand(gate).getDefiningOp();
    if (!active || !isa<SiluOp, GeluOp>(active) || !active->hasOneUse())
      continue;
    auto gelu = dyn_cast<GeluOp>(active);
    Activation kind = !gelu            ? Activation::Silu
                      : gelu.getTanh() ? Activation::GeluTanh
                                       : Activation::Gelu;
    Value x = active->getOperand(0), up = mul->getOperand(1 - gate);
    Match match{"gated", root, {x, up}, {}};
    match.build = [x, up, kind](OpBuilder &builder, Location loc) -> Value {
      return GatedOp::create(builder, loc, x.getType(), kind, x, up);
    };
    return match;
  }
  return std::nullopt;
}
