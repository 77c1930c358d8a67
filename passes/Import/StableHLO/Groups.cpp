// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Groups.h"

#include "Conversion.h"
#include "GSPMD.h"

#include "tpopt/Dialect/StableHLO/StableHLO.h"

#include <numeric>

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

using Numbers = SmallVector<int64_t>;

Processes Processes::read(ModuleOp module) {
  auto count = [&](StringRef name) -> int64_t {
    auto number = module->getAttrOfType<IntegerAttr>(name);
    return std::clamp<int64_t>(
        number ? getInt64(number.getValue()).value_or(1) : 1, 1, kMaxDevices);
  };
  return {count("mhlo.num_replicas"), count("mhlo.num_partitions")};
}

Processes Processes::on(int64_t devices) const {
  return devices % replicas ? Processes{1, devices}
                            : Processes{replicas, devices / replicas};
}

bool stablehlo::isExchange(Operation *op) {
  static constexpr StringLiteral names[] = {
      "stablehlo.all_gather",     "stablehlo.all_reduce",
      "stablehlo.all_to_all",     "stablehlo.collective_broadcast",
      "stablehlo.partition_id",   "stablehlo.collective_permute",
      "stablehlo.reduce_scatter", "stablehlo.replica_id"};
  return llvm::is_contained(names, op->getName().getStringRef());
}

static InFlightDiagnostic invalid(Operation *op) {
  return op->emitError() << prefix(ErrorCode::BadStableHLO) << op->getName();
}

static InFlightDiagnostic irregular(Operation *op) {
  return op->emitError() << prefix(ErrorCode::IrregularGroups) << op->getName();
}

//===----------------------------------------------------------------------===//
// The written form
//===----------------------------------------------------------------------===//

namespace {
/// What the numbers in an operation's groups identify.
enum class Numbering { Devices, Replicas, ReplicasWithPartitions, Partitions };
} // namespace

static Numbering getNumbering(Operation *op) {
  Fields fields(op);
  auto channel = dyn_cast_or_null<DictionaryAttr>(fields.get("channel_handle"));
  auto handle = channel ? channel.getAs<IntegerAttr>("handle") : IntegerAttr();
  bool hasChannel = handle && handle.getValue().isStrictlyPositive();
  if (fields.getFlag("use_global_device_ids"))
    return Numbering::Devices;
  if (!hasChannel)
    return Numbering::Replicas;
  StringRef name = op->getName().getStringRef();
  bool ofPartitions = name == "stablehlo.all_to_all" ||
                      name == "stablehlo.collective_permute" ||
                      name == "stablehlo.collective_broadcast";
  return ofPartitions ? Numbering::Partitions
                      : Numbering::ReplicasWithPartitions;
}

/// Reads `{{0,2},{1,3}}`: the numbers, and the size of a group.
static std::optional<DeviceGroups> parseLists(StringRef text) {
  DeviceGroups groups{{}, 0};
  text = text.trim();
  if (!text.consume_front("{") || !text.consume_back("}"))
    return std::nullopt;
  while (!(text = text.ltrim(" ,")).empty()) {
    auto [list, rest] = text.split('}');
    if (!list.consume_front("{"))
      return std::nullopt;
    SmallVector<StringRef> words;
    list.split(words, ',');
    if (!groups.devices.empty() && groups.size != int64_t(words.size()))
      return std::nullopt;
    groups.size = words.size();
    for (StringRef word : words)
      if (word.trim().getAsInteger(10, groups.devices.emplace_back()))
        return std::nullopt;
    text = rest;
  }
  return groups;
}

/// Reads the text that XLA writes: lists, or `[2,4]<=[8]T(..)` as in the tiles
/// of a sharding.
static std::optional<DeviceGroups> parseText(StringRef text) {
  if (auto groups = parseLists(text))
    return groups;
  auto tiles = parseTileShardings(("{devices=" + text + "}").str());
  if (!tiles || tiles->size() != 1 || tiles->front().dims.size() != 2)
    return std::nullopt;
  DeviceGroups groups;
  // Adds up the digits times their strides. The last digit varies fastest.
  groups.devices = {0};
  for (auto [dim, digits] : llvm::enumerate(tiles->front().dims))
    for (const Digit &digit : digits) {
      groups.size *= dim == 1 ? digit.size : 1;
      Numbers all;
      for (int64_t device : groups.devices)
        for (int64_t i = 0; i < digit.size; ++i)
          all.push_back(device + i * digit.stride);
      groups.devices = std::move(all);
    }
  return groups;
}

