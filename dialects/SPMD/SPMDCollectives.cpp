// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The collectives: each is a step of a reshard plan, and is verified as such a
// step.

#include "ShardingResolver.h"

#include "dialects/OpError.h"
#include "dialects/SPMD/Nesting.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

RankedTensorType spmd::getGlobalType(RankedTensorType type) {
  if (!type.getEncoding())
    return type;
  auto local = dyn_cast<LocalAttr>(type.getEncoding());
  return RankedTensorType::get(local ? local.getGlobal() : type.getShape(),
                               type.getElementType());
}

RankedTensorType spmd::getLocalType(RankedTensorType global,
                                    ShardingAttr sharding, const Mesh &mesh) {
  auto resolved = sharding.resolve(mesh, global.getRank());
  TensorSharding layout = std::get<TensorSharding>(resolved).getLayout();
  return RankedTensorType::get(
      getLocalShape(layout, global.getShape()), global.getElementType(),
      LocalAttr::get(sharding.getContext(),
                     ShardingAttr::get(sharding.getContext(), mesh, layout),
                     global.getShape()));
}

/// The manual axes along which the types of `op` are already split. None
/// outside of spmd.manual, and none if the types have encodings: those record
/// the split.
static AxisList getManualAxes(Operation *op) {
  if (cast<RankedTensorType>(op->getOperand(0).getType()).getEncoding())
    return {};
  // The op of an enclosing region is valid here, because it is verified before
  // the ops in its region.
  return getManualAxesAround(op);
}

/// The shape of the tensor that the manual axes of `sharding` split into blocks
/// of shape `part`. A size that overflows becomes the largest int64_t.
static SmallVector<int64_t> joinParts(ArrayRef<int64_t> part,
                                      ShardingAttr sharding, const Mesh &mesh,
                                      ArrayRef<AxisRef> manual) {
  SmallVector<int64_t> shape(part);
  for (auto [size, dim] : llvm::zip(shape, sharding.getDims()))
    for (const AxisRef &axis : resolveAxes(dim.getAxes(), mesh))
      if (overlap(axis, manual) && llvm::MulOverflow(size, axis.size, size))
        size = std::numeric_limits<int64_t>::max();
  return shape;
}

RankedTensorType spmd::getGlobalType(CollectiveOpInterface op, unsigned part) {
  auto type = cast<RankedTensorType>(op->getOperand(part).getType());
  AxisList manual = getManualAxes(op);
  ShardingAttr in = op.getPartInSharding(part);
  MeshOp mesh = lookupMesh(op, in.getMesh());
  if (manual.empty() || !mesh)
    return getGlobalType(type);
  return RankedTensorType::get(
      joinParts(type.getShape(), in, mesh.toMesh(), manual),
      type.getElementType());
}

bool spmd::isAlongManualAxes(CollectiveOpInterface op) {
  auto manual = op->getParentOfType<ManualOp>();
  if (!manual)
    return false;
  Mesh mesh = lookupMesh(manual, getMeshName(manual)).toMesh();
  AxisList free = getFreeAxes(manual, mesh);
  for (unsigned part = 0; part < op->getNumOperands(); ++part)
    for (const AxisRef &axis : getStep(op, part).axes)
      if (!overlap(axis, free))
        return true;
  return false;
}

/// A dimension passes through if it has the same axes in the in-sharding and
/// the out-sharding, or if the op permutes whole buffers. All other dimensions
/// must not be sharded.
static ShardingRule getCollectiveRule(CollectiveOpInterface op) {
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  ShardingAttr in = op.getInSharding(), out = op.getOutSharding();
  bool keepsBuffers = getKind(op) == CollectiveKind::CollectivePermute;
  RuleBuilder rule(/*numOperands=*/1, /*numResults=*/1);
  for (int64_t dim = 0; dim < input.getRank(); ++dim) {
    if (keepsBuffers ||
        in.getDims()[dim].getAxes() == out.getDims()[dim].getAxes()) {
      unsigned factor = rule.addFactor(input.getDimSize(dim));
      rule.addDim(0, factor);
      rule.addDim(1, factor);
      continue;
    }
    rule.addDim(0, rule.addFactor(input.getDimSize(dim), FactorKind::Whole));
    rule.addDim(1, rule.addFactor(result.getDimSize(dim), FactorKind::Whole));
  }
  return rule.build();
}

#define TP_COLLECTIVE_RULE(OP)                                                 \
  ShardingRule OP::getShardingRule() { return getCollectiveRule(*this); }
