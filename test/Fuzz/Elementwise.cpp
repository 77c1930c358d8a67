// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Element-wise ops, conversions and activations.

#include "Author.h"

using namespace mlir;
using namespace tp;
using namespace tp::fuzz;

namespace {

/// What a unary op may be given.
enum class Domain : uint8_t { All, Exact, Positive, Small, Tangent };

/// 1 + |x|, where division, roots and logarithms are tame.
Value makePositive(Author &author, Value x) {
  Value magnitude = author.create("tp.abs", x, x.getType())->getResult(0);
  return author
      .create("tp.add", {magnitude, author.splat(Author::typeOf(x), 1)},
              x.getType())
      ->getResult(0);
}

/// min(max(x, -limit), limit): exponentials stay small.
Value clamp(Author &author, Value x, int64_t limit) {
  RankedTensorType type = Author::typeOf(x);
  Value low = author.create("tp.max", {x, author.splat(type, -limit)}, type)
                  ->getResult(0);
  return author.create("tp.min", {low, author.splat(type, limit)}, type)
      ->getResult(0);
}

Generator unary(StringRef name, Elements elements, Domain domain,
                bool leavesIntegers) {
  return [=](Author &author) {
    Value x = author.pick(elements);
    Value operand = domain == Domain::Positive  ? makePositive(author, x)
                    : domain == Domain::Small   ? clamp(author, x, 6)
                    : domain == Domain::Tangent ? clamp(author, x, 1)
                                                : x;
    if (author.isInexact(x))
      author.markInexact(operand);
    author.add(author.create(name, operand, x.getType()), leavesIntegers);
  };
}

Generator binary(StringRef name, Elements elements) {
  return [=](Author &author) {
    Value x = author.pick(elements);
    Value y = author.get(Author::typeOf(x), elements == Elements::ExactFloat);
    author.add(author.create(name, {x, y}, x.getType()));
  };
}

void addDivision(Author &author) {
  Value x = author.pick(Elements::Number);
  Value y = author.get(Author::typeOf(x));
  bool isFloat = isa<FloatType>(Author::elementOf(x));
  bool isInexact = author.isInexact(y);
  if (isFloat)
    y = makePositive(author, y);
  author.add(author.create("tp.div", {x, y}, x.getType()),
             isFloat || isInexact);
}

void addPower(Author &author) {
  Value x = author.pick(Elements::Number);
  if (Author::elementOf(x).isUnsignedInteger())
    return; // no -2 to hold it from growing
  Value y = clamp(author, author.get(Author::typeOf(x)), 2);
  bool isFloat = isa<FloatType>(Author::elementOf(x));
  if (isFloat)
    x = makePositive(author, x);
  author.add(author.create("tp.pow", {x, y}, x.getType()), isFloat);
}

void addRemainder(Author &author) {
  Value x = author.pick(author.random.percent(50) ? Elements::ExactFloat
                                                  : Elements::Index);
  Value y = author.get(Author::typeOf(x), /*exact=*/true);
  if (isa<FloatType>(Author::elementOf(x)))
    y = makePositive(author, y);
  author.add(author.create("tp.rem", {x, y}, x.getType()));
}

void addAngle(Author &author) {
  Value x = author.pick(Elements::Float);
  // Left of the origin the angle jumps.
  Value y = makePositive(author, author.get(Author::typeOf(x)));
  author.add(author.create("tp.atan2", {x, y}, x.getType()),
             /*leavesIntegers=*/true);
}

void addBitcast(Author &author) {
  Value x = author.pick(Elements::Index);
  auto from = cast<IntegerType>(Author::elementOf(x));
  auto to = IntegerType::get(author.builder.getContext(), from.getWidth(),
                             from.isUnsigned() ? IntegerType::Signless
                                               : IntegerType::Unsigned);
  author.add(BitcastOp::create(author.builder, author.loc,
                               author.type(Author::shapeOf(x), to), x));
}

void addCompare(Author &author) {
  Value x = author.pick(author.random.pick(
      {Elements::ExactFloat, Elements::Index, Elements::Bool}));
  Value y = author.get(Author::typeOf(x), /*exact=*/true);
  auto predicate = ComparePredicate(author.random.draw(0, 5));
  author.add(CompareOp::create(
      author.builder, author.loc,
      author.type(Author::shapeOf(x), author.builder.getI1Type()), predicate, x,
      y));
}

void addSelect(Author &author) {
  Value x = author.pick(Elements::Any), y = author.get(Author::typeOf(x));
  Value condition = author.get(Author::shapeOf(x), author.builder.getI1Type());
  author.add(SelectOp::create(author.builder, author.loc, x.getType(),
                              condition, x, y));
}

void addConvert(Author &author) {
  // Towards integers, a rounding error could make a step.
  bool toFloat = author.random.percent(50);
  Value x = author.pick(toFloat ? Elements::Any : Elements::ExactFloat);
  Elements elements =
      toFloat ? Elements::Float
              : author.random.pick({Elements::Index, Elements::Index,
                                    Elements::Bool, Elements::Float});
  author.add(ConvertOp::create(
      author.builder, author.loc,
      author.type(Author::shapeOf(x), author.element(elements)), x));
}

/// Most of what comes out of range of the narrow integers, some of all.
void addSaturating(Author &author) {
  Value x = author.pick(Elements::ExactFloat);
  RankedTensorType type = Author::typeOf(x);
  Value large =
      author.create("tp.mul", {x, author.splat(type, 100)}, type)->getResult(0);
  if (author.random.percent(25) && type.getElementType().isF32())
    large = author
                .create("tp.mul", {large, author.splat(type, int64_t(1) << 30)},
                        type)
                ->getResult(0);
  author.add(ConvertOp::create(
      author.builder, author.loc,
      author.type(type.getShape(), author.element(Elements::Index)), large));
}

void addGelu(Author &author) {
  Value x = author.pick(Elements::Float);
  author.add(GeluOp::create(author.builder, author.loc, x.getType(), x,
                            author.random.percent(50)),
             /*leavesIntegers=*/true);
}

void addGated(Author &author) {
  Value gate = author.pick(Elements::Float);
  Value up = author.get(Author::typeOf(gate));
  author.add(GatedOp::create(author.builder, author.loc, gate.getType(),
                             Activation(author.random.draw(0, 3)), gate, up),
             /*leavesIntegers=*/true);
}

} // namespace