/// Reads groups along axes of a mesh, which is named or written out.
static std::optional<DeviceGroups> readMeshAxes(Operation *op,
                                                DictionaryAttr fields) {
  Attribute where = fields.get("mesh");
  if (!where)
    where = fields.get("mesh_name");
  Mesh mesh;
  if (auto name = dyn_cast_or_null<FlatSymbolRefAttr>(where)) {
    spmd::MeshOp known = spmd::lookupMesh(op, name);
    if (!known)
      return std::nullopt;
    mesh = known.toMesh();
  } else if (auto written = dyn_cast_or_null<DictionaryAttr>(where)) {
    auto axes = written.getAs<ArrayAttr>("axes");
    if (!axes || written.get("device_ids"))
      return std::nullopt;
    for (Attribute entry : axes) {
      auto axis = dyn_cast<DictionaryAttr>(entry);
      auto name = axis ? axis.getAs<StringAttr>("name") : StringAttr();
      auto size = axis ? axis.getAs<IntegerAttr>("size") : IntegerAttr();
      int64_t number = size ? getInt64(size.getValue()).value_or(0) : 0;
      if (!name || number < 1 || number > kMaxDevices)
        return std::nullopt;
      mesh.axes.push_back({name.str(), number, {}});
    }
  } else {
    return std::nullopt;
  }
  SmallVector<int64_t> sizes;
  for (const Axis &axis : mesh.axes)
    sizes.push_back(axis.size);
  if (!getNumDevices(sizes))
    return std::nullopt;

  auto list = fields.getAs<ArrayAttr>("axes");
  AxisList axes;
  for (Attribute entry : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto ref = dyn_cast<DictionaryAttr>(entry);
    auto name = ref ? ref.getAs<StringAttr>("name") : StringAttr();
    std::optional<unsigned> axis = name ? mesh.find(name.str()) : std::nullopt;
    if (!axis)
      return std::nullopt;
    axes.push_back(AxisRef::full(mesh, *axis));
    auto part = ref.getAs<DenseI64ArrayAttr>("sub_axis_info");
    if (!part)
      continue;
    int64_t whole = axes.back().size;
    if (part.size() != 2 || part[0] < 1 || part[1] < 1 || part[0] > whole ||
        part[1] > whole || whole % (part[0] * part[1]))
      return std::nullopt;
    axes.back() = {*axis, part[0], part[1]};
  }
  for (size_t i = 0; i < axes.size(); ++i)
    if (overlap(axes[i], ArrayRef(axes).drop_front(i + 1)))
      return std::nullopt;
  DeviceGroups groups{{}, getSize(axes)};
  for (ArrayRef<int64_t> group : getGroups(mesh, axes))
    for (int64_t place : group)
      groups.devices.push_back(mesh.getDevice(place));
  return groups;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static LogicalResult refuseDevice(Operation *op, int64_t device) {
  return invalid(op) << " names device " << device
                     << ", which does not exist or is named twice";
}

/// Checks that `numbers`, which identify devices, replicas or partitions, are
/// in 0 .. `devices` - 1.
static LogicalResult checkNumbers(Operation *op, ArrayRef<int64_t> numbers,
                                  int64_t devices) {
  for (int64_t number : numbers)
    if (number < 0 || number >= devices)
      return refuseDevice(op, number);
  return success();
}

/// Turns groups of numbers into groups of devices.
static DeviceGroups toDevices(const DeviceGroups &written, Numbering numbering,
                              const Processes &processes) {
  auto [replicas, partitions] = processes;
  bool areReplicas = llvm::all_of(
      written.devices, [&, most = replicas](int64_t n) { return n < most; });
  // See the table in Groups.h.
  if (numbering == Numbering::Devices ||
      (replicas == 1 && numbering != Numbering::Partitions && !areReplicas))
    return written;
  DeviceGroups groups;
  ArrayRef<int64_t> rest = written.devices;
  for (; !rest.empty(); rest = rest.drop_front(written.size)) {
    ArrayRef<int64_t> group = rest.take_front(written.size);
    if (numbering == Numbering::Partitions)
      for (int64_t replica = 0; replica < replicas; ++replica)
        for (int64_t partition : group)
          groups.devices.push_back(replica * partitions + partition);
    else
      for (int64_t partition = 0; partition < partitions; ++partition)
        for (int64_t replica : group)
          groups.devices.push_back(replica * partitions + partition);
  }
  groups.size = written.size;
  if (numbering == Numbering::ReplicasWithPartitions)
    groups.size *= partitions;
  return groups;
}

FailureOr<DeviceGroups> stablehlo::readGroups(Operation *op, int64_t devices) {
  Fields fields(op);
  Processes processes =
      Processes::read(op->getParentOfType<ModuleOp>()).on(devices);
  Numbering numbering = getNumbering(op);
  Attribute attribute = fields.get("replica_groups");
  std::optional<DeviceGroups> groups;
  if (auto structure = dyn_cast_or_null<DictionaryAttr>(attribute)) {
    groups = readMeshAxes(op, structure);
    numbering = Numbering::Devices;
  } else if (auto text = dyn_cast_or_null<StringAttr>(attribute)) {
    groups = parseText(text);
  } else if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attribute);
             dense && dense.getType().getRank() == 2) {
    auto list = fields.getList("replica_groups");
    if (failed(list))
      return failure();
    groups = DeviceGroups{*list, dense.getType().getDimSize(1)};
  }
  if (!groups)
    return invalid(op) << " has `replica_groups` that cannot be read";
  if (groups->devices.empty()) {
    // An empty list means a single group that contains all numbers.
    groups->size = numbering == Numbering::Devices      ? devices
                   : numbering == Numbering::Partitions ? processes.partitions
                                                        : processes.replicas;
    groups->devices.resize(groups->size);
    std::iota(groups->devices.begin(), groups->devices.end(), 0);
  }
  if (llvm::is_contained(groups->devices, -1))
    return irregular(op)
           << " has groups of different sizes, which is not supported";
  if (failed(checkNumbers(op, groups->devices, devices)))
    return failure();
  *groups = toDevices(*groups, numbering, processes);
  if (int64_t(groups->devices.size()) != devices)
    return invalid(op) << " expects groups that contain all " << devices
                       << " devices, got " << groups->devices.size();
  std::vector<bool> seen(devices);
  for (int64_t device : groups->devices) {
    if (device >= devices || seen[device])
      return refuseDevice(op, device);
    seen[device] = true;
  }
  return *groups;
}

