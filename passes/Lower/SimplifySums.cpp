// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SimplifySums.h"

#include "Products.h"

#include <map>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

static RankedTensorType withElement(Value like, Type element) {
  return RankedTensorType::get(typeOf(like).getShape(), element);
}

static void replace(Operation *op, ValueRange values) {
  op->replaceAllUsesWith(values);
  op->erase();
}

Value tp::simplifyReduce(ReduceOp op) {
  int64_t rank = typeOf(op.getInput()).getRank();
  ArrayRef<int64_t> dims = op.getDims();
  if (dims.size() == 1 && dims[0] == rank - 1)
    return op.getResult();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type element = op.getType().getElementType();
  SmallVector<int64_t> permutation, permuted;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      permutation.push_back(dim);
  permutation.append(dims.begin(), dims.end());
  int64_t merged = 1;
  for (int64_t dim : permutation)
    permuted.push_back(typeOf(op.getInput()).getDimSize(dim));
  for (int64_t dim : dims)
    merged *= typeOf(op.getInput()).getDimSize(dim);
  SmallVector<int64_t> shape(op.getType().getShape());
  shape.push_back(merged);
  Value value = op.getInput();
  if (!llvm::is_sorted(permutation))
    value = TransposeOp::create(builder, loc,
                                RankedTensorType::get(permuted, element), value,
                                permutation);
  if (dims.size() != 1)
    value = ReshapeOp::create(builder, loc,
                              RankedTensorType::get(shape, element), value);
  Value result =
      ReduceOp::create(builder, loc, op.getType(), op.getKind(), value,
                       ArrayRef<int64_t>(int64_t(shape.size()) - 1));
  replace(op, result);
  return result;
}

namespace {
/// Brings a contraction into a form that lowers to a step.
class EinsumSimplifier {
public:
  EinsumSimplifier(EinsumOp op, const Target &target)
      : op(op), target(target), builder(op), loc(op.getLoc()), lhs(op.getLhs()),
        rhs(op.getRhs()) {
    EinsumTerms terms = EinsumTerms::split(op.getEquation());
    left = terms.lhs.str();
    right = terms.rhs.str();
    result = terms.result.str();
  }

  void run() {
    bool changed = sumAlone(lhs, left, right);
    changed |= sumAlone(rhs, right, left);
    changed |= useNarrowOperands() || widenOperands();
    Type factor = typeOf(lhs).getElementType(),
         element = op.getType().getElementType();
    bool isWritten = !isNarrow(element) || target.writes(factor, element);
    if (changed || !isWritten) {
      Type computed =
          factor.isF32() || !isWritten ? builder.getF32Type() : element;
      auto equation = left + "," + right + "->" + result;
      auto changedOp =
          EinsumOp::create(builder, loc, withElement(op.getResult(), computed),
                           equation, lhs, rhs);
      Value value = changedOp.getResult();
      if (computed != element)
        value = ConvertOp::create(builder, loc, op.getType(), value);
      replace(op, value);
      op = changedOp;
      builder.setInsertionPoint(op);
    }
    if (isDepthwise())
      addProducts();
    else if (!isMatmul(op, target))
      multiplyAndSum();
  }

private:
  /// Sums over the letters that only `value` has.
  bool sumAlone(Value &value, std::string &letters, StringRef others) {
    SmallVector<int64_t> dims, shape;
    std::string rest;
    for (auto [dim, letter] : llvm::enumerate(letters)) {
      if (!StringRef(result).contains(letter) && !others.contains(letter)) {
        dims.push_back(dim);
        continue;
      }
      rest += letter;
      shape.push_back(typeOf(value).getDimSize(dim));
    }
    if (dims.empty())
      return false;
    // Sum in f32, so that only the result is rounded.
    if (isNarrow(typeOf(value).getElementType()))
      convertOperands(builder.getF32Type());
    auto type = RankedTensorType::get(shape, typeOf(value).getElementType());
    letters = rest;
    value = simplifyReduce(
        ReduceOp::create(builder, loc, type, ReductionKind::Sum, value, dims));
    return true;
  }

