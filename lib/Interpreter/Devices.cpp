// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The ops of the `spmd` dialect, which know that there are several devices.

#include "Machine.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// The part of a sharding that the manual axes make.
static TensorSharding restrict(TensorSharding sharding,
                               ArrayRef<AxisRef> manual) {
  auto isFree = [&](const AxisRef &axis) { return !overlap(axis, manual); };
  for (DimSharding &dim : sharding.dims)
    llvm::erase_if(dim.axes, isFree);
  llvm::erase_if(sharding.unreduced, isFree);
  return sharding;
}

LogicalResult Machine::checkMeeting(Operation *op, ArrayRef<AxisRef> axes,
                                    const World &world) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (world.present.empty() || (collective && isFree(getKind(collective))))
    return success();
  for (ArrayRef<int64_t> group : getGroups(*world.mesh, axes))
    for (int64_t device : group)
      if (world.isHere(device) != world.isHere(group.front()))
        return op->emitError()
               << prefix(ErrorCode::DivergentDevices) << "device "
               << (world.isHere(device) ? device : group.front())
               << " waits for device "
               << (world.isHere(device) ? group.front() : device)
               << ", which has taken another way";
  return success();
}

Machine::Results Machine::runDeviceOp(Operation *op, Frame &frame) {
  const World &world = frame.world;
  auto operand = [&]() -> DeviceValues & {
    return frame.values[op->getOperand(0)];
  };
  auto only = [](DeviceValues value) {
    return SmallVector<DeviceValues>{std::move(value)};
  };
  if (isa<GroupOp>(op))
    return SmallVector<DeviceValues>();
  if (isa<ConstraintOp, BarrierOp>(op))
    return only(operand());
  if (isa<ReshardOp>(op) && world.kind != World::Local)
    return only(operand());
  if (isa<ReshardOp>(op))
    return op->emitError() << prefix(ErrorCode::NotEvaluable)
                           << "a reshard of local values has no meaning yet: "
                              "collectives must take its place";
  if (auto manual = dyn_cast<ManualOp>(op))
    return runManual(manual, frame);
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return runCollective(collective, frame);

  // The rest stands among local values or in manual regions only.
  const Mesh &mesh = *world.mesh;
  if (auto index = dyn_cast<AxisIndexOp>(op)) {
    if (index.getMesh() != mesh.name)
      return op->emitError()
             << prefix(ErrorCode::UnknownMesh) << "this runs on mesh @"
             << mesh.name << ", not on @" << index.getMesh();
    return only(distributor.axisIndex(
        mesh, resolveAxes(index.getAxes().getAxes(), mesh),
        cast<RankedTensorType>(index.getType())));
  }
  if (auto shift = dyn_cast<ShiftOp>(op)) {
    if (shift.getMesh() != mesh.name)
      return op->emitError()
             << prefix(ErrorCode::UnknownMesh) << "this runs on mesh @"
             << mesh.name << ", not on @" << shift.getMesh();
    AxisList axes = resolveAxes(shift.getAxes().getAxes(), mesh);
    if (failed(checkMeeting(op, axes, world)))
      return failure();
    return only(distributor.shift(operand(), mesh, axes, shift.getBy(),
                                  shift.getMode() == "wrap"));
  }
  if (auto mask = dyn_cast<MaskOp>(op)) {
    auto type = cast<RankedTensorType>(mask.getType());
    return only(distributor.mask(
        operand(), getLayout(type, mesh), mask.getDims(),
        evaluator.makeElement(mask.getValue(), type.getElementType())));
  }
  return op->emitError() << prefix(ErrorCode::NotEvaluable) << "'"
                         << op->getName() << "' is not an op that runs";
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Machine::Results Machine::runCollective(CollectiveOpInterface op,
                                        Frame &frame) {
  const World &world = frame.world;
  SmallVector<DeviceValues> results;
  for (auto [part, operand, result] :
       llvm::enumerate(op->getOperands(), op->getResults())) {
    DeviceValues &buffers = frame.values[operand];
    auto type = cast<RankedTensorType>(result.getType());
    // On whole tensors only the layout changes.
    if (world.kind == World::Whole) {
      results.push_back(buffers);
      continue;
    }
    if (!type.getEncoding()) {
      FailureOr<DeviceValues> made = runManualCollective(op, part, frame);
      if (failed(made))
        return failure();
      results.push_back(std::move(*made));
      continue;
    }
    if (failed(checkMeeting(op, getStep(op, part).axes, world)))
      return failure();
    Layout in =
        getLayout(cast<RankedTensorType>(operand.getType()), *world.mesh);
    Layout out = getLayout(type, *world.mesh);
    results.push_back(distributor.run(getKind(op), getStep(op, part).axes,
                                      buffers, in, out, type));
  }
  return results;
}

/// In a manual region, tensors are whole on the other axes, and a collective
/// over those is an identity. On the manual ones, `in` and `out` tell how what
/// a device holds lies among the others' parts; it need be no copy of anything
/// along the axes that neither names.
FailureOr<DeviceValues> Machine::runManualCollective(CollectiveOpInterface op,
                                                     unsigned part,
                                                     Frame &frame) {
  const World &world = frame.world;
  DeviceValues &parts = frame.values[op->getOperand(part)];
  AxisList axes = getStep(op, part).axes;
  llvm::erase_if(axes, [&](const AxisRef &axis) {
    return !overlap(axis, world.manualAxes);
  });
  if (axes.empty())
    return parts;
  if (failed(checkMeeting(op, axes, world)))
    return failure();
  RankedTensorType global = getGlobalType(op, part);
  auto layoutOf = [&](ShardingAttr sharding) {
    auto resolved = sharding.resolve(*world.mesh, global.getRank());
    return Layout{
        world.mesh,
        restrict(std::get<TensorSharding>(resolved), world.manualAxes),
        SmallVector<int64_t>(global.getShape())};
  };
  return distributor.run(getKind(op), axes, parts,
                         layoutOf(op.getPartInSharding(part)),
                         layoutOf(op.getPartOutSharding(part)),
                         cast<RankedTensorType>(op->getResult(part).getType()));
}

//===----------------------------------------------------------------------===//
// Manual regions
//===----------------------------------------------------------------------===//

/// Among local values, what comes in and goes out must lie as the manual axes
/// cut it: then the buffers are those of the region.
static LogicalResult checkManualType(ManualOp op, Type type,
                                     const Layout &layout) {
  auto local = cast<RankedTensorType>(type);
  if (local.getEncoding() &&
      getLayout(local, *layout.mesh).sharding.sameLayout(layout.sharding))
    return success();
  return op.emitError() << prefix(ErrorCode::BadLocalType) << type
                        << " does not lie as the manual axes cut it: "
                        << layout.sharding.str(*layout.mesh);
}

Machine::Results Machine::runManual(ManualOp op, Frame &frame) {
  const World &world = frame.world;
  if (world.kind == World::Manual)
    return op.emitError() << prefix(ErrorCode::NotEvaluable)
                          << "a manual region inside another one";
  SmallVector<Attribute> shardings(op.getInShardings().getValue());
  llvm::append_range(shardings, op.getOutShardings());
  Mesh mesh =
      lookupMesh(op, cast<ShardingAttr>(shardings[0]).getMesh()).toMesh();
  AxisList manual = resolveAxes(op.getAxes().getAxes(), mesh);
  if (failed(checkDevices(op, mesh.getNumDevices())))
    return failure();
  Frame inner(World{&mesh, mesh.getNumDevices(), World::Manual, manual,
                    world.isLocal() ? world.present : std::vector<bool>()});
  inner.observed = frame.observed;

  auto layoutOf = [&](Attribute attribute, Type type) {
    auto sharding = cast<ShardingAttr>(attribute);
    auto resolved = sharding.resolve(mesh, sharding.getDims().size());
    return Layout{&mesh, restrict(std::get<TensorSharding>(resolved), manual),
                  SmallVector<int64_t>(Program::getWholeType(type).getShape())};
  };
  SmallVector<DeviceValues> arguments;
  for (auto [operand, sharding, argument] : llvm::zip_equal(
           op.getInputs(), op.getInShardings(), op.getBody().getArguments())) {
    auto type = cast<RankedTensorType>(argument.getType());
    Layout layout = layoutOf(sharding, operand.getType());
    if (failed(checkSize(op, type, inner.world.devices, options)))
      return failure();
    if (!world.isLocal())
      arguments.push_back(distributor.scatter(frame.values[operand].front(),
                                              layout, type, Padding::Garbage));
    else if (failed(checkManualType(op, operand.getType(), layout)))
      return failure();
    else
      arguments.push_back(frame.values[operand]);
  }
  auto outputs = runBlock(op.getBody().front(), arguments, inner);
  if (failed(outputs))
    return failure();
  SmallVector<DeviceValues> results;
  for (auto [output, sharding, result] :
       llvm::zip_equal(*outputs, op.getOutShardings(), op.getResults())) {
    Layout layout = layoutOf(sharding, result.getType());
    if (world.isLocal()) {
      if (failed(checkManualType(op, result.getType(), layout)))
        return failure();
      results.push_back(output);
      continue;
    }
    auto whole = distributor.gather(output, layout,
                                    cast<RankedTensorType>(result.getType()),
                                    options.tolerance);
    if (auto *reason = std::get_if<std::string>(&whole))
      return op.emitError()
             << prefix(ErrorCode::DevicesDisagree) << "result #"
             << results.size() << ": " << *reason
             << ", by the region's out sharding " << sharding
             << "; cut the result along the axes on which devices differ, or "
                "sum or gather it inside the region";
    results.push_back({std::get<TensorValue>(whole)});
  }
  return results;
}
