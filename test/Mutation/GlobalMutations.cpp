// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Damage to what collectives do, and to what shardings claim: the global
// stage.

#include "Mutations.h"

#include "dialects/TP/Interface.h"
#include "dialects/TP/ShardingTable.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

TensorSharding tp::resolve(ShardingAttr attribute, const Mesh &mesh) {
  return std::get<TensorSharding>(
      attribute.resolve(mesh, attribute.getDims().size()));
}

Mesh tp::getMeshOf(Operation *op, ShardingAttr sharding) {
  return lookupMesh(op, sharding.getMesh()).toMesh();
}

/// The collective is gone, and its operand claims to be what it made.
template <typename OpT> static bool dropCollective(Operation *op, Random &) {
  auto collective = dyn_cast<OpT>(op);
  if (!collective || !collective.getInput().getDefiningOp())
    return false;
  Value input = collective.getInput();
  setSharding(input, collective.getOutSharding());
  collective.getResult().replaceAllUsesWith(input);
  op->erase();
  return true;
}

/// All uses of an op's result claim another layout.
static bool claim(Operation *op, const Mesh &mesh,
                  const TensorSharding &sharding) {
  if (verify(sharding, mesh, sharding.getRank()))
    return false;
  setSharding(op->getResult(0),
              ShardingAttr::get(op->getContext(), mesh, sharding));
  return true;
}

static std::optional<std::pair<Mesh, TensorSharding>> getClaim(Operation *op) {
  if (op->getNumResults() != 1 || isa<CollectiveOpInterface>(op))
    return std::nullopt;
  ShardingAttr attribute = getSharding(op->getResult(0));
  if (!attribute)
    return std::nullopt;
  Mesh mesh = getMeshOf(op, attribute);
  return std::pair(mesh, resolve(attribute, mesh));
}

static bool dropPartial(Operation *op, Random &) {
  auto known = getClaim(op);
  if (!known || known->second.unreduced.empty())
    return false;
  known->second.unreduced.clear();
  return claim(op, known->first, known->second);
}

static bool claimPartial(Operation *op, Random &random) {
  auto known = getClaim(op);
  if (!known)
    return false;
  auto &[mesh, sharding] = *known;
  AxisRef axis = AxisRef::full(mesh, random.below(mesh.axes.size()));
  if (axis.size == 1 || sharding.uses(axis))
    return false;
  sharding.unreduced.push_back(axis);
  llvm::sort(sharding.unreduced);
  return claim(op, mesh, sharding);
}

static bool claimMaximum(Operation *op, Random &) {
  auto known = getClaim(op);
  if (!known || known->second.unreduced.empty())
    return false;
  TensorSharding &sharding = known->second;
  sharding.kind =
      sharding.kind == ReduceKind::Sum ? ReduceKind::Max : ReduceKind::Sum;
  return claim(op, known->first, sharding);
}

/// A cut dimension claims to be whole, or another one to be cut.
static bool claimOtherDim(Operation *op, Random &random) {
  auto known = getClaim(op);
  if (!known || known->second.dims.size() < 2)
    return false;
  auto &dims = known->second.dims;
  size_t a = random.below(dims.size()), b = random.below(dims.size());
  if (dims[a].axes == dims[b].axes)
    return false;
  std::swap(dims[a].axes, dims[b].axes);
  return claim(op, known->first, known->second);
}

static bool claimOtherAxis(Operation *op, Random &random) {
  auto known = getClaim(op);
  if (!known)
    return false;
  auto &[mesh, sharding] = *known;
  for (DimSharding &dim : sharding.dims)
    for (AxisRef &axis : dim.axes) {
      AxisRef other = AxisRef::full(mesh, random.below(mesh.axes.size()));
      if (other.size != axis.size || sharding.uses(other))
        continue;
      axis = other;
      return claim(op, mesh, sharding);
    }
  return false;
}

static bool claimOtherOrder(Operation *op, Random &) {
  auto known = getClaim(op);
  if (!known)
    return false;
  for (DimSharding &dim : known->second.dims)
    if (dim.axes.size() > 1) {
      std::swap(dim.axes[0], dim.axes[1]);
      return claim(op, known->first, known->second);
    }
  return false;
}

static bool claimWhole(Operation *op, Random &) {
  auto known = getClaim(op);
  if (!known || known->second.getDimAxes().empty())
    return false;
  for (DimSharding &dim : known->second.dims)
    dim.axes.clear();
  return claim(op, known->first, known->second);
}