TP_COLLECTIVE_RULE(AllReduceOp)
TP_COLLECTIVE_RULE(ReduceScatterOp)
TP_COLLECTIVE_RULE(AllGatherOp)
TP_COLLECTIVE_RULE(AllSliceOp)
TP_COLLECTIVE_RULE(AllToAllOp)
TP_COLLECTIVE_RULE(CollectivePermuteOp)
TP_COLLECTIVE_RULE(ToPartialOp)
#undef TP_COLLECTIVE_RULE

/// Checks operand number `part` of a collective, and the result for it. The
/// checks are in the order of the constraints in the op's description. `axes`
/// and `dimAxes` are attributes of the op, named like fields of ReshardStep.
static LogicalResult verifyCollective(CollectiveOpInterface op,
                                      CollectiveKind kind,
                                      std::optional<AxisListAttr> axes,
                                      ArrayAttr dimAxes, unsigned part = 0) {
  auto input = cast<RankedTensorType>(op->getOperand(part).getType());
  auto result = cast<RankedTensorType>(op->getResult(part).getType());
  ShardingAttr in = op.getPartInSharding(part);
  ShardingAttr out = op.getPartOutSharding(part);

  RankedTensorType global = getGlobalType(op, part);
  AxisList manual = getManualAxes(op);
  RankedTensorType made = getGlobalType(result);
  if (MeshOp mesh = lookupMesh(op, out.getMesh()); mesh && !manual.empty())
    made = RankedTensorType::get(
        joinParts(result.getShape(), out, mesh.toMesh(), manual),
        result.getElementType());
  if (made != global || bool(input.getEncoding()) != bool(result.getEncoding()))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects input and result to have the same global type, and both "
              "or neither to have a #spmd.local encoding";
  for (bool isOut : {false, true})
    if (failed(verifySharding(op, isOut ? out : in, global, [&] {
          return op->emitOpError() << (isOut ? "out: " : "in: ");
        })))
      return failure();
  if (in.getMesh() != out.getMesh())
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "expects `in` and `out` to name the same mesh";
  if (!manual.empty() &&
      in.getMesh() != getMeshName(op->getParentOfType<ManualOp>()))
    return tp::emitOpError(op, ErrorCode::BadAttribute)
           << "expects `in` and `out` to name the mesh of the enclosing manual "
              "region";

  MeshOp meshOp = lookupMesh(op, in.getMesh());
  const ShardingResolver &meanings = ShardingResolver::get(op->getContext());
  if (input.getEncoding()) {
    for (auto [type, sharding] : {std::pair(input, in), std::pair(result, out)})
      if (RankedTensorType part =
              meanings.getLocalType(global, sharding, meshOp);
          part != type)
        return tp::emitOpError(op, ErrorCode::TypeMismatch)
               << "expects local type " << part << " for global type " << global
               << " in sharding " << sharding << ", got " << type;
  }
  const Mesh &mesh = meanings.getMesh(meshOp);
  auto mismatch = [&](const Twine &why) {
    return tp::emitOpError(op, ErrorCode::CollectiveMismatch) << why;
  };
  const ShardingResolver::Step &found =
      meanings.getStep(kind, in, out, global, meshOp);
  if (const auto *why = std::get_if<std::string>(&found))
    return mismatch(*why);
  const auto &step = std::get<ReshardStep>(found);
  auto same = [](AxisList a, AxisList b) {
    llvm::sort(a);
    llvm::sort(b);
    AxisList mergedA, mergedB;
    for (const AxisRef &axis : a)
      appendMerged(mergedA, axis);
    for (const AxisRef &axis : b)
      appendMerged(mergedB, axis);
    return mergedA == mergedB;
  };
  if (axes) {
    for (AxisRefAttr axis : axes->getAxes())
      if (!mesh.find(axis.getName()))
        return mismatch("mesh @" + Twine(mesh.name) + " has no axis \"" +
                        axis.getName().getValue() + "\"");
    if (!same(resolveAxes(axes->getAxes(), mesh), step.axes))
      return mismatch(
          "expects its axes to be those in which `in` and `out` differ");
  }
  if (dimAxes) {
    if (int64_t(dimAxes.size()) != global.getRank())
      return mismatch("expects one list of axes for each dimension");
    for (auto [list, wanted] :
         llvm::zip(dimAxes.getAsRange<AxisListAttr>(), step.dimAxes))
      if (resolveAxes(list.getAxes(), mesh) != wanted)
        return mismatch(
            "expects its axes to be those in which `in` and `out` differ");
  }
  return success();
}

