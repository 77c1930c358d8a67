// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BroadcastOperand.h"

#include "mlir/IR/OperationSupport.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::raise;

//===----------------------------------------------------------------------===//
// Looking through
//===----------------------------------------------------------------------===//

BroadcastOperand BroadcastOperand::of(Value value) {
  return of(value,
            llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank())));
}

BroadcastOperand BroadcastOperand::of(Value value, ArrayRef<int64_t> dims) {
  BroadcastOperand term(value, SmallVector<int64_t, 4>(dims));
  for (auto [dim, size] : llvm::zip(term.dims, typeOf(value).getShape()))
    if (size == 1)
      dim = kNone;
  term.lookThrough();
  return term;
}

void BroadcastOperand::lookThrough() {
  while (lookThroughMovement() || lookThroughIdentity()) {
  }
}

/// Returns the dims of a reshape's input, if the reshape only adds and drops
/// dims of size 1.
static std::optional<SmallVector<int64_t, 4>>
getReshapedDims(ReshapeOp reshape, ArrayRef<int64_t> dims) {
  ArrayRef<int64_t> from = typeOf(reshape.getInput()).getShape(),
                    to = reshape.getType().getShape();
  SmallVector<int64_t, 4> result(from.size(), BroadcastOperand::kNone);
  size_t next = 0;
  for (auto [dim, size] : llvm::enumerate(to)) {
    if (size == 1)
      continue;
    while (next < from.size() && from[next] == 1)
      ++next;
    if (next == from.size() || from[next] != size)
      return std::nullopt;
    result[next++] = dims[dim];
  }
  for (; next < from.size(); ++next)
    if (from[next] != 1)
      return std::nullopt;
  return result;
}

bool BroadcastOperand::lookThroughMovement() {
  Operation *op = source.getDefiningOp();
  if (!op)
    return false;
  SmallVector<int64_t, 4> inner;
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    for (auto [dim, size] :
         llvm::zip(broadcast.getDims(), typeOf(op->getOperand(0)).getShape()))
      inner.push_back(size == 1 ? kNone : dims[dim]);
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    inner.resize(dims.size());
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
      inner[from] = dims[dim];
  } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    std::optional<SmallVector<int64_t, 4>> result =
        getReshapedDims(reshape, dims);
    if (!result)
      return false;
    inner = std::move(*result);
  } else if (auto slice = dyn_cast<SliceOp>(op);
             slice && slice.getType() == slice.getInput().getType()) {
    inner = dims;
  } else {
    return false;
  }
  source = op->getOperand(0);
  dims = std::move(inner);
  return true;
}

/// Returns the number that all elements of a value equal, if it can be found
/// within a few ops.
static std::optional<double> findNumber(Value value, unsigned depth = 5) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return std::nullopt;
    if (isa<FloatType>(splat.getElementType()))
      return splat.getSplatValue<APFloat>().convertToDouble();
    auto type = cast<IntegerType>(splat.getElementType());
    APInt number = splat.getSplatValue<APInt>();
    return type.isUnsigned() || type.getWidth() == 1
               ? double(number.getZExtValue())
               : double(number.getSExtValue());
  }
  if (isa<BroadcastOp, TransposeOp, ReshapeOp, SliceOp>(op))
    return findNumber(op->getOperand(0), depth);
  // Exporters write scales as sqrt(64) or 1 / 8. In a variance, they write a
  // count as 6 - 0 and compare it with 0.
  if (auto compare = dyn_cast<CompareOp>(op);
      compare && compare.getPredicate() == ComparePredicate::GT) {
    std::optional<double> a = findNumber(compare.getLhs(), depth - 1);
    std::optional<double> b =
        a ? findNumber(compare.getRhs(), depth - 1) : std::nullopt;
    return b ? std::optional<double>(*a > *b) : std::nullopt;
  }
  if (!isa<FloatType>(elementOf(value)))
    return std::nullopt;
  if (isa<SqrtOp, RsqrtOp, NegOp>(op)) {
    std::optional<double> x = findNumber(op->getOperand(0), depth - 1);
    if (!x)
      return std::nullopt;
    return isa<NegOp>(op)    ? -*x
           : isa<SqrtOp>(op) ? std::sqrt(*x)
                             : 1 / std::sqrt(*x);
  }
  if (auto convert = dyn_cast<ConvertOp>(op)) {
    std::optional<double> x = findNumber(convert.getInput(), depth - 1);
    if (!x)
      return std::nullopt;
    APFloat rounded(*x);
    bool losesInfo;
    rounded.convert(cast<FloatType>(elementOf(value)).getFloatSemantics(),
                    APFloat::rmNearestTiesToEven, &losesInfo);
    return rounded.convertToDouble();
  }
  if (isa<MulOp, DivOp, SubOp>(op)) {
    std::optional<double> a = findNumber(op->getOperand(0), depth - 1);
    std::optional<double> b =
        a ? findNumber(op->getOperand(1), depth - 1) : std::nullopt;
    if (!b)
      return std::nullopt;
    return isa<MulOp>(op) ? *a * *b : isa<DivOp>(op) ? *a / *b : *a - *b;
  }
  return std::nullopt;
}

