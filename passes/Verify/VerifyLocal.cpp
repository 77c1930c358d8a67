// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-verify-local: the checks that need only the local program.

#include "Digest.h"
#include "PerDeviceValues.h"
#include "RuleCheck.h"
#include "ShrunkModule.h"
#include "Stopwatch.h"

#include "dialects/TP/Interface.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Verify/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYLOCALPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::interp;

static LocalAttr getLocal(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? dyn_cast_or_null<LocalAttr>(type.getEncoding()) : LocalAttr();
}

static bool communicates(Operation *op) {
  return isa<CollectiveOpInterface, ShiftOp>(op);
}

/// Axes of a mesh, by number.
using AxisSet = llvm::SmallBitVector;

static AxisSet toSet(ArrayRef<AxisRef> axes, const Mesh &mesh) {
  AxisSet set(mesh.axes.size());
  for (const AxisRef &axis : axes)
    set.set(axis.axis);
  return set;
}

/// The axes along which devices wait for one another in `op`, for each of its
/// parts.
static SmallVector<AxisList> getMeetings(Operation *op, const Mesh &mesh) {
  SmallVector<AxisList> meetings;
  if (auto shift = dyn_cast<ShiftOp>(op))
    meetings.push_back(resolveAxes(shift.getAxes().getAxes(), mesh));
  if (auto collective = dyn_cast<CollectiveOpInterface>(op);
      collective && !isFree(getKind(collective)))
    for (unsigned part = 0; part < op->getNumOperands(); ++part)
      meetings.push_back(getStep(collective, part).axes);
  return meetings;
}

/// All axes along which devices wait for one another in `op`.
static AxisSet getMeetingAxes(Operation *op, const Mesh &mesh) {
  AxisSet set(mesh.axes.size());
  for (const AxisList &axes : getMeetings(op, mesh))
    set |= toSet(axes, mesh);
  return set;
}

namespace {

class LocalVerifier {
public:
  LocalVerifier(func::FuncOp function, const Mesh &mesh)
      : function(function), mesh(mesh), places(function, mesh) {}

