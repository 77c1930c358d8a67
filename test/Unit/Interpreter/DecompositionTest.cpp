// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every op that is evaluated through its decomposition, against its formula
// written out here.

#include "Harness.h"

using namespace tp;
using namespace tp::interp;
using namespace mlir;

namespace {

class DecompositionTest : public InterpreterFixture {
protected:
  TensorValue f(ArrayRef<int64_t> shape) { return random(type(shape, f32())); }

  /// The single result of a function of one op.
  TensorValue apply(StringRef text, ArrayRef<TensorValue> arguments) {
    auto results = run(text, arguments);
    return results.empty() ? nullptr : results.front();
  }
};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double gelu(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double geluTanh(double x) {
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

// Constants of decompositions are f32, so that is how exact they are.
constexpr double kSingle = 1e-6;

TEST_F(DecompositionTest, Activations) {
  TensorValue x = f({5, 7}), up = f({5, 7});
  auto unary = [&](StringRef op) {
    return apply(("func.func @f(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {\n"
                  "  %y = tp." +
                  op +
                  " %x : tensor<5x7xf32>\n"
                  "  return %y : tensor<5x7xf32>\n}")
                     .str(),
                 {x});
  };
  auto gated = [&](StringRef activation) {
    return apply(("func.func @f(%x: tensor<5x7xf32>, %u: tensor<5x7xf32>) -> "
                  "tensor<5x7xf32> {\n"
                  "  %y = tp.gated " +
                  activation +
                  " %x, %u : tensor<5x7xf32>\n"
                  "  return %y : tensor<5x7xf32>\n}")
                     .str(),
                 {x, up});
  };
  auto expect = [&](const TensorValue &y, double (*function)(double),
                    bool isGated) {
    expectReals(
        y,
        [&](const Index &n) {
          return function(real(x, n)) * (isGated ? real(up, n) : 1);
        },
        kSingle);
  };
  auto silu = [](double v) { return v * logistic(v); };
  auto relu = [](double v) { return std::max(v, 0.0); };
  expect(unary("gelu"), gelu, false);
  expect(unary("gelu tanh"), geluTanh, false);
  expect(unary("silu"), silu, false);
  expect(unary("relu"), relu, false);
  expect(gated("gelu"), gelu, true);
  expect(gated("gelu_tanh"), geluTanh, true);
  expect(gated("silu"), silu, true);
  expect(gated("relu"), relu, true);
}

// Narrow types compute in f32: the result is rounded once.
TEST_F(DecompositionTest, NarrowActivationsRoundOnce) {
  auto bf16 = cast<FloatType>(parse("bf16"));
  TensorValue x = random(type({40}, bf16));
  auto results = run(R"(
    func.func @f(%x: tensor<40xbf16>) -> tensor<40xbf16> {
      %y = tp.silu %x : tensor<40xbf16>
      return %y : tensor<40xbf16>
    })",
                     {x}, Rounding::ToElementType);
  ASSERT_EQ(results.size(), 1u);
  expectReals(
      results[0],
      [&](const Index &n) {
        double v = real(x, n);
        return roundToType(v * logistic(v), bf16);
      },
      0);
}

TEST_F(DecompositionTest, Norms) {
  TensorValue x = f({3, 2, 7}), scale = f({7}), bias = f({7});
  auto moments = [&](const Index &n) {
    double mean = 0, square = 0;
    for (int64_t d = 0; d < 7; ++d)
      mean += real(x, {n[0], n[1], d}) / 7;
    for (int64_t d = 0; d < 7; ++d) {
      double v = real(x, {n[0], n[1], d});
      square += v * v / 7;
    }
    return std::pair(mean, square);
  };
  TensorValue rms = apply(R"(
    func.func @f(%x: tensor<3x2x7xf32>, %s: tensor<7xf32>) -> tensor<3x2x7xf32> {
      %y = tp.rms_norm %x, %s epsilon = 0.25 : (tensor<3x2x7xf32>, tensor<7xf32>) -> tensor<3x2x7xf32>
      return %y : tensor<3x2x7xf32>
    })",
                          {x, scale});
  expectReals(
      rms,
      [&](const Index &n) {
        return real(x, n) / std::sqrt(moments(n).second + 0.25) *
               real(scale, {n[2]});
      },
      kSingle);
  TensorValue layer = apply(R"(
    func.func @f(%x: tensor<3x2x7xf32>, %s: tensor<7xf32>, %b: tensor<7xf32>) -> tensor<3x2x7xf32> {
      %y = tp.layer_norm %x, %s, %b epsilon = 0.25 : (tensor<3x2x7xf32>, tensor<7xf32>, tensor<7xf32>) -> tensor<3x2x7xf32>
      return %y : tensor<3x2x7xf32>
    })",
                            {x, scale, bias});
  expectReals(
      layer,
      [&](const Index &n) {
        auto [mean, square] = moments(n);
        return (real(x, n) - mean) / std::sqrt(square - mean * mean + 0.25) *
                   real(scale, {n[2]}) +
               real(bias, {n[2]});
      },
      kSingle);
}

