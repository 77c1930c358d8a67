// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The tangent of every kernel against the difference quotient along the same
// direction.

#include "Harness.h"

#include "lib/Interpreter/DualEvaluator.h"

using namespace tp;
using namespace tp::interp;
using namespace mlir;

namespace {

class DualEvaluatorTest : public InterpreterFixture {
protected:
  using Kernel =
      llvm::function_ref<TensorValue(Evaluator &, ArrayRef<TensorValue>)>;

  TensorValue draw(RankedTensorType type, double low, double high) {
    std::uniform_real_distribution<double> number(low, high);
    SmallVector<double> values(type.getNumElements());
    for (double &value : values)
      value = number(generator);
    return makeRealTensor(type, values);
  }
  TensorValue draw(ArrayRef<int64_t> shape, double low = 0.3, double high = 2) {
    return draw(type(shape, real()), low, high);
  }
  Type real() { return Float64Type::get(&context); }

  TensorValue add(const TensorValue &x, const TensorValue &v, double h) {
    SmallVector<double> values;
    for (int64_t i = 0; i < toDense(x).size(); ++i)
      values.push_back(toDense(x)[i].real + h * toDense(v)[i].real);
    return makeRealTensor(x->getType(), values);
  }

  /// Moves each operand alone, and all of them.
  void check(ArrayRef<TensorValue> operands, Kernel kernel) {
    for (unsigned moved = 0; moved <= operands.size(); ++moved) {
      DualEvaluator dual;
      SmallVector<TensorValue> above, below;
      for (auto [i, x] : llvm::enumerate(operands)) {
        bool moves = moved == operands.size() || i == moved;
        TensorValue v = draw(x->getType(), -1, 1);
        dual.setTangent(x, moves ? v : nullptr);
        above.push_back(moves ? add(x, v, 1e-6) : x);
        below.push_back(moves ? add(x, v, -1e-6) : x);
      }
      TensorValue y = kernel(dual, operands), tangent = dual.getTangent(y);
      ASSERT_TRUE(tangent);
      EXPECT_EQ(tangent->getType(), y->getType());
      DoubleEvaluator plain;
      TensorValue high = kernel(plain, above), low = kernel(plain, below);
      for (int64_t i = 0; i < toDense(y).size(); ++i) {
        double quotient = (toDense(high)[i].real - toDense(low)[i].real) / 2e-6;
        EXPECT_NEAR(toDense(tangent)[i].real, quotient,
                    1e-7 * (1 + std::abs(quotient)));
        EXPECT_EQ(toDense(y)[i].real, toDense(kernel(plain, operands))[i].real);
      }
    }
  }

