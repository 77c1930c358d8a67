// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The kernels that do arithmetic: on integers here, on floats by the number
// system of a derived class.

#include "lib/Interpreter/DenseEvaluator.h"
#include "lib/Support/Random.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;

static std::shared_ptr<DenseTensor> allocate(RankedTensorType type) {
  return std::make_shared<DenseTensor>(type);
}

template <typename T>
static TensorValue fill(RankedTensorType type, ArrayRef<T> values,
                        Element (*make)(T)) {
  auto result = allocate(type);
  std::transform(values.begin(), values.end(), result->data(), make);
  return result;
}
TensorValue tp::interp::makeRealTensor(RankedTensorType type,
                                       ArrayRef<double> values) {
  return fill(type, values, makeReal);
}
TensorValue tp::interp::makeIntegerTensor(RankedTensorType type,
                                          ArrayRef<int64_t> values) {
  return fill(type, values, makeInteger);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

int64_t tp::interp::wrapInteger(int64_t value, IntegerType type) {
  unsigned width = type.getWidth();
  if (width >= 64)
    return value;
  uint64_t low = uint64_t(value) & ((uint64_t(1) << width) - 1);
  if (type.isUnsigned() || width == 1)
    return int64_t(low);
  uint64_t sign = uint64_t(1) << (width - 1);
  return int64_t((low ^ sign) - sign);
}

/// Returns true if integers of `type` are compared as uint64_t. An i1 is 0 or 1
/// either way.
static bool isUnsigned(IntegerType type) { return type.isUnsigned(); }

static int orderIntegers(int64_t a, int64_t b, IntegerType type) {
  bool less = isUnsigned(type) ? uint64_t(a) < uint64_t(b) : a < b;
  return a == b ? 0 : less ? -1 : 1;
}

static int64_t multiply(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) * uint64_t(b));
}

static int64_t power(int64_t base, int64_t exponent, IntegerType type) {
  if (exponent < 0 && !isUnsigned(type)) {
    // 1 / base^n, truncated.
    if (base == 1)
      return 1;
    return base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  }
  int64_t result = 1;
  for (uint64_t rest = exponent; rest; rest >>= 1) {
    if (rest & 1)
      result = multiply(result, base);
    base = multiply(base, base);
  }
  return result;
}

/// Returns the quotient or the remainder.
static int64_t divide(int64_t a, int64_t b, bool remainder, IntegerType type) {
  if (b == 0)
    return remainder ? a : -1;
  if (isUnsigned(type))
    return int64_t(remainder ? uint64_t(a) % uint64_t(b)
                             : uint64_t(a) / uint64_t(b));
  if (b == -1) // The negative of the least value does not fit, so wrap.
    return remainder ? 0 : int64_t(-uint64_t(a));
  return remainder ? a % b : a / b;
}

/// Shifts the bits of `a` by `b`, which is taken as unsigned.
static int64_t shift(BinaryKind kind, int64_t a, int64_t b, IntegerType type) {
  unsigned width = type.getWidth();
  llvm::APInt bits(width, uint64_t(a), /*isSigned=*/false,
                   /*implicitTrunc=*/true);
  unsigned by = llvm::APInt(width, uint64_t(b), /*isSigned=*/false,
                            /*implicitTrunc=*/true)
                    .getLimitedValue(width);
  if (kind == BinaryKind::ShiftLeft)
    bits <<= by;
  else if (kind == BinaryKind::ShiftRightLogical)
    bits.lshrInPlace(by);
  else
    bits.ashrInPlace(by);
  return int64_t(bits.getZExtValue());
}