  LogicalResult run() {
    findOwnValues();
    auto result = function->walk([&](Operation *op) {
      return failed(verifyRules(op)) || failed(verifyWay(op))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

private:
  void findOwnValues();
  bool addOwn(Value value, const AxisSet &axes);
  AxisSet getOwn(Value value) const;
  AxisSet getOwnOfPlace(Value value) const;
  AxisSet getOwnOfResult(Operation *op, unsigned operand) const;
  LogicalResult verifyRules(Operation *op);
  LogicalResult verifyWay(Operation *op);

  func::FuncOp function;
  const Mesh &mesh;
  const PerDeviceValues places;
  /// Values that differ between devices although they have no local type, with
  /// the axes along which they differ. They are computed from the device's
  /// position, or from the block that the device receives in a manual region.
  llvm::DenseMap<Value, AxisSet> own;
  /// The digests of ops that have been checked, since equal ops are checked
  /// only once. They are shortened, because the set reserves the two greatest
  /// numbers.
  llvm::DenseSet<uint64_t> known;
};

} // namespace

/// Records that `value` differs along `axes`. Returns true if that is new.
bool LocalVerifier::addOwn(Value value, const AxisSet &axes) {
  if (getLocal(value) || axes.none())
    return false;
  AxisSet &known = own[value];
  known.resize(mesh.axes.size());
  bool isNew = axes.test(known);
  known |= axes;
  return isNew;
}

AxisSet LocalVerifier::getOwn(Value value) const {
  auto found = own.find(value);
  return found == own.end() ? AxisSet(mesh.axes.size()) : found->second;
}

/// The axes along which `value`, which depends only on the device's position,
/// differs between devices.
AxisSet LocalVerifier::getOwnOfPlace(Value value) const {
  AxisSet axes(mesh.axes.size());
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis)
    if (!places.isSameAlong(value, AxisRef::full(mesh, axis)))
      axes.set(axis);
  return axes;
}

/// The axes along which the results of `op` differ because of one operand.
AxisSet LocalVerifier::getOwnOfResult(Operation *op, unsigned operand) const {
  AxisSet axes = getOwn(op->getOperand(operand));
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective)
    return axes |= getMeetingAxes(op, mesh);
  const ReshardStep &step = getStep(collective, operand);
  bool isShared = step.kind == CollectiveKind::AllReduce ||
                  step.kind == CollectiveKind::AllGather;
  if (!isShared)
    return axes |= toSet(step.axes, mesh);
  for (const AxisRef &axis : step.axes)
    if (axis.isFull(mesh))
      axes.reset(axis.axis);
  return axes;
}

void LocalVerifier::findOwnValues() {
  bool grew = true;
  auto add = [&](Value value, const AxisSet &axes) {
    grew |= addOwn(value, axes);
  };
  auto addAll = [&](Channel channel, const AxisSet &axes) {
    for (Value target : channel.getTargets())
      add(target, axes);
  };
  auto visit = [&](Operation *op) {
    if (op->getNumResults() != 0 && places.isKnown(op->getResult(0))) {
      for (Value result : op->getResults())
        add(result, getOwnOfPlace(result));
      return;
    }
    if (auto block = dyn_cast<BlockOp>(op))
      add(block, toSet(resolveAxes(block.getAxes().getAxes(), mesh), mesh));
    if (auto assemble = dyn_cast<AssembleOp>(op))
      add(assemble,
          toSet(resolveAxes(assemble.getAxes().getAxes(), mesh), mesh));
    if (auto index = dyn_cast<AxisIndexOp>(op))
      return add(op->getResult(0),
                 toSet(resolveAxes(index.getAxes().getAxes(), mesh), mesh));
    if (auto manual = dyn_cast<ManualOp>(op)) {
      for (auto [sharding, argument] :
           llvm::zip_equal(manual.getInShardings().getAsRange<ShardingAttr>(),
                           manual.getBody().getArguments())) {
        auto resolved = sharding.resolve(mesh, sharding.getDims().size());
        for (const DimSharding &dim : std::get<TensorSharding>(resolved).dims)
          add(argument, toSet(dim.axes, mesh));
      }
      return;
    }
    // If the operand that decides a loop or branch differs along axes, then so
    // do the values that pass through the loop or branch.
    if (auto flow = dyn_cast<RegionFlowOpInterface>(op))
      if (OpOperand *decision = flow.getDecision())
        for (Channel channel : getChannels(flow))
          addAll(channel, getOwn(decision->get()));
    for (unsigned index = 0; index < op->getNumOperands(); ++index) {
      AxisSet axes = getOwnOfResult(op, index);
      if (std::optional<Channel> channel = getChannel(op->getOpOperand(index)))
        addAll(*channel, axes);
      else if (isa<CollectiveOpInterface>(op))
        add(op->getResult(index), axes);
      else
        for (Value result : op->getResults())
          add(result, axes);
    }
  };
  // Loops pass values back, so repeat until nothing is new.
  while (std::exchange(grew, false))
    function->walk([&](Operation *op) {
      if (op != function)
        visit(op);
    });
}

/// Checks that the shardings in the local types of an op's values obey the op's
/// sharding rule. Skips ops with values without a local type: such a value
/// belongs to one device and is no part of a global value.
LogicalResult LocalVerifier::verifyRules(Operation *op) {
  if (!isa<ShardingRuleOpInterface>(op) || communicates(op))
    return success();
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  if (!llvm::all_of(values, getLocal))
    return success();
  uint64_t key = digestOpAlone(op);
  for (Value value : values)
    key = mixDigest(
        key, reinterpret_cast<uintptr_t>(value.getType().getAsOpaquePointer()));
  if (!known.insert(key >> 2).second)
    return success();
  std::vector<TensorSharding> shardings;
  for (Value value : values)
    shardings.push_back(
        getLocalSharding(cast<RankedTensorType>(value.getType()), mesh));
  return verifyRule(op, mesh, shardings, /*isLocal=*/true);
}

/// Devices that take part in a collective must issue the same collectives. If a
/// loop or branch contains any, all these devices must follow the same path
/// through it.
LogicalResult LocalVerifier::verifyWay(Operation *op) {
  auto flow = dyn_cast<RegionFlowOpInterface>(op);
  if (!flow || !flow.getDecision())
    return success();
  Value decision = flow.getDecision()->get();
  AxisSet axes = getOwn(decision);
  LocalAttr local = getLocal(decision);
  bool isPartial = local && !local.getSharding().getUnreduced().empty();
  if (isPartial)
    axes |= toSet(resolveAxes(local.getSharding().getUnreduced(), mesh), mesh);
  if (axes.none())
    return success();
  auto isTorn = [&](const AxisList &meeting) {
    return places.isKnown(decision) ? !places.isSameAlong(decision, meeting)
                                    : toSet(meeting, mesh).anyCommon(axes);
  };
  auto inside = op->walk([&](Operation *inner) {
    return llvm::any_of(getMeetings(inner, mesh), isTorn)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (!inside.wasInterrupted())
    return success();
  return op->emitError() << prefix(ErrorCode::DivergentDevices)
                         << (isPartial
                                 ? "this op branches or loops on a partial "
                                   "value, which differs between devices"
                                 : "this op branches or loops on a value that "
                                   "differs between devices")
                         << ", but the devices exchange data inside and would "
                            "wait for each other forever";
}

namespace {
struct VerifyLocal : tp::impl::VerifyLocalPassBase<VerifyLocal> {
  using VerifyLocalPassBase::VerifyLocalPassBase;

  void runOnOperation() override {
    Stopwatch stopwatch;
    markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // Skip the global function of a certified partition: it is not local.
      if (function.isExternal() || function->hasAttr(kLocalFormAttr))
        continue;
      FailureOr<Program> program = Program::analyze(function);
      if (failed(program) ||
          (program->isLocal() &&
           failed(LocalVerifier(function, *program->getMesh()).run())))
        return signalPassFailure();
    }
    if (report)
      stopwatch.addTo(getOperation());
  }
};
} // namespace
