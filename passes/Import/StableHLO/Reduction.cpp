// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reductions, and regions on scalars.

#include "Conversion.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

//===----------------------------------------------------------------------===//
// Regions on scalars
//===----------------------------------------------------------------------===//

std::optional<Combiner> tp::stablehlo::getCombiner(Region &region) {
  Operation *end = getReturn(region);
  if (!end || end->getNumOperands() != 1 || region.getNumArguments() != 2)
    return std::nullopt;
  Value first = region.getArgument(0), second = region.getArgument(1);
  Value result = end->getOperand(0);
  if (result == second)
    return Combiner::Second;
  Operation *op = result.getDefiningOp();
  if (!op || op->getBlock() != &region.front() || op->getNumOperands() != 2 ||
      !((op->getOperand(0) == first && op->getOperand(1) == second) ||
        (op->getOperand(0) == second && op->getOperand(1) == first)))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<Combiner>>(op)
      .Case<AddOp>([](auto) { return Combiner::Add; })
      .Case<MulOp>([](auto) { return Combiner::Mul; })
      .Case<MaxOp>([](auto) { return Combiner::Max; })
      .Case<MinOp>([](auto) { return Combiner::Min; })
      .Case<AndOp>([](auto) { return Combiner::And; })
      .Case<OrOp>([](auto) { return Combiner::Or; })
      .Default(std::nullopt);
}

Results tp::stablehlo::inlineElementwise(Conversion &c, Region &region,
                                         ValueRange arguments, Sizes shape) {
  Operation *end = getReturn(region);
  if (!end || region.getNumArguments() != arguments.size())
    return c.invalid() << " expects a region of one block that has an argument "
                          "for each operand and ends in stablehlo.return";
  IRMapping mapping;
  for (auto [inside, outside] :
       llvm::zip_equal(region.getArguments(), arguments)) {
    auto scalar = dyn_cast<RankedTensorType>(inside.getType());
    if (!scalar || scalar.getRank() != 0 ||
        scalar.getElementType() != typeOf(outside).getElementType())
      return c.invalid() << " expects a region with scalar arguments of its "
                            "operands' element types";
    mapping.map(inside, outside);
  }
  // A scalar that comes from outside, or is computed from constants alone, is
  // the same for all elements.
  auto get = [&](Value value) -> Value {
    if (Value mapped = mapping.lookupOrNull(value))
      return mapped;
    return c.emit.splat(value, shape);
  };
  auto isConstant = [&](Operation &op) {
    return llvm::none_of(op.getOperands(), [&](Value operand) {
      return mapping.contains(operand);
    });
  };
  IRMapping constants;
  for (Operation &op : region.front()) {
    if (&op == end)
      break;
    bool isScalar = llvm::all_of(op.getResultTypes(), [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && tensor.getRank() == 0;
    });
    if (op.getNumRegions() == 0 && isScalar && isConstant(op)) {
      Operation *copy = c.builder.clone(op, constants);
      for (auto [from, to] : llvm::zip(op.getResults(), copy->getResults()))
        mapping.map(from, c.emit.splat(to, shape));
      continue;
    }
    // Reshapes and broadcasts from scalars to scalars change nothing.
    if (isa<ReshapeOp, BroadcastOp>(op) && isScalar) {
      mapping.map(op.getResult(0), get(op.getOperand(0)));
      continue;
    }
    if (!op.hasTrait<tp::Elementwise>() || !isScalar) {
      InFlightDiagnostic diag =
          c.unsupported()
          << " with a region that is not element-wise is not supported";
      diag.attachNote(op.getLoc()) << "this op is not element-wise";
      return diag;
    }
    SmallVector<Value> operands = llvm::map_to_vector(op.getOperands(), get);
    SmallVector<Type> types;
    for (Type type : op.getResultTypes())
      types.push_back(RankedTensorType::get(
          shape, cast<RankedTensorType>(type).getElementType()));
    OperationState state(c.op->getLoc(), op.getName(), operands, types,
                         op.getAttrs());
    Operation *copy = c.builder.create(state);
    copy->copyProperties(op.getPropertiesStorage());
    mapping.map(op.getResults(), copy->getResults());
  }
  return llvm::map_to_vector(end->getOperands(), get);
}