  /// A float of fewer than 32 bits.
  static bool isNarrow(Type element) {
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  }

  /// Returns the type in which the matrix library multiplies the elements of
  /// this contraction. Emits a remark if that type is wider than the elements'
  /// type.
  Type getFactorType(Type element) {
    FactorType factor = target.getFactorType(element, getProductSize(op));
    bool isProduct = sumsProducts(op);
    if (isProduct && !factor.obstacle.empty())
      op.emitRemark()
          << element
          << " is converted to a wider type before it is multiplied: "
          << factor.obstacle;
    return factor.type;
  }

  /// If operands were widened from bf16 or f16, contracts the narrow operands.
  /// Their products are exact in f32, and sums are in f32 either way.
  bool useNarrowOperands() {
    auto a = lhs.getDefiningOp<ConvertOp>(), b = rhs.getDefiningOp<ConvertOp>();
    if (!a || !b || !typeOf(lhs).getElementType().isF32())
      return false;
    Type from = typeOf(a.getInput()).getElementType();
    if (from != typeOf(b.getInput()).getElementType() || !isNarrow(from) ||
        getFactorType(from) != from)
      return false;
    lhs = a.getInput();
    rhs = b.getInput();
    return true;
  }

  /// Converts operands of a type that the matrix library does not support to
  /// one that it does.
  bool widenOperands() {
    Type element = typeOf(lhs).getElementType();
    if (!isNarrow(element))
      return false;
    Type factor = getFactorType(element);
    if (factor == element)
      return false;
    convertOperands(factor);
    return true;
  }

  void convertOperands(Type element) {
    for (Value *value : {&lhs, &rhs})
      *value =
          ConvertOp::create(builder, loc, withElement(*value, element), *value);
  }