LogicalResult AllReduceOp::verify() {
  return verifyCollective(*this, CollectiveKind::AllReduce, getAxes(), {});
}
LogicalResult ReduceScatterOp::verify() {
  return verifyCollective(*this, CollectiveKind::ReduceScatter, std::nullopt,
                          getDimAxes());
}
LogicalResult AllGatherOp::verify() {
  return verifyCollective(*this, CollectiveKind::AllGather, std::nullopt,
                          getDimAxes());
}
LogicalResult AllSliceOp::verify() {
  return verifyCollective(*this, CollectiveKind::AllSlice, std::nullopt,
                          getDimAxes());
}
LogicalResult CollectivePermuteOp::verify() {
  return verifyCollective(*this, CollectiveKind::CollectivePermute,
                          std::nullopt, {});
}
LogicalResult ToPartialOp::verify() {
  return verifyCollective(*this, CollectiveKind::ToPartial, getAxes(), {});
}

ShardingAttr CombinedOp::getInSharding() { return getPartInSharding(0); }
ShardingAttr CombinedOp::getOutSharding() { return getPartOutSharding(0); }
ShardingAttr CombinedOp::getPartInSharding(unsigned part) {
  return cast<ShardingAttr>(getInShardings()[part]);
}
ShardingAttr CombinedOp::getPartOutSharding(unsigned part) {
  return cast<ShardingAttr>(getOutShardings()[part]);
}

/// The collective named by `word`, if it is one that sends data.
static std::optional<CollectiveKind> parseLaunch(StringRef word) {
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
        CollectiveKind::CollectivePermute})
    if (tp::stringify(kind) == word)
      return kind;
  return std::nullopt;
}

CollectiveKind CombinedOp::getPartKind(unsigned part) {
  return *parseLaunch(cast<StringAttr>(getKinds()[part]).getValue());
}

CombinedOp CombinedOp::take(OpBuilder &builder, const llvm::BitVector &parts) {
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  SmallVector<Attribute> kinds, in, out;
  for (unsigned part : parts.set_bits()) {
    inputs.push_back(getInputs()[part]);
    types.push_back(getOutputs()[part].getType());
    kinds.push_back(getKinds()[part]);
    in.push_back(getInShardings()[part]);
    out.push_back(getOutShardings()[part]);
  }
  return create(builder, getLoc(), types, builder.getArrayAttr(kinds), inputs,
                builder.getArrayAttr(in), builder.getArrayAttr(out));
}

LogicalResult CombinedOp::verify() {
  for (auto word : getKinds().getAsValueRange<StringAttr>())
    if (!parseLaunch(word))
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "'" << word
             << "' is not a collective that sends data; write all_reduce, "
                "reduce_scatter, all_gather, all_to_all or collective_permute";
  size_t parts = getInputs().size();
  if (parts == 0 || getKinds().size() != parts ||
      getOutputs().size() != parts || getInShardings().size() != parts ||
      getOutShardings().size() != parts)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects at least one input, and for each input one kind, one "
              "result, one `in` sharding and one `out` sharding";
  for (unsigned part = 0; part < parts; ++part)
    if (failed(
            verifyCollective(*this, getPartKind(part), std::nullopt, {}, part)))
      return failure();

  AxisList axes = getGroupAxes(getStep(*this));
  for (unsigned part = 1; part < parts; ++part) {
    auto differs = [&](StringRef what) {
      return tp::emitOpError(*this, ErrorCode::CollectiveMismatch)
             << "expects all parts of a combined collective to have the same "
             << what << ", but part " << part << " differs from part 0";
    };
    if (getPartInSharding(part).getMesh() != getInSharding().getMesh())
      return differs("mesh");
    if (getGroupAxes(getStep(*this, part)) != axes)
      return differs("axes in the same order");
  }
  return success();
}

CollectiveKind spmd::getKind(CollectiveOpInterface op, unsigned part) {
  return llvm::TypeSwitch<Operation *, CollectiveKind>(op)
      .Case([&](CombinedOp op) { return op.getPartKind(part); })
      .Case([](AllReduceOp) { return CollectiveKind::AllReduce; })
      .Case([](ReduceScatterOp) { return CollectiveKind::ReduceScatter; })
      .Case([](AllGatherOp) { return CollectiveKind::AllGather; })
      .Case([](AllSliceOp) { return CollectiveKind::AllSlice; })
      .Case([](AllToAllOp) { return CollectiveKind::AllToAll; })
      .Case(
          [](CollectivePermuteOp) { return CollectiveKind::CollectivePermute; })
      .Case([](ToPartialOp) { return CollectiveKind::ToPartial; });
}