static int64_t binaryInteger(BinaryKind kind, int64_t a, int64_t b,
                             IntegerType type) {
  switch (kind) {
  case BinaryKind::Add:
    return int64_t(uint64_t(a) + uint64_t(b));
  case BinaryKind::Sub:
    return int64_t(uint64_t(a) - uint64_t(b));
  case BinaryKind::Mul:
    return multiply(a, b);
  case BinaryKind::Div:
    return divide(a, b, /*remainder=*/false, type);
  case BinaryKind::Rem:
    return divide(a, b, /*remainder=*/true, type);
  case BinaryKind::Max:
    return orderIntegers(a, b, type) < 0 ? b : a;
  case BinaryKind::Min:
    return orderIntegers(a, b, type) < 0 ? a : b;
  case BinaryKind::Pow:
    return power(a, b, type);
  case BinaryKind::And:
    return a & b;
  case BinaryKind::Or:
    return a | b;
  case BinaryKind::Xor:
    return a ^ b;
  case BinaryKind::ShiftLeft:
  case BinaryKind::ShiftRightArithmetic:
  case BinaryKind::ShiftRightLogical:
    return shift(kind, a, b, type);
  case BinaryKind::Atan2:
    break;
  }
  llvm_unreachable("the verifier allows this op on floats only");
}

static int64_t unaryInteger(UnaryKind kind, int64_t x, IntegerType type) {
  switch (kind) {
  case UnaryKind::Neg:
    return int64_t(-uint64_t(x));
  case UnaryKind::Abs:
    return x < 0 && !isUnsigned(type) ? int64_t(-uint64_t(x)) : x;
  case UnaryKind::Sign:
    return x == 0 ? 0 : x < 0 && !isUnsigned(type) ? -1 : 1;
  case UnaryKind::Not:
    return ~x;
  case UnaryKind::Popcount:
  case UnaryKind::CountLeadingZeros: {
    llvm::APInt bits(type.getWidth(), uint64_t(x), /*isSigned=*/false,
                     /*implicitTrunc=*/true);
    return kind == UnaryKind::Popcount ? bits.popcount() : bits.countl_zero();
  }
  default:
    llvm_unreachable("the verifier allows this op on floats only");
  }
}

//===----------------------------------------------------------------------===//
// Single elements
//===----------------------------------------------------------------------===//

Element DenseEvaluator::combine(BinaryKind kind, Element a, Element b,
                                mlir::Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return makeInteger(wrapInteger(
        binaryInteger(kind, a.integer, b.integer, integer), integer));
  return binaryFloat(kind, a, b);
}

void DenseEvaluator::finish(MutableArrayRef<Element> values, mlir::Type type) {
  if (auto floatType = dyn_cast<FloatType>(type))
    for (Element &value : values)
      value = round(value, floatType);
}

std::optional<int> DenseEvaluator::orderOf(Element a, Element b,
                                           mlir::Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return orderIntegers(a.integer, b.integer, integer);
  return order(a, b);
}

Element DenseEvaluator::makeElement(Attribute scalar, mlir::Type elementType) {
  if (auto number = dyn_cast<FloatAttr>(scalar))
    return round(fromAPFloat(number.getValue()), cast<FloatType>(elementType));
  return makeInteger(
      wrapInteger(int64_t(cast<IntegerAttr>(scalar).getValue().getRawData()[0]),
                  cast<IntegerType>(elementType)));
}

Element DenseEvaluator::getIdentity(ReduceKind kind, mlir::Type elementType) {
  return makeElement(getReductionIdentity(kind, elementType), elementType);
}

Element DenseEvaluator::getGarbage(uint64_t salt, mlir::Type elementType) {
  uint64_t random = scramble(salt);
  bool isNegative = random & 1;
  int64_t number = 1000003 + 2 * int64_t(salt % 997);
  if (auto type = dyn_cast<IntegerType>(elementType)) {
    if (type.getWidth() == 1)
      return makeInteger(isNegative);
    int64_t small = 1 + int64_t(salt % 3);
    int64_t size = random & 2 ? small : number;
    return makeInteger(wrapInteger(isNegative ? -size : size, type));
  }
  auto type = cast<FloatType>(elementType);
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  if ((random & 2) != 0 && llvm::APFloat::semanticsHasNaN(semantics))
    return fromAPFloat(llvm::APFloat::getNaN(semantics));
  switch (random >> 2 & 3) {
  case 0:
    return fromAPFloat(
        llvm::APFloat::getSmallestNormalized(semantics, isNegative));
  case 1:
    return round(fromInteger(isNegative ? -number : number,
                             /*isUnsigned=*/false, type),
                 type);
  default:
    return fromAPFloat(llvm::APFloat::getLargest(semantics, isNegative));
  }
}