Results tp::stablehlo::combineElementwise(Conversion &c, Region &region,
                                          ValueRange pairs, Sizes shape) {
  Results combined = inlineElementwise(c, region, pairs, shape);
  if (failed(combined))
    return failure();
  if (ValueRange(*combined).getTypes() !=
      pairs.take_front(pairs.size() / 2).getTypes())
    return c.invalid() << " expects a region that returns a scalar of each "
                          "operand's element type";
  return combined;
}

//===----------------------------------------------------------------------===//
// Reductions of one tensor by one operation
//===----------------------------------------------------------------------===//

/// Returns the identity of a combiner; null if there is none.
static TypedAttr getIdentity(Combiner combiner, Type element) {
  auto bits = dyn_cast<IntegerType>(element);
  switch (combiner) {
  case Combiner::Add:
    return getReductionIdentity(ReductionKind::Sum, element);
  case Combiner::Mul:
    return getReductionIdentity(ReductionKind::Prod, element);
  case Combiner::Max:
    return getReductionIdentity(ReductionKind::Max, element);
  case Combiner::Min:
    return getReductionIdentity(ReductionKind::Min, element);
  case Combiner::And:
    return bits ? IntegerAttr::get(bits, APInt::getAllOnes(bits.getWidth()))
                : TypedAttr();
  case Combiner::Or:
    return bits ? IntegerAttr::get(bits, APInt::getZero(bits.getWidth()))
                : TypedAttr();
  case Combiner::Second:
    return nullptr;
  }
  llvm_unreachable("covered switch");
}

Value tp::stablehlo::emitIdentity(Emitter &emit, Combiner combiner,
                                  Value like) {
  TypedAttr number = getIdentity(combiner, typeOf(like).getElementType());
  return number ? emit.constant(number) : Value();
}

bool tp::stablehlo::isIdentity(Combiner combiner, Value init) {
  Attribute value;
  if (!matchPattern(init, m_Constant(&value)))
    return false;
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || !dense.isSplat())
    return false;
  TypedAttr identity = getIdentity(combiner, dense.getElementType());
  if (auto number = dyn_cast_if_present<IntegerAttr>(identity))
    return number.getValue() == dense.getSplatValue<APInt>();
  // Both zeros are identities.
  auto number = dyn_cast_if_present<FloatAttr>(identity);
  return number && number.getValue().compare(dense.getSplatValue<APFloat>()) ==
                       APFloat::cmpEqual;
}

/// Combines one element with another.
static Value combine(Emitter &emit, Combiner combiner, Value a, Value b) {
  switch (combiner) {
  case Combiner::Add:
    return emit.binary<AddOp>(a, b);
  case Combiner::Mul:
    return emit.binary<MulOp>(a, b);
  case Combiner::Max:
    return emit.binary<MaxOp>(a, b);
  case Combiner::Min:
    return emit.binary<MinOp>(a, b);
  case Combiner::And:
    return emit.binary<AndOp>(a, b);
  case Combiner::Or:
    return emit.binary<OrOp>(a, b);
  case Combiner::Second:
    return b;
  }
  llvm_unreachable("covered switch");
}

