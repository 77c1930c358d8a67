// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The position of the device that a region for one device runs on, and values
// computed from it.

#include "Exchanges.h"
#include "Groups.h"

#include "dialects/SPMD/Nesting.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

/// Returns the device's position along the group's axes, as i32.
static Value emitPlace(Conversion &c, const Group &group) {
  auto type = RankedTensorType::get({}, c.builder.getI32Type());
  if (group.getSize() == 1)
    return c.emit.constant(0, type);
  MLIRContext *context = c.op->getContext();
  spmd::MeshOp mesh = group.mesh;
  return spmd::AxisIndexOp::create(
      c.builder, c.op->getLoc(), type, FlatSymbolRefAttr::get(mesh),
      spmd::toAttr(context, mesh.toMesh(), group.axes));
}

Value tp::stablehlo::emitLookup(Conversion &c, const Group &group,
                                ArrayRef<int32_t> table) {
  bool isPlace = true;
  for (auto [place, number] : llvm::enumerate(table))
    isPlace &= int64_t(place) == number;
  if (isPlace)
    return emitPlace(c, group);
  auto type =
      RankedTensorType::get({int64_t(table.size())}, c.builder.getI32Type());
  Value entries = ConstantOp::create(c.builder, c.op->getLoc(), type,
                                     DenseElementsAttr::get(type, table));
  return c.emit.gather(entries, emitPlace(c, group), 0, 0);
}

std::optional<std::vector<int32_t>>
tp::stablehlo::condense(const Mesh &mesh, ArrayRef<AxisRef> axes,
                        ArrayRef<int32_t> table) {
  std::vector<std::optional<int32_t>> found(tp::getSize(axes));
  for (auto [place, number] : llvm::enumerate(table)) {
    std::optional<int32_t> &entry = found[getPosition(mesh, axes, place)];
    if (entry.value_or(number) != number)
      return std::nullopt;
    entry = number;
  }
  std::vector<int32_t> own;
  for (const std::optional<int32_t> &entry : found)
    own.push_back(*entry); // each is some device's position
  return own;
}

/// Returns map(number), where `number` is the device's number. Looks the result
/// up by the device's position in the mesh.
static Results convertNumber(Conversion &c,
                             function_ref<int64_t(int64_t)> map) {
  FailureOr<spmd::MeshOp> op = getMesh(c);
  if (failed(op))
    return failure();
  Mesh mesh = op->toMesh();
  if (!isManual(c, getEverybody(*op).axes))
    return c.unsupported() << " in a region that is not manual on all axes is "
                              "not supported: make all axes manual";
  SmallVector<int32_t> table(mesh.getNumDevices());
  for (auto [device, place] : llvm::enumerate(getPlaces(mesh)))
    table[place] = map(device);
  return c.one(
      c.emit.convert(emitLookup(c, getEverybody(*op), table), c.outElement()));
}

static Processes getProcesses(Conversion &c) {
  FailureOr<spmd::MeshOp> mesh = getMesh(c);
  Processes written = Processes::read(c.op->getParentOfType<ModuleOp>());
  return succeeded(mesh) ? written.on(mesh->toMesh().getNumDevices()) : written;
}