std::string DenseEvaluator::print(Element value, mlir::Type elementType) {
  auto type = dyn_cast<IntegerType>(elementType);
  return type && isUnsigned(type) ? std::to_string(value.residue)
                                  : std::to_string(value.integer);
}

//===----------------------------------------------------------------------===//
// Constants and element-wise kernels
//===----------------------------------------------------------------------===//

TensorValue DenseEvaluator::constant(ElementsAttr value, Type type) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    bool isSplat;
    if (!blob || !DenseElementsAttr::isValidRawBuffer(resource.getType(),
                                                      blob->getData(), isSplat))
      return nullptr;
    dense = DenseElementsAttr::getFromRawBuffer(resource.getType(),
                                                blob->getData());
  }
  if (!dense)
    return nullptr;
  auto result = allocate(type);
  if (result->size() > 0 && dense.isSplat()) {
    std::fill_n(
        result->data(), result->size(),
        makeElement(dense.getSplatValue<Attribute>(), type.getElementType()));
    return result;
  }
  if (auto integer = dyn_cast<IntegerType>(type.getElementType())) {
    for (auto [i, bits] : llvm::enumerate(dense.getValues<llvm::APInt>()))
      (*result)[i] =
          makeInteger(wrapInteger(int64_t(bits.getRawData()[0]), integer));
    return result;
  }
  for (auto [i, number] : llvm::enumerate(dense.getValues<llvm::APFloat>()))
    (*result)[i] = fromAPFloat(number);
  finish(result->getElements(), type.getElementType());
  return result;
}

TensorValue DenseEvaluator::iota(unsigned dim, Type type) {
  auto result = allocate(type);
  int64_t stride = getStrides(type.getShape())[dim];
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  for (int64_t i = 0; i < result->size(); ++i) {
    int64_t index = i / stride % type.getDimSize(dim);
    (*result)[i] = integer
                       ? makeInteger(wrapInteger(index, integer))
                       : fromInteger(index, /*isUnsigned=*/false,
                                     cast<FloatType>(type.getElementType()));
  }
  finish(result->getElements(), type.getElementType());
  return result;
}

TensorValue DenseEvaluator::unary(UnaryKind kind, TensorValue x, Type type) {
  auto result = allocate(type);
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  for (int64_t i = 0; i < result->size(); ++i) {
    Element value = toDense(x)[i];
    (*result)[i] =
        integer ? makeInteger(wrapInteger(
                      unaryInteger(kind, value.integer, integer), integer))
                : unaryFloat(kind, value);
  }
  finish(result->getElements(), type.getElementType());
  return result;
}

TensorValue DenseEvaluator::binary(BinaryKind kind, TensorValue a,
                                   TensorValue b, Type type) {
  auto result = allocate(type);
  mlir::Type element = type.getElementType();
  if (isa<IntegerType>(element))
    for (int64_t i = 0; i < result->size(); ++i)
      (*result)[i] = combine(kind, toDense(a)[i], toDense(b)[i], element);
  else
    binaryFloats(kind, toDense(a).data(), toDense(b).data(), result->data(),
                 result->size());
  finish(result->getElements(), element);
  return result;
}

static bool holds(ComparePredicate predicate, std::optional<int> order) {
  if (!order)
    return predicate == ComparePredicate::NE;
  switch (predicate) {
  case ComparePredicate::EQ:
    return *order == 0;
  case ComparePredicate::NE:
    return *order != 0;
  case ComparePredicate::LT:
    return *order < 0;
  case ComparePredicate::LE:
    return *order <= 0;
  case ComparePredicate::GT:
    return *order > 0;
  case ComparePredicate::GE:
    return *order >= 0;
  }
  llvm_unreachable("covered switch");
}

TensorValue DenseEvaluator::compare(ComparePredicate predicate, TensorValue a,
                                    TensorValue b, Type type) {
  auto result = allocate(type);
  mlir::Type element = a->getType().getElementType();
  for (int64_t i = 0; i < result->size(); ++i)
    (*result)[i] = makeInteger(
        holds(predicate, orderOf(toDense(a)[i], toDense(b)[i], element)));
  return result;
}

