// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Damage to what devices compute: the local stage.

#include "Mutations.h"

#include "dialects/TP/Interface.h"
#include "dialects/TP/ShardingTable.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

bool tp::swapOperands(Operation *op, Random &random) {
  if (op->getNumOperands() < 2)
    return false;
  unsigned a = random.below(op->getNumOperands()),
           b = random.below(op->getNumOperands());
  Value x = op->getOperand(a), y = op->getOperand(b);
  if (x == y || x.getType() != y.getType())
    return false;
  op->setOperand(a, y);
  op->setOperand(b, x);
  return true;
}

/// An operand becomes an earlier value of its type.
static bool readOther(Operation *op, Random &random) {
  if (op->getNumOperands() == 0)
    return false;
  unsigned index = random.below(op->getNumOperands());
  Value old = op->getOperand(index);
  SmallVector<Value> others;
  auto offer = [&](Value value) {
    if (value != old && value.getType() == old.getType())
      others.push_back(value);
  };
  for (BlockArgument argument : op->getBlock()->getArguments())
    offer(argument);
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode())
    for (Value result : before->getResults())
      offer(result);
  if (others.empty())
    return false;
  op->setOperand(index, others[random.below(others.size())]);
  return true;
}

/// An op is skipped: its operand of the same type stands for its result.
static bool skipOp(Operation *op, Random &random) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType()) {
      // Whoever numbers ops would still find the number.
      if (Operation *source = operand.getDefiningOp();
          source && random.below(2))
        source->setAttrs(op->getDiscardableAttrDictionary());
      op->getResult(0).replaceAllUsesWith(operand);
      op->erase();
      return true;
    }
  return false;
}

/// An op's result is counted twice, or an activation runs twice.
static bool repeatOp(Operation *op, Random &) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (operand.getType() == op->getResult(0).getType()) {
      OpBuilder builder(op);
      Operation *first = builder.clone(*op);
      first->setDiscardableAttrs(ArrayRef<NamedAttribute>());
      op->setOperand(index, first->getResult(0));
      return true;
    }
  return false;
}

template <typename FromT, typename ToT>
static bool replaceOp(Operation *op, Random &) {
  if (!isa<FromT>(op))
    return false;
  OpBuilder builder(op);
  Operation *other = ToT::create(builder, op->getLoc(), op->getResultTypes(),
                                 op->getOperands());
  other->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(other);
  op->erase();
  return true;
}

/// One letter of an einsum for another.
static bool confuseLetters(Operation *op, Random &random) {
  auto einsum = dyn_cast<EinsumOp>(op);
  if (!einsum)
    return false;
  std::string equation = einsum.getEquation().str();
  size_t end = equation.find("->");
  size_t a = random.below(end), b = random.below(end);
  if (equation[a] == ',' || equation[b] == ',' || equation[a] == equation[b])
    return false;
  std::swap(equation[a], equation[b]);
  einsum.setEquation(equation);
  return true;
}

/// Nudges one number among the attributes that `Fn` picks.
static Attribute nudge(Attribute attribute, Random &random) {
  Builder builder(attribute.getContext());
  int64_t step = random.below(2) ? 1 : -1;
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return IntegerAttr::get(integer.getType(), integer.getValue() + step);
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return FloatAttr::get(number.getType(),
                          number.getValueAsDouble() * 1.5 + step);
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute)) {
    if (list.empty())
      return {};
    SmallVector<int64_t> values(list.asArrayRef());
    values[random.below(values.size())] += step;
    return builder.getDenseI64ArrayAttr(values);
  }
  return {};
}

/// Off by one, in any attribute of any op: starts, strides, dims, trip counts,
/// windows, scales, tables of axes.
static bool nudgeAttribute(Operation *op, Random &random) {
  if (isa<ConstantOp, CollectiveOpInterface>(op) || op->getNumResults() == 0)
    return false;
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute attribute :
       cast<DictionaryAttr>(op->getPropertiesAsAttribute()
                                ? op->getPropertiesAsAttribute()
                                : DictionaryAttr::get(op->getContext())))
    attributes.push_back(attribute);
  if (attributes.empty())
    return false;
  NamedAttribute picked = attributes[random.below(attributes.size())];
  Attribute other = nudge(picked.getValue(), random);
  if (!other)
    return false;
  op->setAttr(picked.getName(), other);
  return true;
}