/// Returns the results of `region` on a device, if the region is scalar
/// arithmetic on integers of at least 32 bits; nullopt otherwise.
static std::optional<SmallVector<int64_t>>
computeNumbers(Region &region, const Processes &processes, int64_t device) {
  llvm::DenseMap<Value, int64_t> numbers;
  auto getConstant = [](Operation *op) -> std::optional<int64_t> {
    auto value =
        op ? op->getAttrOfType<DenseIntElementsAttr>("value") : nullptr;
    if (!value || value.getNumElements() != 1)
      return std::nullopt;
    return getInt64(value.getSplatValue<APInt>());
  };
  for (Operation &op : region.front()) {
    SmallVector<int64_t> in;
    for (Value operand : op.getOperands()) {
      // Values from outside of the region must be constants.
      if (!numbers.count(operand))
        if (auto constant = getConstant(operand.getDefiningOp()))
          numbers[operand] = *constant;
      auto number = numbers.find(operand);
      if (number == numbers.end())
        return std::nullopt;
      in.push_back(number->second);
    }
    StringRef name = op.getName().getStringRef();
    if (name == "sdy.return")
      return in;
    std::optional<int64_t> out;
    if (name == "stablehlo.constant")
      out = getConstant(&op);
    else if (name == "stablehlo.partition_id")
      out = device % processes.partitions;
    else if (name == "stablehlo.replica_id")
      out = device / processes.partitions;
    else if (in.size() == 1 &&
             (name == "stablehlo.convert" || name == "stablehlo.reshape" ||
              name == "sdy.sharding_constraint" ||
              getCallTarget(&op) == "Sharding"))
      out = in[0];
    else if (in.size() == 2 && in[0] >= 0 && in[1] >= 0 && !isLarge(in[0]) &&
             !isLarge(in[1])) {
      if (name == "stablehlo.add")
        out = in[0] + in[1];
      else if (name == "stablehlo.multiply")
        out = in[0] * in[1];
      else if (name == "stablehlo.divide" && in[1] > 0)
        out = in[0] / in[1];
      else if (name == "stablehlo.remainder" && in[1] > 0)
        out = in[0] % in[1];
    }
    if (!out || isLarge(*out) || op.getNumResults() != 1)
      return std::nullopt;
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    auto element =
        type ? dyn_cast<IntegerType>(type.getElementType()) : nullptr;
    if (!element || element.getWidth() < 32)
      return std::nullopt;
    numbers[op.getResult(0)] = *out;
  }
  return std::nullopt;
}

/// Computes the results of the region on every device. Returns a table for each
/// result: entry i is the result on the device at position i in the mesh.
/// Returns nullopt if computeNumbers() fails for a device.
static std::optional<std::vector<std::vector<int32_t>>>
computeTables(Conversion &c, const Mesh &mesh) {
  Processes processes = getProcesses(c);
  std::vector<std::vector<int32_t>> tables(
      c.op->getNumResults(), std::vector<int32_t>(mesh.getNumDevices()));
  for (auto [device, place] : llvm::enumerate(getPlaces(mesh))) {
    auto numbers = computeNumbers(c.op->getRegion(0), processes, device);
    if (!numbers)
      return std::nullopt;
    for (auto [table, number] : llvm::zip_equal(tables, *numbers))
      table[place] = number;
  }
  return tables;
}

std::optional<SmallVector<Value>> tp::stablehlo::convertPlaces(Conversion &c) {
  if (!c.op->getParentOfType<spmd::ManualOp>())
    return std::nullopt;
  FailureOr<spmd::MeshOp> op = getMesh(c);
  if (failed(op))
    return std::nullopt;
  Mesh mesh = op->toMesh();
  auto tables = computeTables(c, mesh);
  if (!tables)
    return std::nullopt;
  // Looks values up along a single axis if they depend on no other axis.
  AxisList around = spmd::getManualAxesAround(c.op);
  SmallVector<AxisList> candidates;
  for (const AxisRef &axis : around)
    candidates.push_back({axis});
  candidates.push_back(around);
  SmallVector<std::pair<AxisList, std::vector<int32_t>>> found;
  for (const std::vector<int32_t> &table : *tables) {
    auto fits = llvm::find_if(candidates, [&](const AxisList &axes) {
      return condense(mesh, axes, table).has_value();
    });
    if (fits == candidates.end()) // also depends on the inner region's axes
      return std::nullopt;
    found.emplace_back(*fits, *condense(mesh, *fits, table));
  }
  SmallVector<Value> results;
  for (auto [entry, type] : llvm::zip_equal(found, c.op->getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    Value place = emitLookup(c, Group{*op, entry.first}, entry.second);
    results.push_back(c.emit.reshape(
        c.emit.convert(place, tensor.getElementType()), tensor.getShape()));
  }
  return results;
}

static Results convertPartitionId(Conversion &c) {
  int64_t partitions = getProcesses(c).partitions;
  return convertNumber(c, [=](int64_t device) { return device % partitions; });
}

static Results convertReplicaId(Conversion &c) {
  int64_t partitions = getProcesses(c).partitions;
  return convertNumber(c, [=](int64_t device) { return device / partitions; });
}

static constexpr Row kPlaceRows[] = {
    {"stablehlo.partition_id", 0, 1, 0, convertPartitionId},
    {"stablehlo.replica_id", 0, 1, 0, convertReplicaId},
};

ArrayRef<Row> tp::stablehlo::getPlaceRows() { return kPlaceRows; }