FailureOr<SmallVector<int64_t>> stablehlo::readPairs(Operation *op,
                                                     int64_t devices) {
  auto list = Fields(op).getList("source_target_pairs");
  if (failed(list))
    return failure();
  if (list->size() % 2)
    return invalid(op) << " expects `source_target_pairs` to hold pairs of a "
                          "source and a target";
  if (failed(checkNumbers(op, *list, devices)))
    return failure();
  Processes processes =
      Processes::read(op->getParentOfType<ModuleOp>()).on(devices);
  Numbers pairs = *list;
  if (processes.replicas > 1 && processes.partitions > 1) {
    // A pair of replicas means one pair of devices for each partition, and a
    // pair of partitions means one pair of devices for each replica.
    bool ofPartitions = getNumbering(op) == Numbering::Partitions;
    int64_t others = ofPartitions ? processes.replicas : processes.partitions;
    pairs.clear();
    for (int64_t other = 0; other < others; ++other)
      for (int64_t number : *list)
        pairs.push_back(ofPartitions ? other * processes.partitions + number
                                     : number * processes.partitions + other);
  }
  std::vector<bool> sends(devices), receives(devices);
  for (size_t i = 0; i < pairs.size(); ++i) {
    std::vector<bool> &seen = i % 2 ? receives : sends;
    if (pairs[i] >= devices || seen[pairs[i]])
      return refuseDevice(op, pairs[i]);
    seen[pairs[i]] = true;
  }
  return pairs;
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

SmallVector<int64_t> stablehlo::getPlaces(const Mesh &mesh) {
  Numbers places(mesh.getNumDevices());
  std::iota(places.begin(), places.end(), 0);
  for (auto [place, id] : llvm::enumerate(mesh.deviceIds))
    places[id] = place;
  return places;
}

std::optional<AxisList> stablehlo::toAxes(const Digit &digit,
                                          const Mesh &mesh) {
  AxisList axes;
  int64_t stride = 1, covered = 1;
  for (unsigned i = mesh.axes.size(); i-- > 0;) {
    int64_t size = mesh.axes[i].size;
    int64_t low = std::max(stride, digit.stride);
    int64_t high = std::min(stride * size, digit.stride * digit.size);
    if (low < high) {
      if (low % stride || high % low || (stride * size) % high)
        return std::nullopt;
      covered *= high / low;
      axes.insert(axes.begin(), AxisRef{i, stride * size / high, high / low});
    }
    stride *= size;
  }
  if (covered != digit.size)
    return std::nullopt;
  return axes;
}

std::optional<AxisList> stablehlo::findAxes(DeviceGroups groups,
                                            const Mesh &mesh, bool ordered) {
  Numbers places = getPlaces(mesh);
  for (int64_t &device : groups.devices)
    device = places[device];
  if (!ordered)
    for (auto *it = groups.devices.begin(); it != groups.devices.end();
         it += groups.size)
      std::sort(it, it + groups.size);
  auto digits =
      findDigits(groups.devices,
                 {int64_t(groups.devices.size()) / groups.size, groups.size});
  if (!digits) {
    // Groups may be in any order: sort them by their first member.
    std::vector<Numbers> sorted;
    ArrayRef<int64_t> rest = groups.devices;
    for (; !rest.empty(); rest = rest.drop_front(groups.size))
      sorted.emplace_back(rest.take_front(groups.size));
    llvm::sort(sorted);
    groups.devices.clear();
    for (const Numbers &group : sorted)
      llvm::append_range(groups.devices, group);
    digits = findDigits(groups.devices, {int64_t(sorted.size()), groups.size});
  }
  if (!digits || groups.devices[0] != 0)
    return std::nullopt;
  AxisList axes;
  for (const Digit &digit : (*digits)[1]) {
    std::optional<AxisList> part = toAxes(digit, mesh);
    if (!part)
      return std::nullopt;
    for (const AxisRef &axis : *part)
      appendMerged(axes, axis);
  }
  return axes;
}
