// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The ops of the `spmd` dialect, which involve several devices.

#include "LockstepMachine.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;
using namespace tp::spmd;

/// Restricts a sharding to the manual axes.
static TensorSharding restrict(TensorSharding sharding,
                               ArrayRef<AxisRef> manual) {
  auto isFree = [&](const AxisRef &axis) { return !overlap(axis, manual); };
  for (DimSharding &dim : sharding.dims)
    llvm::erase_if(dim.axes, isFree);
  llvm::erase_if(sharding.unreduced, isFree);
  return sharding;
}

LogicalResult LockstepMachine::checkMeeting(Operation *op,
                                            ArrayRef<AxisRef> axes,
                                            const World &world) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (world.present.empty() || (collective && isFree(getKind(collective))))
    return success();
  for (ArrayRef<int64_t> group : getGroups(*world.mesh, axes))
    for (int64_t device : group)
      if (world.isHere(device) != world.isHere(group.front()))
        return op->emitError()
               << prefix(ErrorCode::DivergentDevices) << "device "
               << world.mesh->getDevice(world.isHere(device) ? device
                                                             : group.front())
               << " waits forever for device "
               << world.mesh->getDevice(world.isHere(device) ? group.front()
                                                             : device)
               << ", which took a different branch or left the loop";
  return success();
}

LockstepMachine::Results LockstepMachine::runDeviceOp(Operation *op,
                                                      Frame &frame) {
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
    return op->emitError()
           << prefix(ErrorCode::NotEvaluable)
           << "a reshard of local values cannot be interpreted: run "
              "tp-plan-collectives, which replaces it with collectives";
  if (auto manual = dyn_cast<ManualOp>(op))
    return runManual(manual, frame);
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return runCollective(collective, frame);

  // The remaining ops occur only in local programs and manual regions.
  const Mesh &mesh = *world.mesh;
  auto named = op->getAttrOfType<FlatSymbolRefAttr>("mesh");
  if (named && named.getValue() != mesh.name)
    return op->emitError() << prefix(ErrorCode::UnknownMesh)
                           << "the program runs on mesh @" << mesh.name
                           << ", but the op names mesh " << named;
  if (auto index = dyn_cast<AxisIndexOp>(op)) {
    return only(distributor.axisIndex(
        mesh, resolveAxes(index.getAxes().getAxes(), mesh),
        cast<RankedTensorType>(index.getType())));
  }
  if (auto shift = dyn_cast<ShiftOp>(op)) {
    AxisList axes = resolveAxes(shift.getAxes().getAxes(), mesh);
    if (failed(checkMeeting(op, axes, world)))
      return failure();
    return only(distributor.shift(operand(), mesh, axes,
                                  [&](int64_t place, int64_t places) {
                                    return shift.getSender(place, places);
                                  }));
  }
  if (auto block = dyn_cast<BlockOp>(op))
    return only(distributor.block(operand(), mesh,
                                  resolveAxes(block.getAxes().getAxes(), mesh),
                                  block.getDim(), block.getPlus(),
                                  cast<RankedTensorType>(block.getType())));
  if (auto assemble = dyn_cast<AssembleOp>(op)) {
    SmallVector<DeviceValues> blocks;
    for (Value input : assemble.getInputs())
      blocks.push_back(frame.values[input]);
    return only(distributor.assemble(
        blocks, mesh, resolveAxes(assemble.getAxes().getAxes(), mesh),
        assemble.getDim(), cast<RankedTensorType>(assemble.getType())));
  }
  if (auto mask = dyn_cast<MaskOp>(op)) {
    auto type = cast<RankedTensorType>(mask.getType());
    return only(distributor.mask(
        operand(), getLayout(type, mesh), mask.getDims(),
        evaluator.makeElement(mask.getValue(), type.getElementType())));
  }
  return op->emitError() << prefix(ErrorCode::NotEvaluable) << "'"
                         << op->getName()
                         << "' is not supported by the interpreter";
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

LockstepMachine::Results
LockstepMachine::runCollective(CollectiveOpInterface op, Frame &frame) {
  const World &world = frame.world;
  SmallVector<DeviceValues> results;
  for (auto [part, operand, result] :
       llvm::enumerate(op->getOperands(), op->getResults())) {
    DeviceValues &buffers = frame.values[operand];
    auto type = cast<RankedTensorType>(result.getType());
    // A collective on whole tensors changes their sharding, but no data.
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
    results.push_back(distributor.run(getKind(op, part), getStep(op, part).axes,
                                      buffers, in, out, type));
  }
  return results;
}

/// Runs a collective in a manual region. Tensors are not split along axes that
/// are not manual, so along these axes the collective does nothing. Along the
/// manual axes, the op's in and out shardings give the layouts of the devices'
/// buffers. Devices may hold different data along a manual axis that neither
/// sharding uses.
FailureOr<DeviceValues>
LockstepMachine::runManualCollective(CollectiveOpInterface op, unsigned part,
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
  return distributor.run(getKind(op, part), axes, parts,
                         layoutOf(op.getPartInSharding(part)),
                         layoutOf(op.getPartOutSharding(part)),
                         cast<RankedTensorType>(op->getResult(part).getType()));
}

//===----------------------------------------------------------------------===//
// Manual regions
//===----------------------------------------------------------------------===//

/// Checks the type of an operand or result of a manual region in a local
/// program. The type's layout must be the one that the manual axes require, so
/// that the region can use the buffers of the value as they are.
static LogicalResult checkManualType(ManualOp op, Type type,
                                     const Layout &layout) {
  auto local = cast<RankedTensorType>(type);
  if (local.getEncoding() &&
      getLayout(local, *layout.mesh).sharding.sameLayout(layout.sharding))
    return success();
  return op.emitError()
         << prefix(ErrorCode::BadLocalType) << type
         << " does not have the sharding that the manual axes require: "
         << layout.sharding.str(*layout.mesh);
}

/// The devices' parts of an operand inside the region.
DeviceValues LockstepMachine::enterManual(const DeviceValues &operand,
                                          const Layout &layout,
                                          RankedTensorType type,
                                          const World &world) {
  if (world.kind == World::Whole)
    return distributor.scatter(operand.front(), layout, type, Padding::Garbage);
  if (world.isLocal())
    return operand;
  // In a nested region, each device slices its block from its own tensor.
  Layout whole{layout.mesh, TensorSharding::replicate(layout.shape.size()),
               layout.shape};
  return distributor.run(CollectiveKind::AllSlice, /*axes=*/{}, operand, whole,
                         layout, type);
}

/// Converts the tensors that devices hold in a manual region to the value
/// outside of it: one buffer per device, or a tensor gathered from all devices.
FailureOr<DeviceValues> LockstepMachine::leaveManual(ManualOp op,
                                                     unsigned result,
                                                     const DeviceValues &parts,
                                                     const Layout &layout,
                                                     const World &world) {
  if (world.isLocal())
    return parts;
  auto type = cast<RankedTensorType>(op->getResult(result).getType());
  DeviceValues outside(world.devices);
  // In a nested region, each group of devices that differ only along this
  // region's axes has its own tensor.
  SmallVector<SmallVector<int64_t>> groups;
  if (world.kind == World::Manual)
    groups = getGroups(*layout.mesh,
                       resolveAxes(op.getAxes().getAxes(), *layout.mesh));
  else
    groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, parts.size())));
  for (ArrayRef<int64_t> group : groups) {
    // Devices that took a different path need not agree.
    ArrayRef<int64_t> makers =
        world.isHere(group.front()) ? group : group.take_front();
    auto whole =
        distributor.gather(parts, layout, type, options.tolerance, makers);
    if (auto *reason = std::get_if<std::string>(&whole))
      return op.emitError()
             << prefix(ErrorCode::DevicesDisagree) << "result #" << result
             << ": " << *reason << ", because the region's out sharding is "
             << op.getOutShardings()[result]
             << "; cut the result along the axes along which devices differ, "
                "or sum or gather it inside the region";
    if (world.kind == World::Whole)
      return DeviceValues{std::get<TensorValue>(whole)};
    for (int64_t device : group)
      outside[device] = std::get<TensorValue>(whole);
  }
  return outside;
}