static bool flipFlag(Operation *op, Random &random) {
  SmallVector<StringAttr> flags;
  if (Attribute properties = op->getPropertiesAsAttribute())
    for (NamedAttribute attribute : cast<DictionaryAttr>(properties))
      if (isa<UnitAttr, BoolAttr>(attribute.getValue()))
        flags.push_back(attribute.getName());
  if (flags.empty() || isa<CollectiveOpInterface>(op))
    return false;
  StringAttr flag = flags[random.below(flags.size())];
  if (auto value = op->getAttrOfType<BoolAttr>(flag))
    op->setAttr(flag, BoolAttr::get(op->getContext(), !value.getValue()));
  else
    op->removeAttr(flag);
  return true;
}

static bool permuteDims(Operation *op, Random &random) {
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose || transpose.getPermutation().size() < 2)
    return false;
  SmallVector<int64_t> dims(transpose.getPermutation());
  size_t at = random.below(dims.size() - 1);
  std::swap(dims[at], dims[at + 1]);
  transpose.setPermutation(dims);
  return true;
}

/// A block begins one row early or late, a mask cuts there, a mean divides by
/// the wrong count.
static bool nudgeConstant(Operation *op, Random &random) {
  auto constant = dyn_cast<ConstantOp>(op);
  auto splat =
      constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr;
  if (!splat)
    return false;
  Attribute other = nudge(splat.getSplatValue<Attribute>(), random);
  if (!other)
    return false;
  constant.setValueAttr(DenseElementsAttr::get(splat.getType(), other));
  return true;
}

static bool countOtherAxis(Operation *op, Random &random) {
  auto index = dyn_cast<AxisIndexOp>(op);
  if (!index)
    return false;
  Mesh mesh = lookupMesh(op, index.getMeshAttr()).toMesh();
  AxisRef axis = AxisRef::full(mesh, random.below(mesh.axes.size()));
  AxisListAttr axes = toAttr(op->getContext(), mesh, axis);
  if (axes == index.getAxes())
    return false;
  index.setAxesAttr(axes);
  return true;
}

/// Where a block begins, through an integer that it may not fit into.
static bool narrowOffset(Operation *op, Random &random) {
  auto begin = dyn_cast<MulOp>(op);
  if (!begin || !begin.getLhs().getDefiningOp<AxisIndexOp>())
    return false;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto type = cast<RankedTensorType>(begin.getType());
  Value narrow = ConvertOp::create(
      builder, op->getLoc(),
      type.clone(builder.getIntegerType(8 << random.below(2))), begin);
  Value back = ConvertOp::create(builder, op->getLoc(), type, narrow);
  begin.getResult().replaceAllUsesExcept(back, narrow.getDefiningOp());
  return true;
}

static bool changeComparison(Operation *op, Random &random) {
  auto compare = dyn_cast<CompareOp>(op);
  if (!compare)
    return false;
  auto other = ComparePredicate(random.below(6));
  if (other == compare.getPredicate())
    return false;
  compare.setPredicate(other);
  return true;
}

/// One reader of a mask has another one: gradients of what was hidden.
static bool useOtherMask(Operation *op, Random &) {
  if (auto attention = dyn_cast<AttentionOpInterface>(op)) {
    if (!op->hasAttr("causal"))
      op->setAttr("causal", UnitAttr::get(op->getContext()));
    else if (!op->hasAttr("window"))
      op->removeAttr("causal");
    else
      return false;
    return true;
  }
  auto select = dyn_cast<SelectOp>(op);
  if (!select)
    return false;
  Value shown = select.getOnTrue();
  op->setOperand(1, select.getOnFalse());
  op->setOperand(2, shown);
  return true;
}

static bool changeReduction(Operation *op, Random &random) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce)
    return false;
  auto other = ReductionKind(random.below(4));
  if (other == reduce.getKind())
    return false;
  reduce.setKind(other);
  return true;
}

static bool skipMask(Operation *op, Random &) {
  if (!isa<MaskOp>(op))
    return false;
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  op->erase();
  return true;
}

static bool maskWithZero(Operation *op, Random &) {
  auto mask = dyn_cast<MaskOp>(op);
  if (!mask)
    return false;
  Builder builder(op->getContext());
  TypedAttr zero = builder.getZeroAttr(mask.getValue().getType());
  if (zero == mask.getValue())
    return false;
  mask.setValueAttr(zero);
  return true;
}

static bool maskOtherwise(Operation *op, Random &) {
  auto mask = dyn_cast<MaskOp>(op);
  if (!mask)
    return false;
  if (auto number = dyn_cast<FloatAttr>(mask.getValue()))
    mask.setValueAttr(FloatAttr::get(number.getType(), 1.0));
  else
    mask.setValueAttr(IntegerAttr::get(mask.getValue().getType(), /*value=*/1));
  return true;
}

