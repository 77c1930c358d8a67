// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The ops of the `spmd` dialect, which know that there are several devices.

#include "Machine.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// The axes of an op, checked against the mesh.
static FailureOr<AxisList> getAxes(Operation *op, AxisListAttr axes,
                                   const Mesh &mesh) {
  for (AxisRefAttr axis : axes.getAxes())
    if (!mesh.find(axis.getName()))
      return op->emitError()
             << prefix(ErrorCode::UnknownAxis) << "mesh @" << mesh.name
             << " has no axis \"" << axis.getName().getValue() << '"';
  TensorSharding sharding = TensorSharding::replicate(1);
  sharding.dims[0].axes = resolveAxes(axes.getAxes(), mesh);
  if (std::optional<ShardingError> error = tp::verify(sharding, mesh, 1))
    return op->emitError() << prefix(error->code) << error->message;
  return sharding.dims[0].axes;
}

/// The part of a sharding that the manual axes make.
static TensorSharding restrict(TensorSharding sharding,
                               ArrayRef<AxisRef> manual) {
  auto isFree = [&](const AxisRef &axis) { return !overlap(axis, manual); };
  for (DimSharding &dim : sharding.dims)
    llvm::erase_if(dim.axes, isFree);
  llvm::erase_if(sharding.unreduced, isFree);
  return sharding;
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

  if (world.kind == World::Whole)
    return op->emitError() << prefix(ErrorCode::NotEvaluable) << "'"
                           << op->getName()
                           << "' speaks of one device and stands in a program "
                              "for all: only spmd.manual and functions of "
                              "local types may have it";
  const Mesh &mesh = *world.mesh;
  if (auto index = dyn_cast<AxisIndexOp>(op)) {
    if (index.getMesh() != mesh.name)
      return op->emitError()
             << prefix(ErrorCode::UnknownMesh) << "this runs on mesh @"
             << mesh.name << ", not on @" << index.getMesh();
    FailureOr<AxisList> axes = getAxes(op, index.getAxes(), mesh);
    if (failed(axes))
      return failure();
    return only(distributor.axisIndex(mesh, *axes,
                                      cast<RankedTensorType>(index.getType())));
  }
  if (auto shift = dyn_cast<ShiftOp>(op)) {
    auto name = AxisRefAttr::get(op->getContext(), shift.getAxisAttr(), 1, 0);
    FailureOr<AxisList> axes =
        getAxes(op, AxisListAttr::get(op->getContext(), name), mesh);
    if (failed(axes))
      return failure();
    return only(distributor.shift(operand(), mesh, axes->front(), shift.getBy(),
                                  shift.getMode() == "wrap"));
  }
  if (auto mask = dyn_cast<MaskOp>(op)) {
    auto type = cast<RankedTensorType>(mask.getType());
    std::optional<Element> value =
        evaluator.makeElement(mask.getValue(), type.getElementType());
    if (!value)
      return op->emitError()
             << prefix(ErrorCode::NotEvaluable) << mask.getValue()
             << " is no value of a " << type.getElementType();
    return only(distributor.mask(operand(), getLayout(type, mesh),
                                 mask.getDims(), *value));
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
  DeviceValues &parts = frame.values[op->getOperand(0)];
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  // On whole tensors only the layout changes.
  if (world.kind == World::Whole)
    return SmallVector<DeviceValues>{parts};
  if (!type.getEncoding())
    return runManualCollective(op, frame);

  Layout in = getLayout(cast<RankedTensorType>(op->getOperand(0).getType()),
                        *world.mesh);
  Layout out = getLayout(type, *world.mesh);
  return SmallVector<DeviceValues>{distributor.run(
      getKind(op), getStep(op, *world.mesh).axes, parts, in, out, type)};
}

/// In a manual region, tensors are whole on the other axes, and a collective
/// over those is an identity. Over manual axes, only a sum has the same type
/// before and after.
Machine::Results Machine::runManualCollective(CollectiveOpInterface op,
                                              Frame &frame) {
  const World &world = frame.world;
  DeviceValues &parts = frame.values[op->getOperand(0)];
  AxisList axes = getStep(op, *world.mesh).axes;
  llvm::erase_if(axes, [&](const AxisRef &axis) {
    return !overlap(axis, world.manualAxes);
  });
  if (axes.empty())
    return SmallVector<DeviceValues>{parts};
  if (!isa<AllReduceOp>(op))
    return op->emitError() << prefix(ErrorCode::NotEvaluable)
                           << "over manual axes, tensors need #spmd.local "
                              "types to say what each device holds";
  return SmallVector<DeviceValues>{distributor.allReduce(
      parts, *world.mesh, axes, op.getInSharding().getKind())};
}

//===----------------------------------------------------------------------===//
// Manual regions
//===----------------------------------------------------------------------===//

Machine::Results Machine::runManual(ManualOp op, Frame &frame) {
  if (frame.world.kind != World::Whole)
    return op.emitError() << prefix(ErrorCode::NotEvaluable)
                          << "a manual region inside another, or among local "
                             "values, is not one that runs";
  SmallVector<Attribute> shardings(op.getInShardings().getValue());
  llvm::append_range(shardings, op.getOutShardings());
  // Without operands and results there is nothing to compute.
  if (shardings.empty())
    return SmallVector<DeviceValues>();
  FlatSymbolRefAttr name = cast<ShardingAttr>(shardings[0]).getMesh();
  Mesh mesh = lookupMesh(op, name).toMesh();
  FailureOr<AxisList> manual = getAxes(op, op.getAxes(), mesh);
  if (failed(manual))
    return failure();
  Frame inner(World{&mesh, mesh.getNumDevices(), World::Manual, *manual});
  if (failed(checkDevices(op, inner.world.devices)))
    return failure();
  auto layoutOf = [&](Attribute attribute, Type type) {
    auto tensor = cast<RankedTensorType>(type);
    auto resolved =
        cast<ShardingAttr>(attribute).resolve(mesh, tensor.getRank());
    return Layout{&mesh, restrict(std::get<TensorSharding>(resolved), *manual),
                  SmallVector<int64_t>(tensor.getShape())};
  };
  SmallVector<DeviceValues> arguments;
  for (auto [operand, sharding, argument] : llvm::zip_equal(
           op.getInputs(), op.getInShardings(), op.getBody().getArguments())) {
    if (failed(checkSize(op, argument.getType(), inner.world.devices, options)))
      return failure();
    arguments.push_back(distributor.scatter(
        frame.values[operand].front(), layoutOf(sharding, operand.getType()),
        cast<RankedTensorType>(argument.getType()), Padding::Garbage));
  }
  auto outputs = runBlock(op.getBody().front(), arguments, inner);
  if (failed(outputs))
    return failure();
  SmallVector<DeviceValues> results;
  for (auto [output, sharding, result] :
       llvm::zip_equal(*outputs, op.getOutShardings(), op.getResults())) {
    auto whole = distributor.gather(
        output, layoutOf(sharding, result.getType()),
        cast<RankedTensorType>(result.getType()), options.tolerance);
    if (auto *reason = std::get_if<std::string>(&whole))
      return op.emitError() << prefix(ErrorCode::DevicesDisagree) << "result #"
                            << results.size() << ": " << *reason;
    results.push_back({std::get<TensorValue>(whole)});
  }
  return results;
}