const ReshardStep &spmd::getStep(CollectiveOpInterface op, unsigned part) {
  ShardingAttr in = op.getPartInSharding(part);
  // The op's verifier has checked that this step exists.
  return std::get<ReshardStep>(
      ShardingResolver::get(op->getContext())
          .getStep(getKind(op, part), in, op.getPartOutSharding(part),
                   getGlobalType(op, part), lookupMesh(op, in.getMesh())));
}

AxisList spmd::getGroupAxes(const ReshardStep &step) {
  AxisList axes;
  switch (step.kind) {
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllSlice:
    for (const AxisList &list : step.dimAxes)
      if (getSize(list) > 1)
        axes.append(list);
    return axes;
  case CollectiveKind::AllToAll:
    for (const AxisMove &move : step.moves)
      axes.push_back(move.axis);
    return axes;
  case CollectiveKind::AllReduce:
  case CollectiveKind::ToPartial:
  case CollectiveKind::CollectivePermute:
    return step.axes;
  }
  llvm_unreachable("covered switch");
}

LogicalResult AllToAllOp::verify() {
  if (getAxes().getAxes().size() != getFromDims().size() ||
      getFromDims().size() != getToDims().size())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects each axis to have one dimension to move from and one to "
              "move to";
  int64_t rank = cast<RankedTensorType>(getType()).getRank();
  for (auto dims : {getFromDims(), getToDims()})
    for (int64_t dim : dims)
      if (dim < 0 || dim >= rank)
        return tp::emitOpError(*this, ErrorCode::BadAttribute)
               << "dim " << dim << " is out of range for a tensor of rank "
               << rank;
  if (failed(verifyCollective(*this, CollectiveKind::AllToAll, getAxes(), {})))
    return failure();

  // The shardings allow an all-to-all over these axes. Check that the op's own
  // moves give the same result.
  Mesh mesh = lookupMesh(*this, getInSharding().getMesh()).toMesh();
  ReshardStep step = getStep(*this);
  step.moves.clear();
  for (auto [axis, from, to] : llvm::zip_equal(
           resolveAxes(getAxes().getAxes(), mesh), getFromDims(), getToDims()))
    step.moves.push_back({axis, unsigned(from), unsigned(to)});
  auto in = std::get<TensorSharding>(getInSharding().resolve(mesh, rank));
  llvm::Expected<TensorSharding> made =
      applyStep(mesh, in, step, getGlobalType(*this).getShape());
  if (!made)
    return tp::emitOpError(*this, ErrorCode::CollectiveMismatch)
           << llvm::toString(made.takeError());
  if (!made->sameLayout(step.result))
    return tp::emitOpError(*this, ErrorCode::CollectiveMismatch)
           << "expects `out` to be the sharding that the moves result in, "
           << made->str(mesh) << ", got " << step.result.str(mesh);
  return success();
}

Value spmd::createCollective(OpBuilder &builder, Location loc, Value input,
                             const Mesh &mesh, const TensorSharding &from,
                             const ReshardStep &step, Type type) {
  MLIRContext *context = builder.getContext();
  ShardingAttr in = ShardingAttr::get(context, mesh, from.getLayout());
  ShardingAttr out = ShardingAttr::get(context, mesh, step.result);
  if (!type)
    type = input.getType();
  SmallVector<Attribute> lists;
  for (const AxisList &axes : step.dimAxes)
    lists.push_back(toAttr(context, mesh, axes));
  ArrayAttr dims = builder.getArrayAttr(lists);
  AxisListAttr axes = toAttr(context, mesh, step.axes);
  switch (step.kind) {
  case CollectiveKind::AllReduce:
    return AllReduceOp::create(builder, loc, type, input, axes, in, out);
  case CollectiveKind::ReduceScatter:
    return ReduceScatterOp::create(builder, loc, type, input, dims, in, out);
  case CollectiveKind::AllGather:
    return AllGatherOp::create(builder, loc, type, input, dims, in, out);
  case CollectiveKind::AllSlice:
    return AllSliceOp::create(builder, loc, type, input, dims, in, out);
  case CollectiveKind::CollectivePermute:
    return CollectivePermuteOp::create(builder, loc, type, input, in, out);
  case CollectiveKind::ToPartial:
    return ToPartialOp::create(builder, loc, type, input, axes, in, out);
  case CollectiveKind::AllToAll: {
    AxisList moved;
    SmallVector<int64_t> fromDims, toDims;
    for (const AxisMove &move : step.moves) {
      moved.push_back(move.axis);
      fromDims.push_back(move.from);
      toDims.push_back(move.to);
    }
    return AllToAllOp::create(builder, loc, type, input,
                              toAttr(context, mesh, moved), fromDims, toDims,
                              in, out);
  }
  }
  llvm_unreachable("covered switch");
}