/// The buffers of another sharding, by the same collective: axes are exchanged
/// in what it says it makes.
static bool sendElsewhere(Operation *op, Random &random) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective)
    return false;
  ShardingAttr out = collective.getOutSharding();
  Mesh mesh = getMeshOf(op, out);
  TensorSharding sharding = resolve(out, mesh);
  if (sharding.dims.size() < 2)
    return false;
  size_t a = random.below(sharding.dims.size()),
         b = random.below(sharding.dims.size());
  if (sharding.dims[a].axes == sharding.dims[b].axes)
    return false;
  std::swap(sharding.dims[a].axes, sharding.dims[b].axes);
  op->setAttr("out_sharding",
              ShardingAttr::get(op->getContext(), mesh, sharding));
  return true;
}

/// A collective runs over other axes than it should.
static bool sendAlongOther(Operation *op, Random &random) {
  auto sum = dyn_cast<AllReduceOp>(op);
  if (!sum)
    return false;
  Mesh mesh = getMeshOf(op, sum.getInSharding());
  AxisRef axis = AxisRef::full(mesh, random.below(mesh.axes.size()));
  AxisListAttr axes = toAttr(op->getContext(), mesh, axis);
  if (axes == sum.getAxes())
    return false;
  sum.setAxesAttr(axes);
  return true;
}

/// A type claims that a value is whole, or lies otherwise.
static bool claimType(Operation *op, Random &random) {
  if (op->getNumResults() != 1)
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  auto local = type ? dyn_cast_or_null<LocalAttr>(type.getEncoding()) : nullptr;
  if (!local)
    return false;
  Mesh mesh = getMeshOf(op, local.getSharding());
  TensorSharding sharding = resolve(local.getSharding(), mesh);
  if (!sharding.unreduced.empty() && random.below(2)) {
    sharding.unreduced.clear();
  } else {
    AxisRef axis = AxisRef::full(mesh, random.below(mesh.axes.size()));
    if (axis.size == 1 || sharding.uses(axis))
      return false;
    sharding.unreduced.push_back(axis);
    llvm::sort(sharding.unreduced);
  }
  if (verify(sharding, mesh, sharding.getRank()))
    return false;
  op->getResult(0).setType(spmd::getLocalType(
      getGlobalType(type), ShardingAttr::get(op->getContext(), mesh, sharding),
      mesh));
  return true;
}

/// Results leave in another order.
static bool exchangeResults(Operation *op, Random &random) {
  return op->hasTrait<OpTrait::IsTerminator>() && swapOperands(op, random);
}

/// The block of the next place, or its product where that of another belongs.
static bool turnBlocks(Operation *op, Random &) {
  if (auto block = dyn_cast<BlockOp>(op)) {
    auto whole = cast<RankedTensorType>(block.getInput().getType());
    auto part = cast<RankedTensorType>(block.getType());
    int64_t places =
        whole.getDimSize(block.getDim()) / part.getDimSize(block.getDim());
    block.setPlus((block.getPlus() + 1) % places);
    return places > 1;
  }
  auto assemble = dyn_cast<AssembleOp>(op);
  if (!assemble || assemble.getInputs().size() < 2)
    return false;
  SmallVector<Value> inputs(assemble.getInputs());
  std::rotate(inputs.begin(), inputs.begin() + 1, inputs.end());
  assemble.getInputsMutable().assign(inputs);
  return true;
}

ArrayRef<Mutation> tp::getLocalMutations() {
  static const Mutation mutations[] = {
      {"blocks turned", true, turnBlocks},
      {"operands swapped", true, swapOperands},
      {"wrong value read", true, readOther},
      {"op skipped", true, skipOp},
      {"op repeated", true, repeatOp},
      {"add for sub", true, replaceOp<AddOp, SubOp>},
      {"max for add", true, replaceOp<AddOp, MaxOp>},
      {"add for mul", true, replaceOp<MulOp, AddOp>},
      {"tanh for exp", true, replaceOp<ExpOp, TanhOp>},
      {"einsum letters confused", true, confuseLetters},
      {"attribute off by one", true, nudgeAttribute},
      {"flag flipped", true, flipFlag},
      {"dimensions permuted", true, permuteDims},
      {"constant off by one", true, nudgeConstant},
      {"place along another axis", true, countOtherAxis},
      {"comparison changed", true, changeComparison},
      {"reduction changed", true, changeReduction},
      {"offset in a narrow integer", true, narrowOffset},
      {"another mask", true, useOtherMask},
      {"mask missing", true, skipMask},
      {"mask with a wrong value", true, maskOtherwise},
      {"mask with the identity of a sum", true, maskWithZero},
      {"sent elsewhere", true, sendElsewhere},
      {"reduced along another axis", true, sendAlongOther},
      {"type claims otherwise", true, claimType},
      {"results exchanged", true, exchangeResults},
  };
  return mutations;
}