/// Creates the reduction without its initial value; null if no kind of
/// reduction matches the combiner.
static Value emitReduce(Emitter &emit, Combiner combiner, Value x, Sizes dims) {
  Type element = typeOf(x).getElementType();
  auto reduce = [&](ReductionKind kind) { return emit.reduce(kind, x, dims); };
  switch (combiner) {
  case Combiner::Add:
    return reduce(ReductionKind::Sum);
  case Combiner::Mul:
    return reduce(ReductionKind::Prod);
  case Combiner::Max:
    return reduce(ReductionKind::Max);
  case Combiner::Min:
    return reduce(ReductionKind::Min);
  case Combiner::And:
  case Combiner::Or: {
    if (!element.isInteger(1))
      return {};
    // Reduces 0 and 1 as numbers: "all" is their minimum, "any" their maximum.
    Value number = emit.convert(x, IntegerType::get(x.getContext(), 8));
    Value reduced = emit.reduce(combiner == Combiner::And ? ReductionKind::Min
                                                          : ReductionKind::Max,
                                number, dims);
    return emit.convert(reduced, element);
  }
  case Combiner::Second:
    return {};
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// Any reduction
//===----------------------------------------------------------------------===//

/// Reduces the last dimension of `values` by `region`, always combining
/// neighbours, so that the region need only be associative.
static Results emitTree(Conversion &c, Region &region,
                        SmallVector<Value> values) {
  SmallVector<int64_t> shape(typeOf(values[0]).getShape());
  unsigned last = shape.size() - 1;
  while (shape[last] > 1) {
    int64_t half = shape[last] / 2;
    SmallVector<int64_t> begin(shape.size(), 0), steps(shape.size(), 1),
        limits(shape);
    limits[last] = 2 * half;
    steps[last] = 2;
    SmallVector<Value> pairs, rests;
    for (Value value : values)
      pairs.push_back(c.emit.slice(value, begin, limits, steps));
    begin[last] = 1;
    for (Value value : values)
      pairs.push_back(c.emit.slice(value, begin, limits, steps));
    if (shape[last] % 2) {
      begin[last] = 2 * half;
      SmallVector<int64_t> one(shape);
      one[last] = 1;
      for (Value value : values)
        rests.push_back(c.emit.slice(value, begin, one));
    }
    shape[last] = half;
    Results combined = combineElementwise(c, region, pairs, shape);
    if (failed(combined))
      return failure();
    values = *combined;
    for (auto [value, rest] : llvm::zip(values, rests))
      value = c.emit.concat({value, rest}, last);
    shape[last] += rests.empty() ? 0 : 1;
  }
  return values;
}

/// Returns true for the region of an argmax, false for that of an argmin,
/// nullopt for others. Such a region takes one of two pairs (value, index): the
/// one with the greater (argmin: lesser) value, or with a NaN. If the values
/// are equal, it takes the lower index.
static std::optional<bool> isArgMax(Region &region);

static Results convertAnyReduce(Conversion &c, Sizes dims) {
  size_t n = c.op->getNumOperands() / 2;
  Region &region = c.op->getRegion(0);
  SmallVector<int64_t> order, kept;
  for (int64_t i = 0, rank = c.inType().getRank(); i < rank; ++i)
    if (!llvm::is_contained(dims, i)) {
      order.push_back(i);
      kept.push_back(c.inShape()[i]);
    }
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= c.inShape()[dim];
  llvm::append_range(order, dims);
  SmallVector<Value> inits, values;
  for (Value init : c.op->getOperands().drop_front(n))
    inits.push_back(c.emit.splat(init, kept));
  if (count == 0)
    return inits;
  SmallVector<int64_t> shape(kept);
  shape.push_back(count);
  for (Value value : c.op->getOperands().take_front(n))
    values.push_back(c.emit.reshape(c.emit.transpose(value, order), shape));
  Results reduced = emitTree(c, region, values);
  if (failed(reduced))
    return failure();
  SmallVector<Value> pairs = inits;
  for (Value value : *reduced)
    pairs.push_back(c.emit.reshape(value, kept));
  return combineElementwise(c, region, pairs, kept);
}

//===----------------------------------------------------------------------===//
// ArgMax
//===----------------------------------------------------------------------===//

namespace {
/// Reads a region as JAX writes it for argmax and argmin:
///
///     better = a > b or a != a
///     first = better or (a == b and i < j)
///     return select(better, a, b), select(first, i, j)
class ArgMaxMatcher {
public:
  explicit ArgMaxMatcher(Region &region) : region(region) {}

  std::optional<bool> match() {
    Operation *end = getReturn(region);
    if (!end || region.getNumArguments() != 4 || end->getNumOperands() != 2)
      return std::nullopt;
    Value a = region.getArgument(0), i = region.getArgument(1),
          b = region.getArgument(2), j = region.getArgument(3);
    auto value = end->getOperand(0).getDefiningOp<SelectOp>();
    auto index = end->getOperand(1).getDefiningOp<SelectOp>();
    if (!value || !index || value.getOnTrue() != a || value.getOnFalse() != b ||
        index.getOnTrue() != i || index.getOnFalse() != j)
      return std::nullopt;
    Value better = value.getCondition();
    auto first = index.getCondition().getDefiningOp<OrOp>();
    auto tie = first ? first.getRhs().getDefiningOp<AndOp>() : AndOp();
    if (!first || !tie || first.getLhs() != better ||
        !isCompare(tie.getLhs(), ComparePredicate::EQ, a, b) ||
        !isCompare(tie.getRhs(), ComparePredicate::LT, i, j))
      return std::nullopt;
    if (isFloatTensor(a.getType())) {
      auto either = better.getDefiningOp<OrOp>();
      if (!either || !isCompare(either.getRhs(), ComparePredicate::NE, a, a))
        return std::nullopt;
      better = either.getLhs();
    }
    if (isCompare(better, ComparePredicate::GT, a, b))
      return true;
    if (isCompare(better, ComparePredicate::LT, a, b))
      return false;
    return std::nullopt;
  }

private:
  static bool isCompare(Value value, ComparePredicate predicate, Value a,
                        Value b) {
    auto compare = value.getDefiningOp<CompareOp>();
    return compare && compare.getPredicate() == predicate &&
           compare.getLhs() == a && compare.getRhs() == b;
  }

  Region &region;
};
} // namespace

static std::optional<bool> isArgMax(Region &region) {
  return ArgMaxMatcher(region).match();
}

/// Computes the greatest value and the least index at which it occurs, by two
/// reductions that devices can compute in parts. Indices must be in order along
/// `dim`.
static Results convertArgMax(Conversion &c, bool isMax, int64_t dim) {
  Value x = c.in(0), indices = c.in(1);
  Value best =
      c.emit.reduce(isMax ? ReductionKind::Max : ReductionKind::Min, x, dim);
  Value repeated = c.emit.repeatAlong(best, x, dim);
  Value hit = c.emit.compare(ComparePredicate::EQ, x, repeated);
  if (isFloatTensor(x.getType()))
    hit = c.emit.binary<OrOp>(hit, c.emit.compare(ComparePredicate::NE, x, x));
  Value none = c.emit.constant(c.inShape()[dim], indices);
  Value index =
      c.emit.reduce(ReductionKind::Min, c.emit.select(hit, indices, none), dim);
  return SmallVector<Value>{best, index};
}

/// Returns true if convertArgMax can compute this argmax: it is over one
/// dimension, the initial pair loses against every other pair, and the index
/// type can hold the dimension's size.
static bool isPlainArgMax(Conversion &c, bool isMax, Sizes dims) {
  auto iota = c.in(1).getDefiningOp<IotaOp>();
  auto element = dyn_cast<IntegerType>(c.inType(1).getElementType());
  if (dims.size() != 1 || !iota || !element ||
      int64_t(iota.getDim()) != dims[0] || element.getWidth() < 32 ||
      c.inShape()[dims[0]] == 0 || c.inShape()[dims[0]] > INT32_MAX)
    return false;
  // Elements may equal the initial value. Then the lower index wins, so the
  // initial index must be 0, the lowest.
  Attribute zero;
  return isIdentity(isMax ? Combiner::Max : Combiner::Min, c.in(2)) &&
         matchPattern(c.in(3), m_Constant(&zero)) &&
         matchPattern(c.in(3), m_Zero());
}

static Results convertReduce(Conversion &c) {
  size_t operands = c.op->getNumOperands(), n = operands / 2;
  if (operands % 2 || n == 0 || c.op->getNumResults() != n)
    return c.invalid()
           << " expects an initial value and a result for each tensor";
  auto dims = c.getDims("dimensions", c.inType().getRank());
  if (failed(dims))
    return failure();
  llvm::sort(*dims);
  for (size_t i = 0; i < n; ++i)
    if (c.inShape(i) != c.inShape() || c.inType(n + i).getRank() != 0 ||
        c.inType(n + i).getElementType() != c.inType(i).getElementType())
      return c.invalid()
             << " expects tensors of the same shape, and scalars of "
                "their element types as initial values";
  Region &region = c.op->getRegion(0);
  std::optional<Combiner> combiner =
      n == 1 ? getCombiner(region) : std::nullopt;
  if (combiner && !isEmpty(c.inType()))
    if (Value reduced = emitReduce(c.emit, *combiner, c.in(), *dims)) {
      if (isIdentity(*combiner, c.in(1)))
        return c.one(reduced);
      Value init = c.emit.splat(c.in(1), typeOf(reduced).getShape());
      return c.one(combine(c.emit, *combiner, init, reduced));
    }
  if (n == 2)
    if (std::optional<bool> isMax = isArgMax(region);
        isMax && isPlainArgMax(c, *isMax, *dims))
      return convertArgMax(c, *isMax, (*dims)[0]);
  return convertAnyReduce(c, *dims);
}

static constexpr Row kReductionRows[] = {
    {"stablehlo.reduce", -1, -1, 1, convertReduce},
};

ArrayRef<Row> tp::stablehlo::getReductionRows() { return kReductionRows; }
