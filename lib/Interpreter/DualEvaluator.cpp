// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Interpreter/DualEvaluator.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

TensorValue DualEvaluator::getTangent(const TensorValue &x) const {
  return tangents.lookup(x.get()).second;
}

void DualEvaluator::setTangent(const TensorValue &x, TensorValue tangent) {
  tangents[x.get()] = {x, std::move(tangent)};
}

TensorValue DualEvaluator::with(TensorValue value, TensorValue tangent) {
  if (tangent)
    setTangent(value, std::move(tangent));
  return value;
}

static TensorValue makeZeros(RankedTensorType type) {
  return std::make_shared<DenseTensor>(type);
}

TensorValue DualEvaluator::getOrZero(const TensorValue &x) const {
  TensorValue tangent = getTangent(x);
  return tangent ? tangent : makeZeros(x->getType());
}

template <typename Function>
TensorValue DualEvaluator::move(const TensorValue &x, Function function) {
  TensorValue tangent = getTangent(x);
  return with(function(x), tangent ? function(tangent) : nullptr);
}

/// A tensor whose element i is `function(i)`.
template <typename Function>
static TensorValue generate(RankedTensorType type, Function function) {
  auto result = std::make_shared<DenseTensor>(type);
  for (int64_t i = 0; i < result->size(); ++i)
    (*result)[i] = makeReal(function(i));
  return result;
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

/// The derivative of y = f(x).
static double getSlope(UnaryKind kind, double x, double y) {
  switch (kind) {
  case UnaryKind::Neg:
    return -1;
  case UnaryKind::Abs:
    return x > 0 ? 1 : x < 0 ? -1 : 0;
  case UnaryKind::Exp:
    return y;
  case UnaryKind::Expm1:
    return std::exp(x);
  case UnaryKind::Log:
    return 1 / x;
  case UnaryKind::Log1p:
    return 1 / (1 + x);
  case UnaryKind::Sqrt:
    return 1 / (2 * std::sqrt(x));
  case UnaryKind::Rsqrt:
    return -0.5 * std::pow(x, -1.5);
  case UnaryKind::Cbrt:
    return 1 / (3 * y * y);
  case UnaryKind::Sin:
    return std::cos(x);
  case UnaryKind::Cos:
    return -std::sin(x);
  case UnaryKind::Tan:
    return 1 / (std::cos(x) * std::cos(x));
  case UnaryKind::Tanh:
    return 1 / (std::cosh(x) * std::cosh(x));
  case UnaryKind::Erf:
    return 2 / std::sqrt(M_PI) * std::exp(-x * x);
  case UnaryKind::Logistic:
    return 1 / (2 + std::exp(x) + std::exp(-x));
  case UnaryKind::Sign:
  case UnaryKind::Floor:
  case UnaryKind::Ceil:
  case UnaryKind::RoundEven:
  case UnaryKind::StopGradient:
  case UnaryKind::Not:
  case UnaryKind::Popcount:
  case UnaryKind::CountLeadingZeros:
    return 0;
  }
  llvm_unreachable("covered switch");
}

TensorValue DualEvaluator::unary(UnaryKind kind, TensorValue x, Type type) {
  TensorValue y = plain.unary(kind, x, type), tangent = getTangent(x);
  if (!tangent)
    return y;
  return with(y, generate(type, [&](int64_t i) {
                return toDense(tangent)[i].real *
                       getSlope(kind, toDense(x)[i].real, toDense(y)[i].real);
              }));
}

/// The derivatives of f(a, b) with respect to a and b.
static std::pair<double, double> getSlopes(BinaryKind kind, double a,
                                           double b) {
  auto choose = [](bool first, bool second) {
    double share = first && second ? 0.5 : 1;
    return std::pair(first ? share : 0, second ? share : 0);
  };
  switch (kind) {
  case BinaryKind::Add:
    return {1, 1};
  case BinaryKind::Sub:
    return {1, -1};
  case BinaryKind::Mul:
    return {b, a};
  case BinaryKind::Div:
    return {1 / b, -a / (b * b)};
  case BinaryKind::Max:
    return choose(a >= b, b >= a);
  case BinaryKind::Min:
    return choose(a <= b, b <= a);
  case BinaryKind::Pow:
    return {b == 0 ? 0 : b * std::pow(a, b - 1),
            a == 0 ? 0 : std::pow(a, b) * std::log(a)};
  case BinaryKind::Rem:
    return {1, -std::trunc(a / b)};
  case BinaryKind::Atan2:
    return {b / (a * a + b * b), -a / (a * a + b * b)};
  case BinaryKind::And:
  case BinaryKind::Or:
  case BinaryKind::Xor:
  case BinaryKind::ShiftLeft:
  case BinaryKind::ShiftRightArithmetic:
  case BinaryKind::ShiftRightLogical:
    return {0, 0};
  }
  llvm_unreachable("covered switch");
}

TensorValue DualEvaluator::binary(BinaryKind kind, TensorValue a, TensorValue b,
                                  Type type) {
  TensorValue y = plain.binary(kind, a, b, type);
  TensorValue ta = getTangent(a), tb = getTangent(b);
  if (!ta && !tb)
    return y;
  return with(y, generate(type, [&](int64_t i) {
                auto [da, db] =
                    getSlopes(kind, toDense(a)[i].real, toDense(b)[i].real);
                // A slope may be infinite even if the operand has no tangent.
                return (ta ? toDense(ta)[i].real * da : 0) +
                       (tb ? toDense(tb)[i].real * db : 0);
              }));
}

TensorValue DualEvaluator::select(TensorValue condition, TensorValue a,
                                  TensorValue b, Type type) {
  TensorValue y = plain.select(condition, a, b, type);
  if (!hasTangent(a) && !hasTangent(b))
    return y;
  return with(y, plain.select(condition, getOrZero(a), getOrZero(b), type));
}

TensorValue DualEvaluator::convert(TensorValue x, Type type) {
  if (!isa<FloatType>(type.getElementType()))
    return plain.convert(x, type);
  return move(x, [&](TensorValue value) { return plain.convert(value, type); });
}

//===----------------------------------------------------------------------===//
// Contractions and reductions
//===----------------------------------------------------------------------===//

TensorValue DualEvaluator::contract(StringRef equation, TensorValue a,
                                    TensorValue b, Type type) {
  TensorValue y = plain.contract(equation, a, b, type);
  TensorValue ta = getTangent(a), tb = getTangent(b);
  TensorValue tangent = ta ? plain.contract(equation, ta, b, type) : nullptr;
  if (tb) {
    TensorValue other = plain.contract(equation, a, tb, type);
    tangent =
        tangent ? plain.binary(BinaryKind::Add, tangent, other, type) : other;
  }
  return with(y, tangent);
}

/// For each element of `shape`, the offset of the result element that it
/// contributes to in a reduction over `dims`.
static SmallVector<int64_t> getPlaces(ArrayRef<int64_t> shape,
                                      ArrayRef<int64_t> dims) {
  SmallVector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1, count = 1;
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    count *= shape[dim];
    if (llvm::is_contained(dims, dim))
      continue;
    strides[dim] = stride;
    stride *= shape[dim];
  }
  SmallVector<int64_t> places(count);
  SmallVector<int64_t> own = interp::getStrides(shape);
  for (int64_t i = 0; i < count; ++i)
    for (auto [size, from, to] : llvm::zip_equal(shape, own, strides))
      places[i] += i / from % size * to;
  return places;
}