/// A state of an optimizer claims to be cut otherwise than its parameter.
static bool claimOtherState(Operation *op, Random &random) {
  auto function = dyn_cast<func::FuncOp>(op->getParentOp());
  if (!function || !op->hasTrait<OpTrait::IsTerminator>() ||
      function.getNumArguments() == 0)
    return false;
  unsigned number = random.below(function.getNumArguments());
  ShardingAttr attribute = getSharding(function.getArgument(number));
  if (getRole(function, number) != Role::OptimizerState || !attribute)
    return false;
  Mesh mesh = getMeshOf(op, attribute);
  TensorSharding sharding = resolve(attribute, mesh);
  if (sharding.getDimAxes().empty())
    return false;
  for (DimSharding &dim : sharding.dims)
    dim.axes.clear();
  setSharding(function.getArgument(number),
              ShardingAttr::get(op->getContext(), mesh, sharding));
  return true;
}

/// Whether `value` is a scalar that nothing but additions and sums over devices
/// lead to a square root: a part of a norm.
static bool isPartOfNorm(Value value) {
  while (cast<RankedTensorType>(value.getType()).getRank() == 0 &&
         value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (isa<SqrtOp>(user))
      return true;
    if (!isa<AddOp, AllReduceOp>(user))
      return false;
    value = user->getResult(0);
  }
  return false;
}

/// Each device clips by the norm of what it holds, of one gradient or all.
static bool leaveNormLocal(Operation *op, Random &random) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()) ||
      !isPartOfNorm(op->getResult(0)))
    return false;
  return isa<AllReduceOp>(op) ? dropCollective<AllReduceOp>(op, random)
                              : dropPartial(op, random);
}

/// A sum and the op behind it change places: f(sum x) becomes sum f(x).
static bool reduceLate(Operation *op, Random &) {
  auto sum = dyn_cast<AllReduceOp>(op);
  if (!sum || !sum.getResult().hasOneUse())
    return false;
  Operation *user = *sum.getResult().user_begin();
  if (user->getNumResults() != 1 || user->getNumRegions() != 0 ||
      isa<CollectiveOpInterface>(user) ||
      user->getResult(0).getType() != sum.getType())
    return false;
  Value made = user->getResult(0);
  ShardingAttr after = getSharding(made);
  if (!after || after != sum.getOutSharding())
    return false;
  user->replaceUsesOfWith(sum.getResult(), sum.getInput());
  setSharding(made, sum.getInSharding());
  op->moveAfter(user);
  made.replaceAllUsesExcept(sum.getResult(), sum);
  sum->setOperand(0, made);
  return true;
}

/// A value that was moved is read as it was before.
static bool readStale(Operation *op, Random &) {
  if (!isa<CollectiveOpInterface>(op) || op->getResult(0).use_empty())
    return false;
  OpOperand &use = *op->getResult(0).use_begin();
  if (isa<CollectiveOpInterface>(use.getOwner()))
    return false;
  use.set(op->getOperand(0));
  return true;
}

ArrayRef<Mutation> tp::getGlobalMutations() {
  static const Mutation mutations[] = {
      {"all_reduce dropped", false, dropCollective<AllReduceOp>},
      {"all_gather dropped", false, dropCollective<AllGatherOp>},
      {"reduce_scatter dropped", false, dropCollective<ReduceScatterOp>},
      {"all_slice dropped", false, dropCollective<AllSliceOp>},
      {"all_to_all dropped", false, dropCollective<AllToAllOp>},
      {"collective_permute dropped", false,
       dropCollective<CollectivePermuteOp>},
      {"partial sum forgotten", false, dropPartial},
      {"partial sum invented", false, claimPartial},
      {"sum taken for a maximum", false, claimMaximum},
      {"other dimension cut", false, claimOtherDim},
      {"other axis", false, claimOtherAxis},
      {"other order of axes", false, claimOtherOrder},
      {"cut value taken for whole", false, claimWhole},
      {"state cut unlike its parameter", false, claimOtherState},
      {"norm left local", false, leaveNormLocal},
      {"op moved before the sum", false, reduceLate},
      {"stale value read", false, readStale},
      {"operands swapped before cutting", false, swapOperands},
  };
  return mutations;
}