bool BroadcastOperand::lookThroughIdentity() {
  Operation *op = source.getDefiningOp();
  if (auto select = dyn_cast_or_null<SelectOp>(op)) {
    std::optional<double> holds = findNumber(select.getCondition());
    if (holds)
      source = *holds != 0 ? select.getOnTrue() : select.getOnFalse();
    return holds.has_value();
  }
  if (!op || !isa<AddOp, SubOp, MaxOp>(op))
    return false;
  // Flax and jax.numpy write x + 0, x - 0 and max(x, -inf).
  double identity =
      isa<MaxOp>(op) ? -std::numeric_limits<double>::infinity() : 0;
  for (unsigned other : {1, 0}) {
    if (other == 0 && isa<SubOp>(op))
      break;
    if (findNumber(op->getOperand(other)) == identity) {
      source = op->getOperand(1 - other);
      return true;
    }
  }
  return false;
}

BroadcastOperand BroadcastOperand::operand(unsigned index) const {
  return of(source.getDefiningOp()->getOperand(index), dims);
}

BroadcastOperand BroadcastOperand::reduced(int64_t dim) const {
  auto reduce = as<ReduceOp>();
  SmallVector<int64_t, 4> inner(dims);
  inner.insert(inner.begin() + reduce.getDims()[0], dim);
  return of(reduce.getInput(), inner);
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

std::optional<double> BroadcastOperand::getNumber() const {
  return findNumber(source);
}

bool BroadcastOperand::isNumber(double number) const {
  return getNumber() == number;
}

bool BroadcastOperand::isRow(int64_t dim) const {
  return isAlong(dim) &&
         llvm::all_of(dims, [&](int64_t d) { return d == dim || d == kNone; });
}

namespace {

/// Decides whether two values are computed by equal ops. Compares each pair of
/// values only once.
class Likeness {
public:
  explicit Likeness(unsigned budget) : budget(budget) {}

  bool operator()(Value a, Value b) {
    if (a == b || known.contains({a, b}))
      return true;
    Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
    if (!first || !second || budget == 0 || first->getNumRegions() != 0 ||
        first->getName() != second->getName() ||
        cast<OpResult>(a).getResultNumber() !=
            cast<OpResult>(b).getResultNumber())
      return false;
    --budget;
    bool isAlike = OperationEquivalence::isEquivalentTo(
        first, second, [&](Value x, Value y) { return success((*this)(x, y)); },
        /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
    if (isAlike)
      known.insert({a, b});
    return isAlike;
  }

private:
  unsigned budget;
  llvm::DenseSet<std::pair<Value, Value>> known;
};

} // namespace

bool tp::raise::isWrittenAlike(Value a, Value b) { return Likeness(256)(a, b); }

bool BroadcastOperand::operator==(const BroadcastOperand &other) const {
  return dims == other.dims && Likeness(32)(source, other.source);
}

std::optional<int64_t>
tp::raise::getReducedDim(const BroadcastOperand &reduction, ReductionKind kind,
                         const BroadcastOperand &term) {
  auto reduce = reduction.as<ReduceOp>();
  if (!reduce || reduce.getKind() != kind || reduce.getDims().size() != 1)
    return std::nullopt;
  for (int64_t dim : term.getDims())
    if (dim != BroadcastOperand::kNone && !reduction.isAlong(dim) &&
        reduction.reduced(dim) == term)
      return dim;
  return std::nullopt;
}

std::optional<BroadcastOperand>
tp::raise::getMeanOf(const BroadcastOperand &mean, int64_t dim) {
  auto [coefficient, sum] = Scaled::of(mean);
  auto reduce = sum.as<ReduceOp>();
  if (!reduce || reduce.getKind() != ReductionKind::Sum ||
      reduce.getDims().size() != 1 || sum.isAlong(dim))
    return std::nullopt;
  double size = typeOf(reduce.getInput()).getDimSize(reduce.getDims()[0]);
  if (!isRounded(coefficient, 1 / size, elementOf(reduce.getInput())))
    return std::nullopt;
  return sum.reduced(dim);
}

std::optional<BroadcastOperand>
tp::raise::getSquared(const BroadcastOperand &square) {
  if (square.as<MulOp>() && square.operand(0) == square.operand(1))
    return square.operand(0);
  if (square.as<PowOp>() && square.operand(1).isNumber(2))
    return square.operand(0);
  return std::nullopt;
}

Scaled Scaled::of(const BroadcastOperand &term) {
  Scaled scaled{1, term};
  // Only a few numbers are expected: sqrt(d), a half, minus one.
  for (unsigned depth = 0; depth < 4; ++depth) {
    Operation *op = scaled.term.getSource().getDefiningOp();
    if (op && isa<NegOp>(op)) {
      scaled.coefficient = -scaled.coefficient;
      scaled.term = scaled.term.operand(0);
      continue;
    }
    if (!op || !isa<MulOp, DivOp>(op))
      break;
    std::optional<double> number = scaled.term.operand(1).getNumber();
    unsigned other = 0;
    if (!number && isa<MulOp>(op)) {
      number = scaled.term.operand(0).getNumber();
      other = 1;
    }
    if (!number)
      break;
    scaled.coefficient *= isa<DivOp>(op) ? 1 / *number : *number;
    scaled.term = scaled.term.operand(other);
  }
  return scaled;
}

static void takeApart(const BroadcastOperand &term,
                      const BroadcastOperand *whole, bool inverse,
                      unsigned depth, Product &product) {
  if (std::optional<double> number = term.getNumber()) {
    product.coefficient *= inverse ? 1 / *number : *number;
    return;
  }
  Operation *op = term.getSource().getDefiningOp();
  if (!op || depth == 0 || !isa<MulOp, DivOp, NegOp>(op) ||
      (whole && term == *whole)) {
    (inverse ? product.under : product.over).push_back(term);
    return;
  }
  takeApart(term.operand(0), whole, inverse, depth - 1, product);
  if (isa<NegOp>(op))
    product.coefficient = -product.coefficient;
  else
    takeApart(term.operand(1), whole, inverse != isa<DivOp>(op), depth - 1,
              product);
}

Product Product::of(const BroadcastOperand &term,
                    const BroadcastOperand *whole) {
  Product product;
  takeApart(term, whole, /*inverse=*/false, /*depth=*/4, product);
  return product;
}

bool tp::raise::isRounded(double number, double wanted, Type element) {
  // Tolerates the rounding of the constant, and of a few products of constants.
  unsigned precision =
      APFloat::semanticsPrecision(cast<FloatType>(element).getFloatSemantics());
  return std::abs(number - wanted) <=
         std::abs(wanted) * std::ldexp(4.0, -int(precision));
}

//===----------------------------------------------------------------------===//
// Creating values
//===----------------------------------------------------------------------===//

Value BroadcastOperand::materialize(Emitter &emit,
                                    ArrayRef<int64_t> shape) const {
  return arrange(emit, llvm::to_vector(llvm::seq<int64_t>(0, shape.size())),
                 shape);
}

Value BroadcastOperand::arrange(Emitter &emit, ArrayRef<int64_t> order,
                                ArrayRef<int64_t> sizes) const {
  // The dims of the result that the source runs along, and their sizes.
  SmallVector<int64_t> targets, kept;
  SmallVector<std::pair<int64_t, int64_t>> places;
  for (int64_t dim : dims)
    if (dim != kNone) {
      int64_t target = llvm::find(order, dim) - order.begin();
      places.push_back({target, int64_t(places.size())});
      kept.push_back(sizes[target]);
    }
  llvm::sort(places);
  SmallVector<int64_t> permutation;
  for (auto [target, from] : places) {
    targets.push_back(target);
    permutation.push_back(from);
  }
  // If only dims of size 1 are missing, nothing is repeated.
  int64_t missing = 1;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!llvm::is_contained(targets, int64_t(dim)))
      missing *= size;
  bool isSorted = llvm::is_sorted(permutation);
  if (isSorted && missing == 1)
    return emit.reshape(source, sizes);
  Value value = emit.reshape(source, kept);
  if (!isSorted)
    value = emit.transpose(value, permutation);
  return missing == 1 ? emit.reshape(value, sizes)
                      : emit.broadcast(value, sizes, targets);
}