// Along any dimension, and with numbers whose exponentials overflow.
TEST_F(DecompositionTest, Softmax) {
  TensorValue x = draw(type({3, 5, 2}, f32()), -2000, 2000);
  for (int64_t dim : {0, 1, 2}) {
    TensorValue y =
        apply(("func.func @f(%x: tensor<3x5x2xf32>) -> tensor<3x5x2xf32> {\n"
               "  %y = tp.softmax %x dim = " +
               Twine(dim) +
               " : tensor<3x5x2xf32>\n"
               "  return %y : tensor<3x5x2xf32>\n}")
                  .str(),
              {x});
    expectReals(y, [&](const Index &n) {
      double sum = 0;
      for (int64_t d = 0; d < x->getShape()[dim]; ++d) {
        Index other = n;
        other[dim] = d;
        sum += std::exp(real(x, other) - real(x, n));
      }
      return 1 / sum;
    });
  }
}

TEST_F(DecompositionTest, Rotary) {
  TensorValue x = f({2, 3, 2, 8});
  for (bool interleaved : {false, true})
    for (bool perBatch : {false, true})
      for (int64_t half : {4, 3}) {
        Index angles{3, half};
        if (perBatch)
          angles.insert(angles.begin(), 2);
        TensorValue cos = f(angles), sin = f(angles);
        std::string shape = (perBatch ? "2x3x" : "3x") + std::to_string(half);
        TensorValue y =
            apply(("func.func @f(%x: tensor<2x3x2x8xf32>, %c: tensor<" + shape +
                   "xf32>, %s: tensor<" + shape +
                   "xf32>) -> tensor<2x3x2x8xf32> {\n"
                   "  %y = tp.rotary " +
                   (interleaved ? "interleaved " : "") +
                   "%x, %c, %s : (tensor<2x3x2x8xf32>, tensor<" + shape +
                   "xf32>, tensor<" + shape +
                   "xf32>) -> tensor<2x3x2x8xf32>\n"
                   "  return %y : tensor<2x3x2x8xf32>\n}"),
                  {x, cos, sin});
        expectReals(y, [&](const Index &n) {
          int64_t d = n[3];
          if (d >= 2 * half)
            return real(x, n);
          int64_t pair = interleaved ? d / 2 : d % half;
          bool second = interleaved ? d % 2 : d >= half;
          int64_t partner =
              interleaved ? d ^ 1 : (second ? d - half : d + half);
          Index angle{n[1], pair}, other = n;
          if (perBatch)
            angle.insert(angle.begin(), n[0]);
          other[3] = partner;
          double own = real(x, n) * real(cos, angle);
          double cross = real(x, other) * real(sin, angle);
          return second ? own + cross : own - cross;
        });
      }
}

// All ways to hide positions, alone and together, and rows that see nothing.
TEST_F(DecompositionTest, Attention) {
  constexpr int64_t b = 2, s = 4, k = 2, g = 3, d = 5, t = 6, e = 3;
  TensorValue query = f({b, s, k, g, d}), key = f({b, t, k, d}),
              value = f({b, t, k, e});
  TensorValue scalarOffset = makeIntegerTensor(type({}, i(32)), {int64_t(2)});
  TensorValue offsets = makeIntegerTensor(type({b}, i(64)), {1, -2});
  TensorValue lengths = makeIntegerTensor(type({b}, i(32)), {4, 0});
  TensorValue mask = random(type({b, s, t}, i(1)));
  struct Case {
    bool causal;
    int offset; // 0 none, 1 scalar, 2 per batch entry
    bool lengths, mask;
    int64_t window;
  };
  for (const Case &c :
       {Case{false, 0, false, false, 0}, Case{true, 0, false, false, 0},
        Case{true, 1, false, false, 0}, Case{true, 2, false, false, 0},
        Case{true, 2, false, false, 2}, Case{false, 0, true, false, 0},
        Case{false, 0, false, true, 0}, Case{true, 1, true, true, 3}}) {
    std::string parameters = "%q: tensor<2x4x2x3x5xf32>, %k: "
                             "tensor<2x6x2x5xf32>, %v: tensor<2x6x2x3xf32>";
    std::string operands;
    SmallVector<TensorValue> arguments{query, key, value};
    auto add = [&](StringRef name, StringRef type, TensorValue argument) {
      parameters += (", %" + name + ": " + type).str();
      operands += (" " + name + "(%" + name + " : " + type + ")").str();
      arguments.push_back(argument);
    };
    if (c.offset)
      add("offset", c.offset == 1 ? "tensor<i32>" : "tensor<2xi64>",
          c.offset == 1 ? scalarOffset : offsets);
    if (c.lengths)
      add("lengths", "tensor<2xi32>", lengths);
    if (c.mask)
      add("mask", "tensor<2x4x6xi1>", mask);
    std::string attributes = "{scale = 0.5 : f64";
    if (c.causal)
      attributes += ", causal";
    if (c.window)
      attributes += ", window = " + std::to_string(c.window) + " : i64";
    TensorValue y = apply("func.func @f(" + parameters +
                              ") -> tensor<2x4x2x3x3xf32> {\n"
                              "  %y = tp.attention %q, %k, %v" +
                              operands + " " + attributes +
                              "} : "
                              "(tensor<2x4x2x3x5xf32>, tensor<2x6x2x5xf32>, "
                              "tensor<2x6x2x3xf32>) -> tensor<2x4x2x3x3xf32>\n"
                              "  return %y : tensor<2x4x2x3x3xf32>\n}",
                          arguments);
    ASSERT_NE(y, nullptr);
    expectReals(y, [&](const Index &n) {
      int64_t position = n[1];
      if (c.offset)
        position += c.offset == 1 ? 2 : integer(offsets, {n[0]});
      double sum = 0, result = 0;
      for (int64_t p = 0; p < t; ++p) {
        bool visible = (!c.causal || p <= position) &&
                       (!c.window || position - p < c.window) &&
                       (!c.lengths || p < integer(lengths, {n[0]})) &&
                       (!c.mask || integer(mask, {n[0], n[1], p}));
        if (!visible)
          continue;
        double score = 0;
        for (int64_t x = 0; x < d; ++x)
          score += real(query, {n[0], n[1], n[2], n[3], x}) *
                   real(key, {n[0], p, n[2], x});
        double weight = std::exp(0.5 * score);
        sum += weight;
        result += weight * real(value, {n[0], p, n[2], n[4]});
      }
      return sum == 0 ? 0 : result / sum;
    });
  }
}

