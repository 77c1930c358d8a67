// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PerDeviceValues.h"

#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::interp;

/// The largest number of devices for which values that differ between devices
/// are computed: such a value is stored once for each device.
static constexpr int64_t kMostDevicesWithPlaces = 4096;
/// Large enough for tables with one entry per device.
static constexpr int64_t kMaxElements = kMostDevicesWithPlaces;

/// Returns true if tensors of this type are worth evaluating.
static bool isSmallInteger(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<IntegerType>(tensor.getElementType()) &&
         tensor.getNumElements() <= kMaxElements;
}

PerDeviceValues::PerDeviceValues(func::FuncOp function, const Mesh &mesh)
    : mesh(mesh) {
  auto hasPlaces =
      function.walk([](AxisIndexOp) { return WalkResult::interrupt(); });
  if (hasPlaces.wasInterrupted() &&
      mesh.getNumDevices() <= kMostDevicesWithPlaces)
    function.walk([&](Operation *op) { visit(op); });
}

void PerDeviceValues::visit(Operation *op) {
  if (auto index = dyn_cast<AxisIndexOp>(op)) {
    known[index] = Distributor(evaluator).axisIndex(
        mesh, resolveAxes(index.getAxes().getAxes(), mesh),
        cast<RankedTensorType>(index.getType()));
    return;
  }
  auto evaluated = dyn_cast<EvaluateOpInterface>(op);
  if (!evaluated || op->getNumRegions() != 0 ||
      !llvm::all_of(op->getResultTypes(), isSmallInteger) ||
      !llvm::all_of(op->getOperands(), [&](Value v) { return isKnown(v); }))
    return;
  size_t count = 1;
  for (Value operand : op->getOperands())
    count = std::max(count, known[operand].size());
  SmallVector<DeviceValues> results(op->getNumResults());
  // Devices with the same operands share the result.
  std::map<SmallVector<const TensorData *>, SmallVector<TensorValue>> computed;
  for (size_t device = 0; device < count; ++device) {
    SmallVector<TensorValue> inputs;
    SmallVector<const TensorData *> key;
    for (Value operand : op->getOperands()) {
      const DeviceValues &values = known[operand];
      inputs.push_back(values.size() == 1 ? values[0] : values[device]);
      key.push_back(inputs.back().get());
    }
    auto [entry, isNew] = computed.try_emplace(key);
    if (isNew) {
      auto outputs = evaluated.evaluate(evaluator, inputs);
      // A constant may be stored outside of the program.
      if (failed(outputs) || llvm::is_contained(*outputs, nullptr))
        return;
      entry->second = std::move(*outputs);
    }
    for (auto [result, output] : llvm::zip_equal(results, entry->second))
      result.push_back(output);
  }
  for (auto [value, result] : llvm::zip_equal(op->getResults(), results))
    known[value] = std::move(result);
}

bool PerDeviceValues::isSameAlong(Value value, ArrayRef<AxisRef> axes) const {
  const DeviceValues &values = known.find(value)->second;
  if (values.size() == 1)
    return true;
  auto isSame = [&](int64_t a, int64_t b) {
    const DenseTensor &x = toDense(values[a]), &y = toDense(values[b]);
    for (int64_t i = 0; &x != &y && i < x.size(); ++i)
      if (x[i].integer != y[i].integer)
        return false;
    return true;
  };
  for (ArrayRef<int64_t> group : getGroups(mesh, axes))
    for (int64_t device : group)
      if (!isSame(group.front(), device))
        return false;
  return true;
}