TensorValue DenseEvaluator::convert(TensorValue x, Type type) {
  auto result = allocate(type);
  auto from = dyn_cast<IntegerType>(x->getType().getElementType());
  auto to = dyn_cast<IntegerType>(type.getElementType());
  for (int64_t i = 0; i < result->size(); ++i) {
    Element value = toDense(x)[i];
    Element &out = (*result)[i];
    if (!to) {
      auto floatType = cast<FloatType>(type.getElementType());
      if (from)
        value = fromInteger(value.integer, isUnsigned(from), floatType);
      else if (x->getType().getElementType().isF64() &&
               floatType.getWidth() == 16)
        value = round(value, Float32Type::get(type.getContext())); // as in XLA
      out = value;
    } else if (to.getWidth() == 1) {
      out = makeInteger(from ? value.integer != 0 : !isZero(value));
    } else {
      out = makeInteger(from ? wrapInteger(value.integer, to)
                             : toInteger(value, to));
    }
  }
  finish(result->getElements(), type.getElementType());
  return result;
}

TensorValue DenseEvaluator::bitcast(TensorValue x, Type type) {
  auto result = allocate(type);
  auto from = dyn_cast<FloatType>(x->getType().getElementType());
  auto to = dyn_cast<FloatType>(type.getElementType());
  for (int64_t i = 0; i < result->size(); ++i) {
    Element value = toDense(x)[i];
    uint64_t bits = from ? toBits(value, from) : uint64_t(value.integer);
    (*result)[i] =
        to ? round(fromBits(bits, to), to)
           : makeInteger(wrapInteger(int64_t(bits),
                                     cast<IntegerType>(type.getElementType())));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Sums over dimensions
//===----------------------------------------------------------------------===//

/// Calls `apply(a, b)` with the offsets of every element of a box in two
/// tensors, in row-major order.
template <typename Fn>
static void forEachPair(ArrayRef<int64_t> sizes, ArrayRef<int64_t> aStrides,
                        ArrayRef<int64_t> bStrides, Fn apply, int64_t a = 0,
                        int64_t b = 0) {
  if (sizes.empty())
    return apply(a, b);
  for (int64_t i = 0; i < sizes[0]; ++i)
    forEachPair(sizes.drop_front(), aStrides.drop_front(),
                bStrides.drop_front(), apply, a + i * aStrides[0],
                b + i * bStrides[0]);
}

static BinaryKind getBinaryKind(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Sum:
    return BinaryKind::Add;
  case ReductionKind::Max:
    return BinaryKind::Max;
  case ReductionKind::Min:
    return BinaryKind::Min;
  case ReductionKind::Prod:
    return BinaryKind::Mul;
  }
  llvm_unreachable("covered switch");
}

TensorValue DenseEvaluator::reduce(ReductionKind kind, TensorValue x,
                                   ArrayRef<int64_t> dims, Type type) {
  mlir::Type element = type.getElementType();
  Element start = makeElement(getReductionIdentity(kind, element), element);
  BinaryKind binary = getBinaryKind(kind);
  auto result = allocate(type);
  std::fill_n(result->data(), result->size(), start);
  // The stride of a reduced dimension is 0 in the result.
  SmallVector<int64_t> kept = getStrides(type.getShape()), to;
  unsigned next = 0;
  for (int64_t dim = 0, rank = x->getShape().size(); dim < rank; ++dim)
    to.push_back(llvm::is_contained(dims, dim) ? 0 : kept[next++]);
  forEachPair(x->getShape(), getStrides(x->getShape()), to,
              [&](int64_t from, int64_t target) {
                Element &sum = (*result)[target];
                sum = combine(binary, sum, toDense(x)[from], element);
              });
  finish(result->getElements(), element);
  return result;
}

namespace {
/// Letters with their sizes: the dimensions of a packed operand.
struct Letters {
  std::string names;
  SmallVector<int64_t> sizes;

  void add(char name, int64_t size) {
    names.push_back(name);
    sizes.push_back(size);
  }
  int64_t getProduct() const {
    int64_t product = 1;
    for (int64_t size : sizes)
      product *= size;
    return product;
  }
  /// The stride of each letter in a tensor whose dimensions `term` names; 0 if
  /// `term` does not have the letter.
  SmallVector<int64_t> getStridesIn(StringRef term,
                                    ArrayRef<int64_t> strides) const {
    SmallVector<int64_t> steps;
    for (char name : names) {
      size_t dim = term.find(name);
      steps.push_back(dim == StringRef::npos ? 0 : strides[dim]);
    }
    return steps;
  }
};

Letters join(std::initializer_list<const Letters *> lists) {
  Letters all;
  for (const Letters *list : lists) {
    all.names += list->names;
    llvm::append_range(all.sizes, list->sizes);
  }
  return all;
}
} // namespace

TensorValue DenseEvaluator::contract(StringRef equation, TensorValue a,
                                     TensorValue b, Type type) {
  // Group letters by the terms that contain them. First, each operand is summed
  // over the letters that no other term has. What remains is a batched matrix
  // product [batch, m, k] x [batch, k, n].
  EinsumTerms terms = EinsumTerms::split(equation);
  Letters batch, m, n, k, aOnly, bOnly;
  for (auto [name, size] : llvm::zip_equal(terms.lhs, a->getShape())) {
    bool inB = terms.rhs.contains(name), kept = terms.result.contains(name);
    (inB ? (kept ? batch : k) : (kept ? m : aOnly)).add(name, size);
  }
  for (auto [name, size] : llvm::zip_equal(terms.rhs, b->getShape()))
    if (!terms.lhs.contains(name))
      (terms.result.contains(name) ? n : bOnly).add(name, size);

  mlir::Type element = type.getElementType();
  auto pack = [&](TensorValue x, StringRef term, const Letters &packed,
                  const Letters &summed) {
    std::vector<Element> result(packed.getProduct(),
                                getIdentity(ReduceKind::Sum, element));
    Letters all = join({&packed, &summed});
    SmallVector<int64_t> to = getStrides(packed.sizes);
    to.append(summed.sizes.size(), 0);
    forEachPair(all.sizes, all.getStridesIn(term, getStrides(x->getShape())),
                to, [&](int64_t from, int64_t target) {
                  result[target] = combine(BinaryKind::Add, result[target],
                                           toDense(x)[from], element);
                });
    return result;
  };
  std::vector<Element> lhs = pack(a, terms.lhs, join({&batch, &m, &k}), aOnly);
  std::vector<Element> rhs = pack(b, terms.rhs, join({&batch, &k, &n}), bOnly);

  int64_t rows = m.getProduct(), inner = k.getProduct(), cols = n.getProduct();
  Letters packed = join({&batch, &m, &n});
  std::vector<Element> product(packed.getProduct(),
                               getIdentity(ReduceKind::Sum, element));
  auto integer = dyn_cast<IntegerType>(element);
  for (int64_t i = 0, e = batch.getProduct(); i < e; ++i) {
    const Element *x = lhs.data() + i * rows * inner;
    const Element *y = rhs.data() + i * inner * cols;
    Element *z = product.data() + i * rows * cols;
    if (!integer) {
      multiplyAdd(x, y, z, rows, inner, cols);
      continue;
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t s = 0; s < inner; ++s)
        for (int64_t c = 0; c < cols; ++c) {
          Element &sum = z[r * cols + c];
          Element term = combine(BinaryKind::Mul, x[r * inner + s],
                                 y[s * cols + c], element);
          sum = combine(BinaryKind::Add, sum, term, element);
        }
  }
  finish(product, element);
  auto result = allocate(type);
  if (result->size() > 0)
    copyStrided(packed.sizes, product.data(), getStrides(packed.sizes),
                result->data(),
                packed.getStridesIn(terms.result, getStrides(type.getShape())));
  return result;
}

SmallVector<int64_t> DenseEvaluator::getIntegers(TensorValue x) {
  SmallVector<int64_t> integers;
  for (int64_t i = 0; i < toDense(x).size(); ++i)
    integers.push_back(toDense(x)[i].integer);
  return integers;
}