void tp::fuzz::addElementwise(Generators &generators) {
  auto add = [&](StringRef name, Elements elements, Domain domain,
                 bool leavesIntegers) {
    std::string full = "tp." + name.str();
    generators[full] = unary(generators.try_emplace(full).first->first,
                             elements, domain, leavesIntegers);
  };
  for (const char *name : {"neg", "abs"})
    add(name, Elements::Number, Domain::All, false);
  for (const char *name : {"relu", "stop_gradient"})
    add(name, Elements::Float, Domain::All, false);
  for (const char *name : {"not", "popcount", "count_leading_zeros"})
    add(name, Elements::Index, Domain::All, false);
  add("cbrt", Elements::Float, Domain::All, true);
  add("tan", Elements::Float, Domain::Tangent, true);
  for (const char *name : {"sign", "floor", "ceil", "round_even"})
    add(name, Elements::ExactFloat, Domain::Exact, false);
  for (const char *name : {"sin", "cos", "tanh", "erf", "logistic", "silu"})
    add(name, Elements::Float, Domain::All, true);
  for (const char *name : {"exp", "expm1"})
    add(name, Elements::Float, Domain::Small, true);
  for (const char *name : {"log", "log1p", "sqrt", "rsqrt"})
    add(name, Elements::Float, Domain::Positive, true);
  for (const char *name : {"add", "sub", "mul", "max", "min"})
    generators["tp." + std::string(name)] =
        binary(generators.try_emplace("tp." + std::string(name)).first->first,
               Elements::Number);
  for (const char *name : {"and", "or", "xor", "shift_left",
                           "shift_right_arithmetic", "shift_right_logical"})
    generators["tp." + std::string(name)] =
        binary(generators.try_emplace("tp." + std::string(name)).first->first,
               Elements::Index);
  generators["tp.div"] = addDivision;
  generators["tp.pow"] = addPower;
  generators["tp.rem"] = addRemainder;
  generators["tp.atan2"] = addAngle;
  generators["tp.bitcast"] = addBitcast;
  generators["tp.compare"] = addCompare;
  generators["tp.select"] = addSelect;
  generators["tp.convert"] = addConvert;
  generators["tp.convert, out of range"] = addSaturating;
  generators["tp.gelu"] = addGelu;
  generators["tp.gated"] = addGated;
}
