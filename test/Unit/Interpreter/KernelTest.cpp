// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every kernel against a direct computation, on every element type.

#include "Harness.h"

#include <complex>

using namespace tp;
using namespace tp::interp;
using namespace mlir;

namespace {

class KernelTest : public InterpreterFixture {};

//===----------------------------------------------------------------------===//
// Moving elements
//===----------------------------------------------------------------------===//

// Broadcast, transpose and reshape put every element where its index says.
TEST_F(KernelTest, MovesDimensions) {
  for (Type element : allTypes()) {
    TensorValue x = random(type({3, 5}, element));
    TensorValue wide =
        evaluator.broadcast(x, {1, 3}, type({2, 3, 4, 5}, element));
    expectElements(wide, [&](const Index &n) { return at(x, {n[1], n[3]}); });

    TensorValue cube = random(type({2, 3, 5}, element));
    TensorValue turned =
        evaluator.transpose(cube, {2, 0, 1}, type({5, 2, 3}, element));
    expectElements(
        turned, [&](const Index &n) { return at(cube, {n[1], n[2], n[0]}); });

    TensorValue read = evaluator.reshape(cube, type({6, 5}, element));
    expectElements(read, [&](const Index &n) {
      return at(cube, {n[0] / 3, n[0] % 3, n[1]});
    });
  }
}

// Slices, concatenations and padding of uneven parts.
TEST_F(KernelTest, TakesAndPutsParts) {
  for (Type element : allTypes()) {
    TensorValue x = random(type({7, 5}, element));
    TensorValue part =
        evaluator.slice(x, {1, 2}, {2, 1}, type({3, 3}, element));
    expectElements(
        part, [&](const Index &n) { return at(x, {1 + 2 * n[0], 2 + n[1]}); });
    TensorValue none =
        evaluator.slice(x, {7, 0}, {1, 1}, type({0, 5}, element));
    EXPECT_EQ(toDense(none).size(), 0);

    TensorValue y = random(type({7, 2}, element));
    TensorValue both = evaluator.concat({x, y, x}, 1, type({7, 12}, element));
    expectElements(both, [&](const Index &n) {
      return n[1] < 5   ? at(x, n)
             : n[1] < 7 ? at(y, {n[0], n[1] - 5})
                        : at(x, {n[0], n[1] - 7});
    });

    TensorValue value = random(type({}, element));
    TensorValue padded =
        evaluator.pad(x, value, {2, 0}, type({10, 6}, element));
    expectElements(padded, [&](const Index &n) {
      bool inside = n[0] >= 2 && n[0] < 9 && n[1] < 5;
      return inside ? at(x, {n[0] - 2, n[1]}) : at(value, {});
    });
  }
}

// Starts of dynamic slices are clamped, from both sides and for huge unsigned
// ones.
TEST_F(KernelTest, ClampsDynamicSlices) {
  TensorValue x = random(type({7, 5}, f32()));
  TensorValue update = random(type({3, 2}, f32()));
  for (Type index : {Type(i(32)), Type(i(64)), parse("ui64")})
    for (int64_t start : {-3, 0, 2, 4, 5, 100}) {
      RankedTensorType scalar = type({}, index);
      TensorValue row = makeIntegerTensor(scalar, {start});
      TensorValue column = makeIntegerTensor(scalar, {int64_t(1)});
      bool huge = start < 0 && index.isUnsignedInteger();
      int64_t first = huge ? 4 : std::clamp<int64_t>(start, 0, 4);
      TensorValue part =
          evaluator.dynamicSlice(x, {row, column}, type({3, 2}, f32()));
      expectElements(part, [&](const Index &n) {
        return at(x, {first + n[0], 1 + n[1]});
      });
      TensorValue whole = evaluator.dynamicUpdateSlice(x, update, {row, column},
                                                       type({7, 5}, f32()));
      expectElements(whole, [&](const Index &n) {
        bool inside =
            n[0] >= first && n[0] < first + 3 && n[1] >= 1 && n[1] < 3;
        return inside ? at(update, {n[0] - first, n[1] - 1}) : at(x, n);
      });
    }
}

// x[b, o, indices[b, i], r], zero where the index is outside.
TEST_F(KernelTest, Gathers) {
  for (Type element : allTypes()) {
    TensorValue x = random(type({2, 3, 5, 4}, element));
    TensorValue indices = draw(type({2, 6}, i(32)), -2, 7);
    TensorValue y = evaluator.gather(x, indices, /*axis=*/2, /*batchDims=*/1,
                                     type({2, 3, 6, 4}, element));
    expectElements(y, [&](const Index &n) {
      int64_t place = integer(indices, {n[0], n[2]});
      return place < 0 || place >= 5 ? makeInteger(0)
                                     : at(x, {n[0], n[1], place, n[3]});
    });
    TensorValue rows = evaluator.gather(x, draw(type({}, i(64)), 1, 1), 0, 0,
                                        type({3, 5, 4}, element));
    expectElements(
        rows, [&](const Index &n) { return at(x, {1, n[0], n[1], n[2]}); });
  }
}

// Updates in the order of the indices; those outside are dropped.
TEST_F(KernelTest, Scatters) {
  TensorValue indices = draw(type({2, 6}, i(32)), -1, 5);
  for (Type element : {Type(i(32)), Type(i(8)), f32()})
    for (ScatterKind kind :
         {ScatterKind::Set, ScatterKind::Add, ScatterKind::Max,
          ScatterKind::Min, ScatterKind::Mul}) {
      TensorValue x = draw(type({2, 3, 5}, element), -9, 9);
      TensorValue updates = draw(type({2, 3, 6}, element), -9, 9);
      TensorValue y =
          evaluator.scatter(kind, x, indices, updates, /*axis=*/2,
                            /*batchDims=*/1, type({2, 3, 5}, element));
      bool isFloat = isa<FloatType>(element);
      expectElements(y, [&](const Index &n) {
        auto number = [&](Element e) {
          return isFloat ? e.real : double(e.integer);
        };
        double value = number(at(x, n));
        for (int64_t u = 0; u < 6; ++u) {
          if (integer(indices, {n[0], u}) != n[2])
            continue;
          double update = number(at(updates, {n[0], n[1], u}));
          value = kind == ScatterKind::Set   ? update
                  : kind == ScatterKind::Add ? value + update
                  : kind == ScatterKind::Mul ? value * update
                  : kind == ScatterKind::Max ? std::max(value, update)
                                             : std::min(value, update);
        }
        if (isFloat)
          return makeReal(value);
        auto integerType = cast<IntegerType>(element);
        return makeInteger(wrapInteger(int64_t(value), integerType));
      });
    }
}

// Ascending or descending, equal elements in order, NaNs above all numbers.
TEST_F(KernelTest, SortsStably) {
  TensorValue x = draw(type({3, 20, 2}, f32()), 0, 6);
  for (bool descending : {false, true}) {
    auto [values, places] = evaluator.sort(
        x, 1, descending, type({3, 20, 2}, f32()), type({3, 20, 2}, i(32)));
    forEachIndex(
        {3, 20, 2}, [&, values = values, places = places](const Index &n) {
          EXPECT_EQ(real(values, n), real(x, {n[0], integer(places, n), n[2]}));
          if (n[1] == 0)
            return;
          Index before{n[0], n[1] - 1, n[2]};
          double a = real(values, before), b = real(values, n);
          EXPECT_TRUE(descending ? a >= b : a <= b);
          if (a == b)
            EXPECT_LT(integer(places, before), integer(places, n));
        });
  }
  RankedTensorType row = type({4}, f32());
  TensorValue odd = makeRealTensor(row, {NAN, 2, NAN, 1});
  auto [up, upPlaces] = evaluator.sort(odd, 0, false, row, type({4}, i(32)));
  EXPECT_EQ(evaluator.getIntegers(upPlaces),
            (SmallVector<int64_t>{3, 1, 0, 2}));
  auto [down, downPlaces] = evaluator.sort(odd, 0, true, row, type({4}, i(32)));
  EXPECT_EQ(evaluator.getIntegers(downPlaces),
            (SmallVector<int64_t>{0, 2, 1, 3}));
  // Unsigned integers by their size, not by their bits.
  TensorValue big =
      makeIntegerTensor(type({2}, parse("ui64")), {int64_t(-1), int64_t(1)});
  auto [sorted, order] =
      evaluator.sort(big, 0, false, big->getType(), type({2}, i(32)));
  EXPECT_EQ(evaluator.getIntegers(order), (SmallVector<int64_t>{1, 0}));
}

TEST_F(KernelTest, CountsAndSelects) {
  for (Type element : allTypes()) {
    TensorValue iota = evaluator.iota(1, type({3, 5, 2}, element));
    expectElements(iota, [&](const Index &n) {
      auto integer = dyn_cast<IntegerType>(element);
      return integer ? makeInteger(wrapInteger(n[1], integer))
                     : makeReal(double(n[1]));
    });
    TensorValue a = random(type({3, 5}, element));
    TensorValue b = random(type({3, 5}, element));
    TensorValue which = random(type({3, 5}, i(1)));
    expectElements(
        evaluator.select(which, a, b, type({3, 5}, element)),
        [&](const Index &n) { return at(integer(which, n) ? a : b, n); });
  }
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// `value` as `type` keeps it, computed without bit tricks.
int64_t wrapSlowly(__int128 value, IntegerType type) {
  __int128 range = __int128(1) << type.getWidth();
  value = (value % range + range) % range;
  bool isSigned = !type.isUnsigned() && type.getWidth() > 1;
  if (isSigned && value >= range / 2)
    value -= range;
  return int64_t(value);
}

/// The number an element stands for.
__int128 numberOf(int64_t value, IntegerType type) {
  return type.isUnsigned() ? __int128(uint64_t(value)) : __int128(value);
}

std::optional<__int128> binaryDirectly(BinaryKind kind, __int128 a,
                                       __int128 b) {
  switch (kind) {
  case BinaryKind::Add:
    return a + b;
  case BinaryKind::Sub:
    return a - b;
  case BinaryKind::Mul:
    return __int128((unsigned __int128)a * (unsigned __int128)b);
  case BinaryKind::Div:
    return b == 0 ? -1 : a / b;
  case BinaryKind::Rem:
    return b == 0 ? a : a % b;
  case BinaryKind::Max:
    return std::max(a, b);
  case BinaryKind::Min:
    return std::min(a, b);
  case BinaryKind::And:
    return a & b;
  case BinaryKind::Or:
    return a | b;
  case BinaryKind::Xor:
    return a ^ b;
  default:
    return std::nullopt;
  }
  return std::nullopt;
}

// All integer types wrap around; nothing traps, not even the least value by -1
// or anything by 0.
TEST_F(KernelTest, IntegerArithmeticWraps) {
  for (Type element : integers()) {
    auto integerType = cast<IntegerType>(element);
    RankedTensorType row = type({64}, element);
    auto a = std::make_shared<DenseTensor>(toDense(random(row)));
    auto b = std::make_shared<DenseTensor>(toDense(random(row)));
    (*a)[0] = makeInteger(wrapInteger(INT64_MIN, integerType));
    (*a)[1] = evaluator.getIdentity(ReduceKind::Max, element);
    (*b)[1] = makeInteger(wrapInteger(-1, integerType));
    (*b)[2] = makeInteger(0);
    for (BinaryKind kind :
         {BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul, BinaryKind::Div,
          BinaryKind::Rem, BinaryKind::Max, BinaryKind::Min, BinaryKind::And,
          BinaryKind::Or, BinaryKind::Xor})
      expectElements(evaluator.binary(kind, a, b, row), [&](const Index &n) {
        auto result = binaryDirectly(kind, numberOf(integer(a, n), integerType),
                                     numberOf(integer(b, n), integerType));
        return makeInteger(wrapSlowly(*result, integerType));
      });
    for (UnaryKind kind :
         {UnaryKind::Neg, UnaryKind::Abs, UnaryKind::Sign, UnaryKind::Not})
      expectElements(evaluator.unary(kind, a, row), [&](const Index &n) {
        __int128 x = numberOf(integer(a, n), integerType);
        __int128 y = kind == UnaryKind::Neg    ? -x
                     : kind == UnaryKind::Abs  ? (x < 0 ? -x : x)
                     : kind == UnaryKind::Sign ? (x > 0) - (x < 0)
                                               : ~x;
        return makeInteger(wrapSlowly(y, integerType));
      });
    for (auto predicate :
         {ComparePredicate::EQ, ComparePredicate::NE, ComparePredicate::LT,
          ComparePredicate::LE, ComparePredicate::GT, ComparePredicate::GE})
      expectElements(evaluator.compare(predicate, a, b, type({64}, i(1))),
                     [&](const Index &n) {
                       __int128 x = numberOf(integer(a, n), integerType),
                                y = numberOf(integer(b, n), integerType);
                       bool holds[] = {x == y, x != y, x<y, x <= y, x> y,
                                       x >= y};
                       return makeInteger(holds[unsigned(predicate)]);
                     });
  }
}

// Shifts look at the bits of the type alone, and by its width or more nothing
// is left but what fills.
TEST_F(KernelTest, ShiftsAndCountsOfBits) {
  for (Type element : integers()) {
    auto integerType = cast<IntegerType>(element);
    int width = integerType.getWidth();
    RankedTensorType row = type({64}, element);
    auto a = std::make_shared<DenseTensor>(toDense(random(row)));
    auto b = std::make_shared<DenseTensor>(toDense(random(row)));
    (*a)[0] = makeInteger(0);
    for (int i = 0; i < 32; ++i)
      (*b)[i] = makeInteger(wrapInteger(i, integerType));
    auto bit = [&](int64_t value, int at) {
      return at >= 0 && at < width && (value >> at & 1);
    };
    auto check = [&](BinaryKind kind, int direction, bool repeats) {
      expectElements(evaluator.binary(kind, a, b, row), [&](const Index &n) {
        int64_t x = integer(a, n), by = integer(b, n);
        uint64_t mask = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
        int distance = std::min<uint64_t>(uint64_t(by) & mask, width);
        __int128 result = 0;
        for (int i = 0; i < width; ++i) {
          int from = i - direction * distance;
          bool fill = repeats && from >= width && bit(x, width - 1);
          result += __int128(bit(x, from) || fill) << i;
        }
        return makeInteger(wrapSlowly(result, integerType));
      });
    };
    check(BinaryKind::ShiftLeft, 1, false);
    check(BinaryKind::ShiftRightLogical, -1, false);
    check(BinaryKind::ShiftRightArithmetic, -1, true);
    auto count = [&](int64_t value, bool leading) {
      int result = 0;
      for (int i = width - 1; i >= 0; --i) {
        if (leading && bit(value, i))
          break;
        result += leading || bit(value, i);
      }
      return makeInteger(wrapSlowly(result, integerType));
    };
    expectElements(evaluator.unary(UnaryKind::Popcount, a, row),
                   [&](const Index &n) { return count(integer(a, n), false); });
    expectElements(evaluator.unary(UnaryKind::CountLeadingZeros, a, row),
                   [&](const Index &n) { return count(integer(a, n), true); });
  }
}

// Known encodings there and back; a float that is no f32 is rounded first.
TEST_F(KernelTest, BitsOfFloats) {
  auto f32 = Float32Type::get(&context);
  RankedTensorType floats = type({6}, f32), words = type({6}, i(32));
  TensorValue x =
      makeRealTensor(floats, {0.0, -0.0, 1.0, -2.5, HUGE_VAL, 1.0 + 0x1p-30});
  SmallVector<int64_t> bits = {0,           INT32_MIN,  0x3f800000,
                               -0x3fe00000, 0x7f800000, 0x3f800000};
  TensorValue cast = evaluator.bitcast(x, words);
  EXPECT_EQ(evaluator.getIntegers(cast), bits);
  TensorValue back = evaluator.bitcast(cast, floats);
  EXPECT_TRUE(std::signbit(toDense(back)[1].real));
  EXPECT_EQ(toDense(back)[3].real, -2.5);
  EXPECT_EQ(toDense(back)[5].real, 1.0);
  RankedTensorType half = type({1}, Float16Type::get(&context));
  EXPECT_EQ(toDense(evaluator.bitcast(
                makeIntegerTensor(type({1}, i(16)), {0x3c00}), half))[0]
                .real,
            1.0);
}

TEST_F(KernelTest, IntegerPowers) {
  RankedTensorType row = type({8}, i(32));
  TensorValue base = makeIntegerTensor(row, {2, -3, 0, 0, 1, -1, -1, 5});
  TensorValue power = makeIntegerTensor(row, {10, 3, 0, 5, -7, -3, -4, -1});
  EXPECT_EQ(evaluator.getIntegers(
                evaluator.binary(BinaryKind::Pow, base, power, row)),
            (SmallVector<int64_t>{1024, -27, 1, 0, 1, -1, 1, 0}));
}

// i1 is 0 or 1 under every operation.
TEST_F(KernelTest, BooleansStayBoolean) {
  RankedTensorType row = type({4}, i(1));
  TensorValue a = makeIntegerTensor(row, {0, 0, 1, 1});
  TensorValue b = makeIntegerTensor(row, {0, 1, 0, 1});
  auto apply = [&](BinaryKind kind) {
    return evaluator.getIntegers(evaluator.binary(kind, a, b, row));
  };
  EXPECT_EQ(apply(BinaryKind::And), (SmallVector<int64_t>{0, 0, 0, 1}));
  EXPECT_EQ(apply(BinaryKind::Or), (SmallVector<int64_t>{0, 1, 1, 1}));
  EXPECT_EQ(apply(BinaryKind::Xor), (SmallVector<int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(evaluator.getIntegers(evaluator.unary(UnaryKind::Not, a, row)),
            (SmallVector<int64_t>{1, 1, 0, 0}));
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

TEST_F(KernelTest, FloatFunctions) {
  RankedTensorType row = type({40}, f64());
  TensorValue x = random(row), y = random(row);
  std::pair<UnaryKind, double (*)(double)> unaries[] = {
      {UnaryKind::Neg, [](double v) { return -v; }},
      {UnaryKind::Abs, [](double v) { return std::fabs(v); }},
      {UnaryKind::Sign, [](double v) { return double((v > 0) - (v < 0)); }},
      {UnaryKind::Exp, [](double v) { return std::exp(v); }},
      {UnaryKind::Log, [](double v) { return std::log(v); }},
      {UnaryKind::Log1p, [](double v) { return std::log1p(v); }},
      {UnaryKind::Expm1, [](double v) { return std::expm1(v); }},
      {UnaryKind::Sqrt, [](double v) { return std::sqrt(v); }},
      {UnaryKind::Rsqrt, [](double v) { return std::pow(v, -0.5); }},
      {UnaryKind::Cbrt,
       [](double v) {
         return std::copysign(std::pow(std::fabs(v), 1.0 / 3), v);
       }},
      {UnaryKind::Tan, [](double v) { return std::sin(v) / std::cos(v); }},
      {UnaryKind::Sin, [](double v) { return std::sin(v); }},
      {UnaryKind::Cos, [](double v) { return std::cos(v); }},
      {UnaryKind::Tanh, [](double v) { return std::tanh(v); }},
      {UnaryKind::Erf, [](double v) { return std::erf(v); }},
      {UnaryKind::Logistic,
       [](double v) { return 0.5 + std::tanh(v / 2) / 2; }},
      {UnaryKind::StopGradient, [](double v) { return v; }},
      {UnaryKind::Floor, [](double v) { return std::floor(v); }},
      {UnaryKind::Ceil, [](double v) { return std::ceil(v); }},
      {UnaryKind::RoundEven, [](double v) {
         double low = std::floor(v), part = v - low;
         bool up = part == 0.5 ? std::fmod(low, 2) != 0 : part > 0.5;
         return low + up;
       }}};
  for (auto [kind, function] : unaries)
    expectReals(evaluator.unary(kind, x, row),
                [&, f = function](const Index &n) { return f(real(x, n)); });
  std::pair<BinaryKind, double (*)(double, double)> binaries[] = {
      {BinaryKind::Add, [](double a, double b) { return a + b; }},
      {BinaryKind::Sub, [](double a, double b) { return a - b; }},
      {BinaryKind::Mul, [](double a, double b) { return a * b; }},
      {BinaryKind::Div, [](double a, double b) { return a / b; }},
      {BinaryKind::Max, [](double a, double b) { return std::max(a, b); }},
      {BinaryKind::Min, [](double a, double b) { return std::min(a, b); }},
      {BinaryKind::Pow, [](double a, double b) { return std::pow(a, b); }},
      {BinaryKind::Rem, [](double a, double b) { return std::fmod(a, b); }},
      {BinaryKind::Atan2, [](double a, double b) {
         return std::arg(std::complex<double>(b, a));
       }}};
  for (auto [kind, function] : binaries)
    expectReals(evaluator.binary(kind, x, y, row),
                [&, f = function](const Index &n) {
                  return f(real(x, n), real(y, n));
                });
}

// A NaN is never lost, and compares as unequal only.
TEST_F(KernelTest, NaNs) {
  RankedTensorType row = type({2}, f32()), flags = type({2}, i(1));
  TensorValue x = makeRealTensor(row, {NAN, 1}),
              y = makeRealTensor(row, {1, NAN});
  for (BinaryKind kind : {BinaryKind::Max, BinaryKind::Min, BinaryKind::Add}) {
    TensorValue z = evaluator.binary(kind, x, y, row);
    EXPECT_TRUE(std::isnan(real(z, {0})) && std::isnan(real(z, {1})));
  }
  TensorValue max =
      evaluator.reduce(ReductionKind::Max, x, {0}, type({}, f32()));
  EXPECT_TRUE(std::isnan(real(max, {})));
  for (auto predicate :
       {ComparePredicate::EQ, ComparePredicate::NE, ComparePredicate::LT,
        ComparePredicate::LE, ComparePredicate::GT, ComparePredicate::GE}) {
    int64_t wanted = predicate == ComparePredicate::NE;
    EXPECT_EQ(evaluator.getIntegers(evaluator.compare(predicate, x, y, flags)),
              (SmallVector<int64_t>{wanted, wanted}));
  }
}

TEST_F(KernelTest, RoundsToTheNearestEven) {
  auto round = [&](StringRef type, double value) {
    return roundToType(value, cast<FloatType>(parse(type)));
  };
  EXPECT_EQ(round("f64", 0.1), 0.1);
  EXPECT_EQ(round("f32", 0.1), double(0.1f));
  EXPECT_EQ(round("bf16", 1 + 1 / 256.0), 1);
  EXPECT_EQ(round("bf16", 1 + 3 / 256.0), 1 + 4 / 256.0);
  EXPECT_EQ(round("bf16", 1 + 1.01 / 256), 1 + 1 / 128.0);
  EXPECT_EQ(round("f16", 2049), 2048);
  EXPECT_EQ(round("f16", 2051), 2052);
  EXPECT_EQ(round("f16", 65520), INFINITY);
  EXPECT_EQ(round("f8E5M2", 1.125), 1);
  EXPECT_EQ(round("f8E5M2", 1e9), INFINITY);
  EXPECT_EQ(round("f8E4M3FN", 17), 16);
  EXPECT_EQ(round("f8E4M3FN", 19), 20);
  EXPECT_TRUE(std::isnan(round("f8E4M3FN", 1e9)));
  // Halfway between the least subnormal of f16 and zero.
  EXPECT_EQ(round("f16", std::ldexp(1, -25)), 0);
  EXPECT_EQ(round("f16", std::ldexp(1.5, -25)), std::ldexp(1, -24));
}

// With rounding every kernel gives numbers of the element type, and a sum is
// rounded once, at its end.
TEST_F(KernelTest, RoundsOnce) {
  DoubleEvaluator rounding(Rounding::ToElementType);
  Type bf16 = parse("bf16");
  RankedTensorType row = type({257}, bf16), scalar = type({}, bf16);
  TensorValue ones = makeRealTensor(row, std::vector<double>(257, 1.0));
  TensorValue sum = rounding.reduce(ReductionKind::Sum, ones, {0}, scalar);
  // bf16 cannot count beyond 256; 257 lies halfway to 258.
  EXPECT_EQ(real(sum, {}), 256);
  TensorValue more =
      makeRealTensor(type({259}, bf16), std::vector<double>(259, 1.0));
  EXPECT_EQ(real(rounding.reduce(ReductionKind::Sum, more, {0}, scalar), {}),
            260);
  TensorValue third =
      rounding.binary(BinaryKind::Div, makeRealTensor(scalar, {1.0}),
                      makeRealTensor(scalar, {3.0}), scalar);
  EXPECT_EQ(real(third, {}), roundToType(1.0 / 3, cast<FloatType>(bf16)));
  EXPECT_EQ(
      real(evaluator.binary(BinaryKind::Div, makeRealTensor(scalar, {1.0}),
                            makeRealTensor(scalar, {3.0}), scalar),
           {}),
      1.0 / 3);
}

TEST_F(KernelTest, Converts) {
  RankedTensorType row = type({6}, f32());
  TensorValue x = makeRealTensor(row, {-1.75, 0.0, 2.5, 300, -0.5, 7});
  auto to = [&](Type element) {
    return evaluator.getIntegers(evaluator.convert(x, type({6}, element)));
  };
  EXPECT_EQ(to(i(32)), (SmallVector<int64_t>{-1, 0, 2, 300, 0, 7}));
  EXPECT_EQ(to(i(8)), (SmallVector<int64_t>{-1, 0, 2, 127, 0, 7}));
  EXPECT_EQ(to(i(4)), (SmallVector<int64_t>{-1, 0, 2, 7, 0, 7}));
  EXPECT_EQ(to(parse("ui8")), (SmallVector<int64_t>{0, 0, 2, 255, 0, 7}));
  EXPECT_EQ(to(i(1)), (SmallVector<int64_t>{1, 0, 1, 1, 1, 1}));
  // Out of every range: the nearest, and 0 of what is no number.
  TensorValue wild =
      makeRealTensor(type({4}, f64()), {NAN, INFINITY, -INFINITY, 1e19});
  auto wildTo = [&](Type element) {
    return evaluator.getIntegers(evaluator.convert(wild, type({4}, element)));
  };
  EXPECT_EQ(wildTo(i(64)),
            (SmallVector<int64_t>{0, INT64_MAX, INT64_MIN, INT64_MAX}));
  EXPECT_EQ(wildTo(parse("ui64")),
            (SmallVector<int64_t>{0, -1, 0, int64_t(uint64_t(1e19))}));
  for (Type from : integers())
    for (Type into : integers()) {
      TensorValue y = random(type({20}, from));
      expectElements(
          evaluator.convert(y, type({20}, into)), [&](const Index &n) {
            return makeInteger(
                wrapSlowly(numberOf(integer(y, n), cast<IntegerType>(from)),
                           cast<IntegerType>(into)));
          });
    }
  TensorValue big = makeIntegerTensor(type({1}, parse("ui64")), {int64_t(-1)});
  EXPECT_EQ(real(evaluator.convert(big, type({1}, f64())), {0}),
            18446744073709551615.0);
  TensorValue flag = makeIntegerTensor(type({1}, i(1)), {int64_t(1)});
  EXPECT_EQ(real(evaluator.convert(flag, type({1}, f32())), {0}), 1);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

TEST_F(KernelTest, Reduces) {
  for (Type element : {f32(), f64(), Type(i(32)), parse("ui8")}) {
    TensorValue x = draw(type({3, 5, 2, 4}, element), 0, 6);
    bool isFloat = isa<FloatType>(element);
    for (ReductionKind kind : {ReductionKind::Sum, ReductionKind::Max,
                               ReductionKind::Min, ReductionKind::Prod}) {
      TensorValue y = evaluator.reduce(kind, x, {1, 3}, type({3, 2}, element));
      forEachIndex({3, 2}, [&](const Index &n) {
        double value = kind == ReductionKind::Prod  ? 1
                       : kind == ReductionKind::Min ? 1e9
                                                    : 0;
        forEachIndex({5, 4}, [&](const Index &m) {
          Element e = at(x, {n[0], m[0], n[1], m[1]});
          double term = isFloat ? e.real : double(e.integer);
          value = kind == ReductionKind::Sum   ? value + term
                  : kind == ReductionKind::Max ? std::max(value, term)
                  : kind == ReductionKind::Min ? std::min(value, term)
                                               : value * term;
        });
        if (isFloat)
          EXPECT_EQ(real(y, n), value);
        else
          EXPECT_EQ(integer(y, n),
                    wrapInteger(int64_t(std::fmod(value, 4294967296.0 * 256)),
                                cast<IntegerType>(element)));
      });
    }
  }
  // Nothing to reduce gives the identity.
  TensorValue none = makeRealTensor(type({0, 2}, f32()), {});
  EXPECT_EQ(
      real(evaluator.reduce(ReductionKind::Sum, none, {0}, type({2}, f32())),
           {1}),
      0);
  EXPECT_EQ(
      real(evaluator.reduce(ReductionKind::Max, none, {0}, type({2}, f32())),
           {1}),
      -INFINITY);
}

// Every kind of letter: batch, outer of either side, contracted, and summed out
// of one operand alone.
TEST_F(KernelTest, Contracts) {
  std::map<char, int64_t> sizes = {
      {'a', 2}, {'b', 3}, {'c', 5}, {'d', 4}, {'e', 7}};
  for (StringRef equation :
       {"ab,bc->ac", "ab,cb->ca", "abc,acd->abd", "abc,cd->abd", "ab,cd->acbd",
        "ab,ab->", "abc,b->ac", "ab,ca->b", "abcde,acd->eb", ",->", "a,->a",
        "bacde,dbe->bace"})
    for (Type element : {f32(), f64(), Type(i(32)), Type(i(8)), parse("ui4")}) {
      EinsumTerms terms = EinsumTerms::split(equation);
      auto shape = [&](StringRef term) {
        Index shape;
        for (char letter : term)
          shape.push_back(sizes[letter]);
        return shape;
      };
      TensorValue a = draw(type(shape(terms.lhs), element), 0, 5);
      TensorValue b = draw(type(shape(terms.rhs), element), 0, 5);
      TensorValue c = evaluator.contract(equation, a, b,
                                         type(shape(terms.result), element));
      std::string letters;
      for (char letter : (terms.lhs + terms.rhs).str())
        if (!StringRef(letters).contains(letter))
          letters += letter;
      std::map<Index, int64_t> sums;
      forEachIndex(shape(letters), [&](const Index &n) {
        auto pick = [&](StringRef term) {
          Index index;
          for (char letter : term)
            index.push_back(n[letters.find(letter)]);
          return index;
        };
        auto number = [&](const TensorValue &x, const Index &index) {
          return isa<FloatType>(element) ? int64_t(real(x, index))
                                         : integer(x, index);
        };
        sums[pick(terms.result)] +=
            number(a, pick(terms.lhs)) * number(b, pick(terms.rhs));
      });
      expectElements(c, [&](const Index &n) {
        auto integerType = dyn_cast<IntegerType>(element);
        return integerType ? makeInteger(wrapInteger(sums[n], integerType))
                           : makeReal(double(sums[n]));
      });
    }
  // A wider result takes the operands as they are.
  TensorValue x = makeIntegerTensor(type({2}, i(8)), {100, 100});
  EXPECT_EQ(integer(evaluator.contract("a,a->", x, x, type({}, i(32))), {}),
            20000);
}

// The blocked product adds in the order of k, whatever the sizes.
TEST_F(KernelTest, ContractsLargeMatrices) {
  TensorValue a = draw(type({65, 130}, f32()), -3, 3);
  TensorValue b = draw(type({130, 129}, f32()), -3, 3);
  TensorValue c = evaluator.contract("ik,kj->ij", a, b, type({65, 129}, f32()));
  expectReals(
      c,
      [&](const Index &n) {
        double sum = 0;
        for (int64_t k = 0; k < 130; ++k)
          sum += real(a, {n[0], k}) * real(b, {k, n[1]});
        return sum;
      },
      0);
}

//===----------------------------------------------------------------------===//
// Constants and the rest
//===----------------------------------------------------------------------===//

TEST_F(KernelTest, ReadsConstants) {
  auto constant = [&](StringRef text) {
    auto value = cast<ElementsAttr>(parseAttribute(text, &context));
    return evaluator.constant(value, cast<RankedTensorType>(value.getType()));
  };
  EXPECT_EQ(evaluator.getIntegers(constant("dense<[1, -2, 3]> : tensor<3xi8>")),
            (SmallVector<int64_t>{1, -2, 3}));
  EXPECT_EQ(evaluator.getIntegers(constant("dense<[250, 2]> : tensor<2xui8>")),
            (SmallVector<int64_t>{250, 2}));
  EXPECT_EQ(evaluator.getIntegers(constant("dense<true> : tensor<2xi1>")),
            (SmallVector<int64_t>{1, 1}));
  EXPECT_EQ(real(constant("dense<0.5> : tensor<2x2xbf16>"), {1, 1}), 0.5);
  EXPECT_EQ(real(constant("dense<[1.5, -448.0]> : tensor<2xf8E4M3FN>"), {1}),
            -448);
  EXPECT_EQ(real(constant("dense<0xFF800000> : tensor<1xf32>"), {0}),
            -INFINITY);
  // Only what is stored densely is read.
  EXPECT_EQ(constant("sparse<[[0]], [1.0]> : tensor<2xf32>"), nullptr);
}

TEST_F(KernelTest, KnowsWhenResultsAreExact) {
  RankedTensorType scalar = type({}, f32());
  auto apply = [&](double a, BinaryKind kind, double b) {
    DoubleEvaluator fresh;
    fresh.binary(kind, makeRealTensor(scalar, {a}), makeRealTensor(scalar, {b}),
                 scalar);
    return fresh.isExact();
  };
  EXPECT_TRUE(apply(3, BinaryKind::Mul, -7));
  EXPECT_TRUE(apply(6, BinaryKind::Div, 3));
  EXPECT_TRUE(apply(1, BinaryKind::Div, 0));
  EXPECT_FALSE(apply(1, BinaryKind::Div, 3));
  EXPECT_FALSE(apply(1e10, BinaryKind::Mul, 1e10));
  EXPECT_FALSE(apply(0, BinaryKind::Div, 0));
}

// Garbage is a number of its type, or NaN; of both signs and of every size.
TEST_F(KernelTest, GarbageShows) {
  DoubleEvaluator rounding(Rounding::ToElementType);
  for (Type element : allTypes()) {
    bool isHuge = false, isTiny = false, isNaN = false;
    bool isBelow = false, isAbove = false;
    for (uint64_t salt = 0; salt < 64; ++salt) {
      Element garbage = rounding.getGarbage(salt, element);
      if (auto integer = dyn_cast<IntegerType>(element)) {
        EXPECT_EQ(wrapInteger(garbage.integer, integer), garbage.integer);
        isAbove |= garbage.integer > 0;
        isBelow |= garbage.integer < 0 || integer.isUnsigned() ||
                   integer.getWidth() == 1;
        continue;
      }
      double value = garbage.real;
      isNaN |= std::isnan(value);
      if (std::isnan(value))
        continue;
      EXPECT_EQ(roundToType(value, cast<FloatType>(element)), value);
      isHuge |= std::abs(value) > 100;
      isTiny |= value != 0 && std::abs(value) < 0.1;
      isAbove |= value > 0;
      isBelow |= value < 0;
    }
    EXPECT_TRUE(isAbove && isBelow);
    if (isa<FloatType>(element))
      EXPECT_TRUE(isHuge && isTiny && isNaN);
  }
}

} // namespace