LockstepMachine::Results LockstepMachine::runManual(ManualOp op, Frame &frame) {
  const World &world = frame.world;
  SmallVector<Attribute> shardings(op.getInShardings().getValue());
  llvm::append_range(shardings, op.getOutShardings());
  Mesh mesh =
      lookupMesh(op, cast<ShardingAttr>(shardings[0]).getMesh()).toMesh();
  AxisList manual = resolveAxes(op.getAxes().getAxes(), mesh);
  if (failed(checkDevices(op, mesh.getNumDevices())))
    return failure();
  AxisList all = manual;
  llvm::append_range(all, world.manualAxes);
  Frame inner(
      World{&mesh, mesh.getNumDevices(), World::Manual, all,
            world.kind == World::Whole ? std::vector<bool>() : world.present});
  inner.observed = frame.observed;

  auto layoutOf = [&](Attribute attribute, Type type) {
    auto sharding = cast<ShardingAttr>(attribute);
    auto resolved = sharding.resolve(mesh, sharding.getDims().size());
    return Layout{&mesh, restrict(std::get<TensorSharding>(resolved), manual),
                  SmallVector<int64_t>(Program::getWholeType(type).getShape())};
  };
  auto checkLocal = [&](Type type, const Layout &layout) {
    return success(!world.isLocal() ||
                   succeeded(checkManualType(op, type, layout)));
  };
  SmallVector<DeviceValues> arguments;
  for (auto [operand, sharding, argument] : llvm::zip_equal(
           op.getInputs(), op.getInShardings(), op.getBody().getArguments())) {
    auto type = cast<RankedTensorType>(argument.getType());
    Layout layout = layoutOf(sharding, operand.getType());
    if (failed(checkSize(op, type, inner.world.devices, options)) ||
        failed(checkLocal(operand.getType(), layout)))
      return failure();
    arguments.push_back(
        enterManual(frame.values[operand], layout, type, world));
  }
  auto outputs = runBlock(op.getBody().front(), arguments, inner);
  if (failed(outputs))
    return failure();
  SmallVector<DeviceValues> results;
  for (auto [index, output] : llvm::enumerate(*outputs)) {
    Type type = op->getResult(index).getType();
    Layout layout = layoutOf(op.getOutShardings()[index], type);
    if (failed(checkLocal(type, layout)))
      return failure();
    auto left = leaveManual(op, index, output, layout, world);
    if (failed(left))
      return failure();
    results.push_back(std::move(*left));
  }
  return results;
}