  static bool seesWindows(Value value) {
    while (isa_and_nonnull<ReshapeOp, TransposeOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return value.getDefiningOp<WindowOp>() != nullptr;
  }

  /// Returns true if this is a depthwise convolution. The matrix library would
  /// multiply a matrix and a vector for each feature, and the windows would
  /// have to be copied. Long kernels are excluded, since they would make long
  /// programs.
  bool isDepthwise() {
    constexpr int64_t kMostProducts = 64;
    ProductSize size = getProductSize(op);
    return isa<FloatType>(op.getType().getElementType()) &&
           (seesWindows(lhs) || seesWindows(rhs)) && size.k > 1 &&
           size.k <= kMostProducts && (size.m == 1 || size.n == 1);
  }

  /// Makes `value` an operand of a row program. `letters` are the dimensions of
  /// `value`; `all` are those of the row program, with the sizes `shape`.
  /// `value` is transposed into their order and broadcast along the ones that
  /// it lacks.
  Value spread(Value value, StringRef letters, StringRef all,
               ArrayRef<int64_t> shape, Type element) {
    if (typeOf(value).getElementType() != element)
      value =
          ConvertOp::create(builder, loc, withElement(value, element), value);
    // A broadcast keeps the order of dimensions, so transpose them first.
    SmallVector<int64_t> permutation =
        llvm::to_vector(llvm::seq<int64_t>(0, letters.size()));
    llvm::sort(permutation, [&](int64_t a, int64_t b) {
      return all.find(letters[a]) < all.find(letters[b]);
    });
    SmallVector<int64_t> dims, permuted;
    for (int64_t dim : permutation) {
      dims.push_back(all.find(letters[dim]));
      permuted.push_back(typeOf(value).getDimSize(dim));
    }
    value = TransposeOp::create(builder, loc,
                                RankedTensorType::get(permuted, element), value,
                                permutation);
    return BroadcastOp::create(
        builder, loc, RankedTensorType::get(shape, element), value, dims);
  }

  /// The part of `value` at the indices `places` of the summed letters.
  Value takeAt(Value value, StringRef letters,
               const std::map<char, int64_t> &places) {
    SmallVector<int64_t> starts, sizes, kept,
        strides(typeOf(value).getRank(), 1);
    for (auto [letter, size] :
         llvm::zip_equal(letters, typeOf(value).getShape())) {
      auto place = places.find(letter);
      bool isSummed = place != places.end();
      starts.push_back(isSummed ? place->second : 0);
      sizes.push_back(isSummed ? 1 : size);
      if (!isSummed)
        kept.push_back(size);
    }
    Type element = typeOf(value).getElementType();
    value = SliceOp::create(builder, loc, RankedTensorType::get(sizes, element),
                            value, starts, strides);
    return ReshapeOp::create(builder, loc, RankedTensorType::get(kept, element),
                             value);
  }

  /// Emits a row program that adds up a few products and reads windows in
  /// place. Narrow floats are added in f32.
  void addProducts() {
    Type element = op.getType().getElementType();
    Type wide = isNarrow(element) ? builder.getF32Type() : element;
    std::map<char, int64_t> sizes, places;
    // Dimensions with one element need no loop.
    std::string kept;
    SmallVector<int64_t> shape;
    for (auto [letter, size] : llvm::zip_equal(result, op.getType().getShape()))
      if (size != 1) {
        kept += letter;
        shape.push_back(size);
      }
    auto read = [&](StringRef letters, Value value) {
      std::string rest;
      for (auto [letter, size] :
           llvm::zip_equal(letters, typeOf(value).getShape())) {
        if (kept.find(letter) != std::string::npos)
          rest += letter;
        else
          sizes[letter] = size;
      }
      return rest;
    };
    std::string leftRest = read(left, lhs), rightRest = read(right, rhs);
    for (auto [letter, size] : sizes)
      places[letter] = 0;
    auto advance = [&] {
      for (auto it = places.rbegin(); it != places.rend(); ++it) {
        if (++it->second < sizes[it->first])
          return true;
        it->second = 0;
      }
      return false;
    };
    Value sum;
    do {
      Value a = spread(takeAt(lhs, left, places), leftRest, kept, shape, wide);
      Value b =
          spread(takeAt(rhs, right, places), rightRest, kept, shape, wide);
      Value product = MulOp::create(builder, loc, a.getType(), a, b);
      sum = sum ? Value(AddOp::create(builder, loc, a.getType(), sum, product))
                : product;
    } while (advance());
    if (wide != element)
      sum = ConvertOp::create(builder, loc, withElement(sum, element), sum);
    if (sum.getType() != op.getType())
      sum = ReshapeOp::create(builder, loc, op.getType(), sum);
    replace(op, sum);
  }

  /// A sum of products as a row program, for types that the matrix library does
  /// not support, and for contractions that sum over nothing.
  void multiplyAndSum() {
    std::string all = result;
    SmallVector<int64_t> shape(op.getType().getShape());
    for (auto [dim, letter] : llvm::enumerate(left))
      if (!StringRef(result).contains(letter)) {
        all += letter;
        shape.push_back(typeOf(lhs).getDimSize(dim));
      }
    Type element = op.getType().getElementType();
    Value a = spread(lhs, left, all, shape, element),
          b = spread(rhs, right, all, shape, element);
    Value product = MulOp::create(builder, loc, a.getType(), a, b);
    if (all.size() == result.size())
      return replace(op, product);
    SmallVector<int64_t> dims =
        llvm::to_vector(llvm::seq<int64_t>(result.size(), all.size()));
    auto sum = ReduceOp::create(builder, loc, op.getType(), ReductionKind::Sum,
                                product, dims);
    replace(op, sum->getResults());
    simplifyReduce(sum);
  }

  EinsumOp op;
  const Target &target;
  OpBuilder builder;
  Location loc;
  Value lhs, rhs;
  std::string left, right, result;
};
} // namespace

void tp::simplifyEinsum(EinsumOp op, const Target &target) {
  EinsumSimplifier(op, target).run();
}