  std::mt19937 generator{7};
};

TEST_F(DualEvaluatorTest, Unary) {
  for (int kind = 0; kind <= int(UnaryKind::RoundEven); ++kind) {
    SCOPED_TRACE(kind);
    check({draw({3, 5})}, [&](Evaluator &evaluator, ArrayRef<TensorValue> x) {
      return evaluator.unary(UnaryKind(kind), x[0], type({3, 5}, real()));
    });
  }
}

TEST_F(DualEvaluatorTest, Binary) {
  for (int kind = 0; kind <= int(BinaryKind::Atan2); ++kind) {
    SCOPED_TRACE(kind);
    check({draw({7}), draw({7})}, [&](Evaluator &evaluator,
                                      ArrayRef<TensorValue> x) {
      return evaluator.binary(BinaryKind(kind), x[0], x[1], type({7}, real()));
    });
  }
}

TEST_F(DualEvaluatorTest, Contracts) {
  check({draw({3, 5}), draw({5, 2})}, [&](Evaluator &evaluator,
                                          ArrayRef<TensorValue> x) {
    return evaluator.contract("ik,kj->ij", x[0], x[1], type({3, 2}, real()));
  });
}

TEST_F(DualEvaluatorTest, Reduces) {
  for (ReductionKind kind : {ReductionKind::Sum, ReductionKind::Max,
                             ReductionKind::Min, ReductionKind::Prod})
    check({draw({3, 4, 5}, -2, 2)},
          [&](Evaluator &evaluator, ArrayRef<TensorValue> x) {
            return evaluator.reduce(kind, x[0], {0, 2}, type({4}, real()));
          });
}

// Where elements are zero, products are what their limits are.
TEST_F(DualEvaluatorTest, MultipliesZeros) {
  check({makeRealTensor(type({2, 3}, real()), {0, 2, 3, 0, 0, 5})},
        [&](Evaluator &evaluator, ArrayRef<TensorValue> x) {
          return evaluator.reduce(ReductionKind::Prod, x[0], {1},
                                  type({2}, real()));
        });
}

TEST_F(DualEvaluatorTest, Moves) {
  auto t = [&](ArrayRef<int64_t> shape) { return type(shape, real()); };
  TensorValue one =
      makeIntegerTensor(type({}, IntegerType::get(&context, 32)), {1});
  check({draw({3, 5})}, [&](Evaluator &e, ArrayRef<TensorValue> x) {
    return e.transpose(e.slice(e.broadcast(x[0], {0, 2}, t({3, 2, 5})),
                               {0, 1, 1}, {2, 1, 2}, t({2, 1, 2})),
                       {2, 0, 1}, t({2, 2, 1}));
  });
  check({draw({3, 5})}, [&](Evaluator &e, ArrayRef<TensorValue> x) {
    return e.window(e.convert(e.reshape(x[0], t({15})), t({15})), {0}, {1}, {2},
                    {3}, t({4, 3}));
  });
  check({draw({3, 5}), draw({3, 2})},
        [&](Evaluator &e, ArrayRef<TensorValue> x) {
          return e.concat({x[0], x[1], x[0]}, 1, t({3, 12}));
        });
  check({draw({3}), draw({})}, [&](Evaluator &e, ArrayRef<TensorValue> x) {
    return e.pad(x[0], x[1], {2}, t({7}));
  });
  check({draw({5, 4})}, [&](Evaluator &e, ArrayRef<TensorValue> x) {
    return e.dynamicSlice(x[0], {one, one}, t({2, 3}));
  });
  check({draw({5}), draw({2})}, [&](Evaluator &e, ArrayRef<TensorValue> x) {
    return e.dynamicUpdateSlice(x[0], x[1], {one}, t({5}));
  });
  auto mask =
      makeIntegerTensor(type({4}, IntegerType::get(&context, 1)), {0, 1, 1, 0});
  check({draw({4}), draw({4})}, [&](Evaluator &e, ArrayRef<TensorValue> x) {
    return e.select(mask, x[0], x[1], t({4}));
  });
}

TEST_F(DualEvaluatorTest, GathersAndScatters) {
  auto t = [&](ArrayRef<int64_t> shape) { return type(shape, real()); };
  // An element twice, and one out of range.
  TensorValue indices = makeIntegerTensor(
      type({4}, IntegerType::get(&context, 32)), {2, 0, 2, 9});
  check({draw({3, 5})}, [&](Evaluator &e, ArrayRef<TensorValue> x) {
    return e.gather(x[0], indices, 0, 0, t({4, 5}));
  });
  for (ScatterKind kind : {ScatterKind::Set, ScatterKind::Add, ScatterKind::Max,
                           ScatterKind::Min, ScatterKind::Mul})
    check({draw({3, 5}), draw({4, 5})},
          [&](Evaluator &e, ArrayRef<TensorValue> x) {
            return e.scatter(kind, x[0], indices, x[1], 0, 0, t({3, 5}));
          });
  auto zeros = makeRealTensor(t({4}), {0, 2, 0, 1});
  check({makeRealTensor(t({3}), {3, 0, 2}), zeros},
        [&](Evaluator &e, ArrayRef<TensorValue> x) {
          return e.scatter(ScatterKind::Mul, x[0], indices, x[1], 0, 0, t({3}));
        });
}

TEST_F(DualEvaluatorTest, Sorts) {
  check({draw({4, 3}, -2, 2)}, [&](Evaluator &e, ArrayRef<TensorValue> x) {
    return e
        .sort(x[0], 0, true, type({4, 3}, real()),
              type({4, 3}, IntegerType::get(&context, 32)))
        .first;
  });
}

// Elements that are equal share what a maximum changes by, and |x| does not
// change at 0.
TEST_F(DualEvaluatorTest, TakesCornersAsGradientsDo) {
  DualEvaluator dual;
  auto t = type({2}, real());
  TensorValue x = makeRealTensor(t, {0, 0}), v = makeRealTensor(t, {1, 3});
  dual.setTangent(x, v);
  TensorValue max = dual.reduce(ReductionKind::Max, x, {0}, type({}, real()));
  EXPECT_EQ(toDense(dual.getTangent(max))[0].real, 2);
  TensorValue y = makeRealTensor(t, {0, 0});
  TensorValue both = dual.binary(BinaryKind::Max, x, y, t);
  EXPECT_EQ(toDense(dual.getTangent(both))[1].real, 1.5);
  TensorValue abs = dual.unary(UnaryKind::Abs, x, t);
  EXPECT_EQ(toDense(dual.getTangent(abs))[0].real, 0);
}

} // namespace