TensorValue DualEvaluator::reduce(ReductionKind kind, TensorValue x,
                                  ArrayRef<int64_t> dims, Type type) {
  TensorValue y = plain.reduce(kind, x, dims, type), tangent = getTangent(x);
  if (!tangent)
    return y;
  if (kind == ReductionKind::Sum)
    return with(y, plain.reduce(kind, tangent, dims, type));
  auto result = std::make_shared<DenseTensor>(type);
  SmallVector<int64_t> places = getPlaces(x->getShape(), dims);
  if (kind == ReductionKind::Prod) {
    SmallVector<double> product(result->size(), 1);
    for (auto [i, to] : llvm::enumerate(places)) {
      double value = toDense(x)[i].real, t = toDense(tangent)[i].real;
      (*result)[to].real = (*result)[to].real * value + product[to] * t;
      product[to] *= value;
    }
    return with(y, result);
  }
  // The tangent is the mean of the tangents of elements equal to the result.
  SmallVector<int64_t> count(result->size(), 0);
  for (auto [i, to] : llvm::enumerate(places))
    if (toDense(x)[i].real == toDense(y)[to].real) {
      (*result)[to].real += toDense(tangent)[i].real;
      ++count[to];
    }
  for (auto [i, shared] : llvm::enumerate(count))
    if (shared > 1)
      (*result)[i].real /= shared;
  return with(y, result);
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

TensorValue DualEvaluator::broadcast(TensorValue x, ArrayRef<int64_t> dims,
                                     Type type) {
  return move(
      x, [&](TensorValue value) { return plain.broadcast(value, dims, type); });
}

TensorValue DualEvaluator::transpose(TensorValue x,
                                     ArrayRef<int64_t> permutation, Type type) {
  return move(x, [&](TensorValue value) {
    return plain.transpose(value, permutation, type);
  });
}

TensorValue DualEvaluator::reshape(TensorValue x, Type type) {
  return move(x, [&](TensorValue value) { return plain.reshape(value, type); });
}

TensorValue DualEvaluator::slice(TensorValue x, ArrayRef<int64_t> starts,
                                 ArrayRef<int64_t> strides, Type type) {
  return move(x, [&](TensorValue value) {
    return plain.slice(value, starts, strides, type);
  });
}

TensorValue DualEvaluator::concat(ArrayRef<TensorValue> parts, unsigned dim,
                                  Type type) {
  TensorValue y = plain.concat(parts, dim, type);
  if (llvm::none_of(parts,
                    [&](const TensorValue &part) { return hasTangent(part); }))
    return y;
  SmallVector<TensorValue> moved;
  for (const TensorValue &part : parts)
    moved.push_back(getOrZero(part));
  return with(y, plain.concat(moved, dim, type));
}

TensorValue DualEvaluator::pad(TensorValue x, TensorValue value,
                               ArrayRef<int64_t> low, Type type) {
  TensorValue y = plain.pad(x, value, low, type);
  if (!hasTangent(x) && !hasTangent(value))
    return y;
  return with(y, plain.pad(getOrZero(x), getOrZero(value), low, type));
}

TensorValue DualEvaluator::window(TensorValue x, ArrayRef<int64_t> dims,
                                  ArrayRef<int64_t> starts,
                                  ArrayRef<int64_t> strides,
                                  ArrayRef<int64_t> dilations, Type type) {
  return move(x, [&](TensorValue value) {
    return plain.window(value, dims, starts, strides, dilations, type);
  });
}

TensorValue DualEvaluator::dynamicSlice(TensorValue x,
                                        ArrayRef<TensorValue> starts,
                                        Type type) {
  return move(x, [&](TensorValue value) {
    return plain.dynamicSlice(value, starts, type);
  });
}

TensorValue DualEvaluator::dynamicUpdateSlice(TensorValue x, TensorValue update,
                                              ArrayRef<TensorValue> starts,
                                              Type type) {
  TensorValue y = plain.dynamicUpdateSlice(x, update, starts, type);
  if (!hasTangent(x) && !hasTangent(update))
    return y;
  return with(y, plain.dynamicUpdateSlice(getOrZero(x), getOrZero(update),
                                          starts, type));
}

TensorValue DualEvaluator::gather(TensorValue x, TensorValue indices,
                                  unsigned axis, unsigned batchDims,
                                  Type type) {
  return move(x, [&](TensorValue value) {
    return plain.gather(value, indices, axis, batchDims, type);
  });
}

std::pair<TensorValue, TensorValue>
DualEvaluator::sort(TensorValue x, unsigned dim, bool descending, Type values,
                    Type indices) {
  auto [sorted, from] = plain.sort(x, dim, descending, values, indices);
  TensorValue tangent = getTangent(x);
  if (!tangent)
    return {sorted, from};
  int64_t stride = interp::getStrides(values.getShape())[dim];
  int64_t size = values.getDimSize(dim);
  const DenseTensor &places = toDense(from);
  return {with(sorted, generate(values,
                                [&](int64_t i) {
                                  int64_t own = i / stride % size;
                                  int64_t by = places[i].integer - own;
                                  return toDense(tangent)[i + by * stride].real;
                                })),
          from};
}

TensorValue DualEvaluator::scatter(ScatterKind kind, TensorValue x,
                                   TensorValue indices, TensorValue updates,
                                   unsigned axis, unsigned batchDims,
                                   Type type) {
  auto put = [&](ScatterKind how, const TensorValue &into,
                 const TensorValue &what) {
    return plain.scatter(how, into, indices, what, axis, batchDims, type);
  };
  TensorValue y = put(kind, x, updates);
  if (!hasTangent(x) && !hasTangent(updates))
    return y;
  TensorValue tx = getOrZero(x), tu = getOrZero(updates);
  if (kind == ScatterKind::Add || kind == ScatterKind::Set)
    return with(y, put(kind, tx, tu));
  if (kind == ScatterKind::Mul) {
    // Compute the product of nonzero factors, the sum of their t / v (tangent
    // by value), the number of zeros, and the sum of the zeros' tangents.
    auto split = [&](const TensorValue &value, const TensorValue &tangent,
                     auto pick) {
      return generate(value->getType(), [&](int64_t i) {
        return pick(toDense(value)[i].real, toDense(tangent)[i].real);
      });
    };
    auto factor = [](double v, double) { return v == 0 ? 1 : v; };
    auto change = [](double v, double t) { return v == 0 ? 0 : t / v; };
    auto zero = [](double v, double) { return v == 0 ? 1.0 : 0.0; };
    auto zeroChange = [](double v, double t) { return v == 0 ? t : 0; };
    TensorValue product =
        put(ScatterKind::Mul, split(x, tx, factor), split(updates, tu, factor));
    TensorValue changes =
        put(ScatterKind::Add, split(x, tx, change), split(updates, tu, change));
    TensorValue zeros =
        put(ScatterKind::Add, split(x, tx, zero), split(updates, tu, zero));
    TensorValue zeroChanges = put(ScatterKind::Add, split(x, tx, zeroChange),
                                  split(updates, tu, zeroChange));
    return with(y, generate(type, [&](int64_t i) {
                  double count = toDense(zeros)[i].real;
                  double by = count == 0   ? toDense(changes)[i].real
                              : count == 1 ? toDense(zeroChanges)[i].real
                                           : 0;
                  return toDense(product)[i].real * by;
                }));
  }
  // The result's tangent is the mean of the tangents of all input and update
  // elements that equal the result.
  TensorValue seen =
      plain.gather(y, indices, axis, batchDims, updates->getType());
  auto pick = [&](const TensorValue &value, const TensorValue &result,
                  const TensorValue &tangent) {
    return generate(value->getType(), [&](int64_t i) {
      bool isResult = toDense(value)[i].real == toDense(result)[i].real;
      return !isResult ? 0 : tangent ? toDense(tangent)[i].real : 1;
    });
  };
  TensorValue sum =
      put(ScatterKind::Add, pick(x, y, tx), pick(updates, seen, tu));
  TensorValue count =
      put(ScatterKind::Add, pick(x, y, nullptr), pick(updates, seen, nullptr));
  return with(y, plain.binary(BinaryKind::Div, sum, count, type));
}
