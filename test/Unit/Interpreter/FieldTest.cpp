// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The prime field, and floats as its elements.

#include "Harness.h"

#include "tpopt/Interpreter/FieldEvaluator.h"

using namespace tp;
using namespace mlir;

namespace {

// Sums, products and inverses obey the laws of a field at random points and at
// its edges.
TEST(PrimeFieldTest, IsAField) {
  std::mt19937_64 engine(3);
  std::vector<uint64_t> points{0, 1, 2, field::kPrime - 1, field::kPrime / 2};
  for (int n = 0; n < 40; ++n)
    points.push_back(field::fromUnsigned(engine()));
  for (uint64_t a : points) {
    EXPECT_LT(a, field::kPrime);
    EXPECT_EQ(field::add(a, field::negate(a)), 0u);
    if (a != 0)
      EXPECT_EQ(field::multiply(a, field::inverse(a)), 1u);
    EXPECT_EQ(field::fromSigned(field::toSigned(a)), a);
    for (uint64_t b : points)
      for (uint64_t c : points) {
        EXPECT_EQ(field::multiply(a, field::add(b, c)),
                  field::add(field::multiply(a, b), field::multiply(a, c)));
        EXPECT_EQ(field::multiply(field::multiply(a, b), c),
                  field::multiply(a, field::multiply(b, c)));
        EXPECT_EQ(field::add(field::subtract(a, b), b), a);
      }
  }
}

// Products are those of the integers modulo p, computed another way.
TEST(PrimeFieldTest, MultipliesAsIntegersDo) {
  std::mt19937_64 engine(4);
  for (int n = 0; n < 1000; ++n) {
    uint64_t a = field::fromUnsigned(engine()),
             b = field::fromUnsigned(engine());
    uint64_t product = 0;
    for (int bit = 60; bit >= 0; --bit) {
      product = product * 2 % field::kPrime;
      if (b >> bit & 1)
        product = (product + a) % field::kPrime;
    }
    EXPECT_EQ(field::multiply(a, b), product);
  }
}

class FieldEvaluatorTest : public InterpreterFixture {
protected:
  TensorValue field(std::initializer_list<double> values) {
    llvm::SmallVector<double> list(values);
    auto shape = type(int64_t(list.size()), f64());
    return residues.constant(
        DenseElementsAttr::get(shape, llvm::ArrayRef<double>(list)), shape);
  }
  TensorValue binary(BinaryKind kind, TensorValue a, TensorValue b) {
    return residues.binary(kind, a, b, a->getType());
  }
  TensorValue unary(UnaryKind kind, TensorValue x) {
    return residues.unary(kind, x, x->getType());
  }
  TensorValue drawn(mlir::RankedTensorType type) {
    auto tensor = std::make_shared<DenseTensor>(type);
    for (int64_t n = 0; n < tensor->size(); ++n)
      (*tensor)[n] = residues.drawFloat(engine());
    return tensor;
  }
  std::string print(const TensorValue &x, int64_t n = 0) {
    return residues.print(toDense(x)[n], x->getType().getElementType());
  }
  static bool same(const TensorValue &a, const TensorValue &b) {
    for (int64_t n = 0; n < toDense(a).size(); ++n)
      if (toDense(a)[n].residue != toDense(b)[n].residue)
        return false;
    return true;
  }