// Labels of every integer type find their logit, also where the vocabulary is
// larger than the type counts; one outside gives no target term.
TEST_F(DecompositionTest, CrossEntropy) {
  for (StringRef labelType : {"i32", "i64", "i8", "ui8"}) {
    TensorValue logits = f({5, 300});
    TensorValue labels =
        makeIntegerTensor(type({5}, parse(labelType)), {3, 0, 99, 100, 127});
    if (labelType != "ui8")
      labels =
          makeIntegerTensor(type({5}, parse(labelType)), {3, 0, 99, -1, 127});
    TensorValue y = apply(
        ("func.func @f(%x: tensor<5x300xf32>, %l: tensor<5x" + labelType +
         ">) -> tensor<5xf32> {\n"
         "  %y = tp.cross_entropy %x, %l : (tensor<5x300xf32>, tensor<5x" +
         labelType +
         ">) -> tensor<5xf32>\n"
         "  return %y : tensor<5xf32>\n}")
            .str(),
        {logits, labels});
    expectReals(y, [&](const Index &n) {
      double sum = 0;
      for (int64_t v = 0; v < 300; ++v)
        sum += std::exp(real(logits, {n[0], v}));
      int64_t label = integer(labels, n);
      return std::log(sum) - (label < 0 ? 0 : real(logits, {n[0], label}));
    });
  }
}

TEST_F(DecompositionTest, Embedding) {
  TensorValue table = f({10, 3});
  TensorValue ids =
      makeIntegerTensor(type({2, 3}, i(32)), {0, 9, -1, 10, 4, 4});
  TensorValue y = apply(R"(
    func.func @f(%t: tensor<10x3xf32>, %i: tensor<2x3xi32>) -> tensor<2x3x3xf32> {
      %y = tp.embedding %t, %i : (tensor<10x3xf32>, tensor<2x3xi32>) -> tensor<2x3x3xf32>
      return %y : tensor<2x3x3xf32>
    })",
                        {table, ids});
  expectReals(
      y,
      [&](const Index &n) {
        int64_t id = integer(ids, {n[0], n[1]});
        return id < 0 || id >= 10 ? 0 : real(table, {id, n[2]});
      },
      0);
}

// The largest first; of equal ones the first.
TEST_F(DecompositionTest, TopK) {
  TensorValue x = draw(type({6, 9}, f32()), 0, 4);
  auto results = run(R"(
    func.func @f(%x: tensor<6x9xf32>) -> (tensor<6x4xf32>, tensor<6x4xi32>) {
      %v, %i = tp.top_k %x : tensor<6x9xf32> -> tensor<6x4xf32>, tensor<6x4xi32>
      return %v, %i : tensor<6x4xf32>, tensor<6x4xi32>
    })",
                     {x});
  ASSERT_EQ(results.size(), 2u);
  for (int64_t row = 0; row < 6; ++row) {
    std::vector<int64_t> taken;
    for (int64_t n = 0; n < 4; ++n) {
      int64_t best = -1;
      for (int64_t d = 0; d < 9; ++d)
        if (!llvm::is_contained(taken, d) &&
            (best < 0 || real(x, {row, d}) > real(x, {row, best})))
          best = d;
      taken.push_back(best);
      EXPECT_EQ(integer(results[1], {row, n}), best);
      EXPECT_EQ(real(results[0], {row, n}), real(x, {row, best}));
    }
  }
}

} // namespace
