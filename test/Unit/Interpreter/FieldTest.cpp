// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The prime field, and floats as its elements.

#include "Harness.h"

#include "lib/Interpreter/FieldEvaluator.h"

using namespace tp;
using namespace tp::interp;
using namespace mlir;

namespace {

// Sums, products and inverses obey the laws of a field at random points and at
// its edges.
TEST(PrimeFieldTest, IsAField) {
  std::mt19937_64 engine(3);
  std::vector<uint64_t> points{0, 1, 2, PrimeField::kPrime - 1,
                               PrimeField::kPrime / 2};
  for (int n = 0; n < 40; ++n)
    points.push_back(PrimeField::fromUnsigned(engine()));
  for (uint64_t a : points) {
    EXPECT_LT(a, PrimeField::kPrime);
    EXPECT_EQ(PrimeField::add(a, PrimeField::negate(a)), 0u);
    if (a != 0)
      EXPECT_EQ(PrimeField::multiply(a, PrimeField::inverse(a)), 1u);
    EXPECT_EQ(PrimeField::fromSigned(PrimeField::toSigned(a)), a);
    for (uint64_t b : points)
      for (uint64_t c : points) {
        EXPECT_EQ(PrimeField::multiply(a, PrimeField::add(b, c)),
                  PrimeField::add(PrimeField::multiply(a, b),
                                  PrimeField::multiply(a, c)));
        EXPECT_EQ(PrimeField::multiply(PrimeField::multiply(a, b), c),
                  PrimeField::multiply(a, PrimeField::multiply(b, c)));
        EXPECT_EQ(PrimeField::add(PrimeField::subtract(a, b), b), a);
      }
  }
}

// Products are those of the integers modulo p, computed another way.
TEST(PrimeFieldTest, MultipliesAsIntegersDo) {
  std::mt19937_64 engine(4);
  for (int n = 0; n < 1000; ++n) {
    uint64_t a = PrimeField::fromUnsigned(engine()),
             b = PrimeField::fromUnsigned(engine());
    uint64_t product = 0;
    for (int bit = 60; bit >= 0; --bit) {
      product = product * 2 % PrimeField::kPrime;
      if (b >> bit & 1)
        product = (product + a) % PrimeField::kPrime;
    }
    EXPECT_EQ(PrimeField::multiply(a, b), product);
  }
}

// The pair obeys the laws of a field modulo both primes at once.
TEST(PrimePairTest, IsTwoFields) {
  std::mt19937_64 engine(5);
  std::vector<uint64_t> points;
  for (int64_t n : {0, 1, -1, 2})
    points.push_back(PrimePair::fromSigned(n));
  for (int n = 0; n < 40; ++n)
    points.push_back(PrimePair::draw(n, engine()));
  uint64_t one = PrimePair::fromUnsigned(1);
  for (uint64_t a : points) {
    EXPECT_LT(a, PrimePair::kEnd);
    EXPECT_EQ(PrimePair::add(a, PrimePair::negate(a)), 0u);
    if (a != 0)
      EXPECT_EQ(PrimePair::multiply(a, PrimePair::inverse(a)), one);
    for (uint64_t b : points)
      for (uint64_t c : points) {
        EXPECT_EQ(PrimePair::multiply(a, PrimePair::add(b, c)),
                  PrimePair::add(PrimePair::multiply(a, b),
                                 PrimePair::multiply(a, c)));
        EXPECT_EQ(PrimePair::multiply(PrimePair::multiply(a, b), c),
                  PrimePair::multiply(a, PrimePair::multiply(b, c)));
      }
  }
  EXPECT_EQ(PrimePair::scale(PrimePair::fromSigned(-12), -2),
            PrimePair::fromSigned(-3));
}

// exp turns sums into products, is 1 at 0, and does nothing else of the kind.
TEST(PrimePairTest, HasAnExponential) {
  std::mt19937_64 engine(6);
  auto exp = [](uint64_t x) { return PrimePair::exp(7, x); };
  EXPECT_TRUE(PrimePair::isEqual(exp(0), PrimePair::fromUnsigned(1)));
  for (int n = 0; n < 100; ++n) {
    uint64_t a = PrimePair::draw(1, engine()), b = PrimePair::draw(2, engine());
    uint64_t sum = PrimePair::add(a, b);
    EXPECT_TRUE(
        PrimePair::isEqual(exp(sum), PrimePair::multiply(exp(a), exp(b))));
    EXPECT_FALSE(PrimePair::isEqual(exp(sum), PrimePair::add(exp(a), exp(b))));
    EXPECT_FALSE(PrimePair::isEqual(exp(PrimePair::multiply(a, b)),
                                    PrimePair::multiply(exp(a), exp(b))));
    // What is open modulo q has a random exp.
    EXPECT_FALSE(
        PrimePair::isEqual(exp(PrimePair::add(exp(a), exp(b))),
                           PrimePair::multiply(exp(exp(a)), exp(exp(b)))));
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