  FieldEvaluator residues;
};

// Constants are exact: 0.75 is three quarters, not the nearest residue.
TEST_F(FieldEvaluatorTest, HoldsFractionsExactly) {
  TensorValue x = field({0.75, -0.5, 3.0, 0x1p-60, -0x1.8p80});
  TensorValue scale = field({4, 2, 1, 0x1p60, 0x1p-79});
  TensorValue product = binary(BinaryKind::Mul, x, scale);
  EXPECT_EQ(print(product, 0), "3");
  EXPECT_EQ(print(product, 1), "-1");
  EXPECT_EQ(print(product, 2), "3");
  EXPECT_EQ(print(product, 3), "1");
  EXPECT_EQ(print(product, 4), "-3");
  EXPECT_EQ(print(binary(BinaryKind::Div, field({1}), field({3})))[0], '#');
  EXPECT_EQ(print(binary(BinaryKind::Mul,
                         binary(BinaryKind::Div, field({2}), field({3})),
                         field({3}))),
            "2");
}

// Infinities and NaN stand beside the field, in one way for any order of sums.
TEST_F(FieldEvaluatorTest, KeepsWhatIsNotANumber) {
  double inf = INFINITY;
  TensorValue x = field({inf, -inf, inf, inf, 1, 1});
  TensorValue y = field({1, 1, -inf, 0, 0, inf});
  TensorValue sum = binary(BinaryKind::Add, x, y);
  EXPECT_EQ(print(sum, 0), "inf");
  EXPECT_EQ(print(sum, 1), "-inf");
  EXPECT_EQ(print(sum, 2), "nan");
  TensorValue product = binary(BinaryKind::Mul, x, y);
  EXPECT_EQ(print(product, 3), "nan");
  TensorValue quotient = binary(BinaryKind::Div, x, y);
  EXPECT_EQ(print(quotient, 4), "nan");
  EXPECT_EQ(print(quotient, 5), "0");
  EXPECT_EQ(print(unary(UnaryKind::Exp, x), 1), "0");
  EXPECT_EQ(print(unary(UnaryKind::Neg, x), 0), "-inf");
  EXPECT_EQ(print(binary(BinaryKind::Max, x, y), 1), "1");
  EXPECT_EQ(print(binary(BinaryKind::Min, x, y), 1), "-inf");
}

// Small integers are ordered as such, so that max(x, 0) tells signs apart.
TEST_F(FieldEvaluatorTest, OrdersRepresentatives) {
  TensorValue x = field({-2, 5}), y = field({1, -7});
  TensorValue most = binary(BinaryKind::Max, x, y);
  EXPECT_EQ(print(most, 0), "1");
  EXPECT_EQ(print(most, 1), "5");
  TensorValue less =
      residues.compare(ComparePredicate::LT, x, y, type(2, i(1)));
  EXPECT_EQ(toDense(less)[0].integer, 1);
  EXPECT_EQ(toDense(less)[1].integer, 0);
}

// A non-linearity is a function, is not linear, and differs from every other
// one and from that of another key.
TEST_F(FieldEvaluatorTest, DrawsNonlinearities) {
  auto shape = type({64}, f32());
  TensorValue x = drawn(shape), y = drawn(shape);
  FieldEvaluator other(/*key=*/2);
  for (UnaryKind kind :
       {UnaryKind::Exp, UnaryKind::Tanh, UnaryKind::Rsqrt, UnaryKind::Erf}) {
    TensorValue fx = unary(kind, x);
    EXPECT_TRUE(same(fx, unary(kind, x)));
    EXPECT_FALSE(same(unary(kind, binary(BinaryKind::Add, x, y)),
                      binary(BinaryKind::Add, fx, unary(kind, y))));
    EXPECT_FALSE(same(fx, other.unary(kind, x, shape)));
    EXPECT_FALSE(same(fx, unary(UnaryKind::Log, x)));
  }
}

// Contractions agree with sums of products taken one by one, and with those of
// blocks added in another order.
TEST_F(FieldEvaluatorTest, Contracts) {
  TensorValue a = drawn(type({3, 8}, f32())), b = drawn(type({8, 4}, f32()));
  auto shape = type({3, 4}, f32());
  TensorValue whole = residues.contract("ik,kj->ij", a, b, shape);
  TensorValue sum;
  for (int64_t begin : {6, 0, 3}) {
    int64_t size = begin == 6 ? 2 : 3;
    TensorValue part = residues.contract(
        "ik,kj->ij",
        residues.slice(a, {0, begin}, {1, 1}, type({3, size}, f32())),
        residues.slice(b, {begin, 0}, {1, 1}, type({size, 4}, f32())), shape);
    sum = sum ? binary(BinaryKind::Add, sum, part) : part;
  }
  EXPECT_TRUE(same(whole, sum));
}

// An index that passes through a float comes back; other floats become small
// indices, the same ones each time.
TEST_F(FieldEvaluatorTest, ConvertsIntegers) {
  auto ints = type({5}, i(32));
  TensorValue index = residues.iota(0, ints);
  TensorValue there = residues.convert(index, type({5}, f32()));
  TensorValue back = residues.convert(there, ints);
  EXPECT_TRUE(same(index, back));
  TensorValue some = residues.convert(drawn(type({5}, f32())), ints);
  for (int64_t n = 0; n < 5; ++n) {
    EXPECT_GE(toDense(some)[n].integer, 0);
    EXPECT_LT(toDense(some)[n].integer, 8);
  }
}

} // namespace
