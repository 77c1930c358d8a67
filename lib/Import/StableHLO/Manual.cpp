// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Regions written for one device, and what devices exchange there.
//
// In a region, a tensor is what one device holds, and only sums change nothing
// about its type. So that every exchange means what it says whatever the groups
// are, the others are put together of sums: to gather, every device adds its
// part to zeros; to scatter, it takes its part of the sum.

#include "Conversion.h"

#include "tpopt/Dialect/Sdy/Sdy.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

//===----------------------------------------------------------------------===//
// Groups of devices
//===----------------------------------------------------------------------===//

namespace {
/// The axes along which the devices of a group stand, and how many there are.
struct Group {
  spmd::MeshOp mesh;
  SmallVector<spmd::AxisRefAttr> axes;
  int64_t size;
};
} // namespace

/// The mesh of the manual region around `op`, converted or not.
static spmd::MeshOp findMesh(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    auto list = parent->getAttrOfType<ArrayAttr>("out_shardings");
    if (!list || list.empty())
      list = parent->getAttrOfType<ArrayAttr>("in_shardings");
    if (list && !list.empty())
      if (auto sharding = dyn_cast<spmd::ShardingAttr>(list[0]))
        return spmd::lookupMesh(parent, sharding.getMesh());
  }
  return {};
}

/// A digit of devices' numbers as axes or parts of them, major first.
static std::optional<SmallVector<spmd::AxisRefAttr>>
toAxes(const Digit &digit, spmd::MeshAttr mesh) {
  SmallVector<spmd::AxisRefAttr> axes;
  int64_t stride = 1, covered = 1;
  for (size_t i = mesh.getSizes().size(); i-- > 0;) {
    int64_t size = mesh.getSizes()[i];
    int64_t low = std::max(stride, digit.stride);
    int64_t high = std::min(stride * size, digit.stride * digit.size);
    if (low < high) {
      if (low % stride || high % low || (stride * size) % high)
        return std::nullopt;
      covered *= high / low;
      bool isWhole = low == stride && high == stride * size;
      axes.insert(axes.begin(),
                  spmd::AxisRefAttr::get(mesh.getContext(), mesh.getNames()[i],
                                         isWhole ? 1 : stride * size / high,
                                         isWhole ? 0 : high / low));
    }
    stride *= size;
  }
  if (covered != digit.size)
    return std::nullopt;
  return axes;
}

/// Devices by their places in the mesh.
static void toPlaces(MutableArrayRef<int64_t> devices, spmd::MeshAttr mesh) {
  if (mesh.getDeviceIds().empty())
    return;
  SmallVector<int64_t> places(mesh.getDeviceIds().size());
  for (auto [place, id] : llvm::enumerate(mesh.getDeviceIds()))
    places[id] = place;
  for (int64_t &device : devices)
    if (device >= 0 && device < int64_t(places.size()))
      device = places[device];
}

static FailureOr<Group> readGroup(Conversion &c) {
  spmd::MeshOp mesh = findMesh(c.op);
  if (!mesh)
    return c.unsupported() << " outside of a region for one device";
  auto dense = dyn_cast_or_null<DenseIntElementsAttr>(c.get("replica_groups"));
  auto groups = c.getList("replica_groups");
  if (failed(groups))
    return failure();
  int64_t devices = 1;
  for (int64_t size : mesh.getMesh().getSizes())
    devices *= size;
  if (!dense || dense.getType().getRank() != 2 ||
      int64_t(groups->size()) != devices || groups->empty())
    return c.invalid() << " has groups of all " << devices << " devices";
  toPlaces(*groups, mesh.getMesh());
  auto digits = findDigits(*groups, dense.getType().getShape());
  Group group{mesh, {}, dense.getType().getDimSize(1)};
  bool isRegular = digits && (*groups)[0] == 0;
  if (isRegular)
    for (const Digit &digit : (*digits)[1]) {
      auto axes = toAxes(digit, mesh.getMesh());
      isRegular &= bool(axes);
      if (axes)
        llvm::append_range(group.axes, *axes);
    }
  if (!isRegular)
    return c.unsupported() << " in groups that do not follow axes of mesh @"
                           << mesh.getSymName();
  return group;
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

static Value emitAllReduce(Conversion &c, Value x, const Group &group,
                           ReduceKind kind) {
  MLIRContext *context = c.op->getContext();
  SmallVector<spmd::DimShardingAttr> dims(
      Emitter::typeOf(x).getRank(),
      spmd::DimShardingAttr::get(context, {}, /*open=*/false, /*priority=*/-1));
  auto name = FlatSymbolRefAttr::get(group.mesh);
  auto sharding = [&](ArrayRef<spmd::AxisRefAttr> unreduced, ReduceKind how) {
    return spmd::ShardingAttr::get(context, name, dims, {}, unreduced, how);
  };
  if (group.axes.empty())
    return x;
  return spmd::AllReduceOp::create(c.builder, c.op->getLoc(), x.getType(), x,
                                   spmd::AxisListAttr::get(context, group.axes),
                                   sharding(group.axes, kind),
                                   sharding({}, ReduceKind::Sum));
}

/// The device's place in its group, as i32.
static Value emitPlace(Conversion &c, const Group &group) {
  auto type = RankedTensorType::get({}, c.builder.getI32Type());
  if (group.axes.empty())
    return c.emit.constant(0, type);
  return spmd::AxisIndexOp::create(
      c.builder, c.op->getLoc(), type, FlatSymbolRefAttr::get(group.mesh),
      spmd::AxisListAttr::get(c.op->getContext(), group.axes));
}

/// Starts of a part: `place` times `step` along `dim`.
static SmallVector<Value> emitStarts(Conversion &c, Value place, int64_t rank,
                                     int64_t dim, int64_t step) {
  Value zero = c.emit.constant(0, place);
  SmallVector<Value> starts(rank, zero);
  starts[dim] = c.emit.binary<MulOp>(place, c.emit.constant(step, place));
  return starts;
}

/// The parts of all devices of the group, one behind the other along `dim`.
static Value emitGathered(Conversion &c, Value x, const Group &group,
                          int64_t dim) {
  SmallVector<int64_t> shape(Emitter::typeOf(x).getShape());
  int64_t part = shape[dim];
  shape[dim] *= group.size;
  Type element = Emitter::typeOf(x).getElementType();
  bool isBool = element.isInteger(1);
  if (isBool)
    x = c.emit.convert(x, c.builder.getIntegerType(8));
  Value zeros = c.emit.constant(0, Emitter::withShape(x, shape));
  Value spread = DynamicUpdateSliceOp::create(
      c.builder, c.op->getLoc(), zeros.getType(), zeros, x,
      emitStarts(c, emitPlace(c, group), shape.size(), dim, part));
  Value sum = emitAllReduce(c, spread, group, ReduceKind::Sum);
  return isBool ? c.emit.convert(sum, element) : sum;
}

/// The device's part along `dim`.
static Value emitOwnPart(Conversion &c, Value x, const Group &group,
                         int64_t dim) {
  SmallVector<int64_t> shape(Emitter::typeOf(x).getShape());
  shape[dim] /= group.size;
  return DynamicSliceOp::create(
      c.builder, c.op->getLoc(), Emitter::withShape(x, shape), x,
      emitStarts(c, emitPlace(c, group), shape.size(), dim, shape[dim]));
}

/// How the region combines; sums, maxima and minima are what devices can do.
static FailureOr<std::pair<ReduceKind, bool>> readKind(Conversion &c) {
  std::optional<Combiner> combiner = getCombiner(c.op->getRegion(0));
  bool isBool = c.inType().getElementType().isInteger(1);
  if (combiner == Combiner::Add)
    return std::pair(ReduceKind::Sum, false);
  if (combiner == Combiner::Max)
    return std::pair(ReduceKind::Max, false);
  if (combiner == Combiner::Min)
    return std::pair(ReduceKind::Min, false);
  if (isBool && combiner == Combiner::Or)
    return std::pair(ReduceKind::Max, true);
  if (isBool && combiner == Combiner::And)
    return std::pair(ReduceKind::Min, true);
  return c.unsupported()
         << " that neither adds nor takes the greater or lesser";
}

static FailureOr<Value> emitReduced(Conversion &c, Value x,
                                    const Group &group) {
  auto kind = readKind(c);
  if (failed(kind))
    return failure();
  Type element = Emitter::typeOf(x).getElementType();
  if (kind->second)
    x = c.emit.convert(x, c.builder.getIntegerType(8));
  return c.emit.convert(emitAllReduce(c, x, group, kind->first), element);
}

static Results convertAllReduce(Conversion &c) {
  if (c.op->getNumOperands() != c.op->getNumResults() ||
      c.op->getNumOperands() == 0)
    return c.invalid() << " has a result for each operand";
  FailureOr<Group> group = readGroup(c);
  if (failed(group))
    return failure();
  SmallVector<Value> results;
  for (Value operand : c.op->getOperands()) {
    FailureOr<Value> reduced = emitReduced(c, operand, *group);
    if (failed(reduced))
      return failure();
    results.push_back(*reduced);
  }
  return results;
}

/// A dimension that an exchange names.
static FailureOr<int64_t> readDim(Conversion &c, StringRef name,
                                  int64_t divides) {
  FailureOr<int64_t> dim = c.getInteger(name);
  if (failed(dim))
    return failure();
  if (*dim < 0 || *dim >= c.inType().getRank() ||
      c.inShape()[*dim] % std::max<int64_t>(divides, 1))
    return c.invalid() << " names a dimension in `" << name
                       << "` that the operand does not have, or that the group "
                          "does not divide";
  return *dim;
}

static Results convertAllGather(Conversion &c) {
  FailureOr<Group> group = readGroup(c);
  if (failed(group))
    return failure();
  FailureOr<int64_t> dim = readDim(c, "all_gather_dim", 1);
  if (failed(dim))
    return failure();
  return c.one(emitGathered(c, c.in(), *group, *dim));
}

static Results convertReduceScatter(Conversion &c) {
  FailureOr<Group> group = readGroup(c);
  if (failed(group))
    return failure();
  FailureOr<int64_t> dim = readDim(c, "scatter_dimension", group->size);
  if (failed(dim))
    return failure();
  FailureOr<Value> sum = emitReduced(c, c.in(), *group);
  if (failed(sum))
    return failure();
  return c.one(emitOwnPart(c, *sum, *group, *dim));
}

/// Device i of a group gets piece i of every device's operand.
static Results convertAllToAll(Conversion &c) {
  FailureOr<Group> group = readGroup(c);
  if (failed(group))
    return failure();
  FailureOr<int64_t> split = readDim(c, "split_dimension", group->size);
  FailureOr<int64_t> concat = readDim(c, "concat_dimension", 1);
  if (failed(split) || failed(concat))
    return failure();
  // Everybody's operand, of each of which the own piece is taken.
  SmallVector<int64_t> shape(c.inShape());
  shape.insert(shape.begin() + *concat, 1);
  Value all = emitGathered(c, c.emit.reshape(c.in(), shape), *group, *concat);
  Value pieces = emitOwnPart(c, all, *group, *split + (*split >= *concat));
  SmallVector<int64_t> merged(c.inShape());
  merged[*split] /= group->size;
  merged[*concat] *= group->size;
  return c.one(c.emit.reshape(pieces, merged));
}

/// All devices of the mesh, as a group.
static Group getEverybody(spmd::MeshOp mesh) {
  Group group{mesh, {}, 1};
  for (auto [name, size] :
       llvm::zip_equal(mesh.getMesh().getNames(), mesh.getMesh().getSizes())) {
    group.axes.push_back(
        spmd::AxisRefAttr::get(mesh.getContext(), name, /*pre=*/1, /*size=*/0));
    group.size *= size;
  }
  return group;
}

/// Pairs that move everything by one distance along one axis.
static Value emitShift(Conversion &c, ArrayRef<int64_t> pairs,
                       spmd::MeshOp mesh) {
  int64_t stride = 1, devices = 1;
  for (int64_t size : mesh.getMesh().getSizes())
    devices *= size;
  for (size_t axis = mesh.getMesh().getSizes().size(); axis-- > 0;) {
    int64_t size = mesh.getMesh().getSizes()[axis];
    auto place = [&](int64_t device) { return device / stride % size; };
    for (int64_t by = 1 - size; by < size; ++by) {
      bool wraps = int64_t(pairs.size() / 2) == devices, fits = by != 0;
      if (!wraps &&
          int64_t(pairs.size() / 2) != devices / size * (size - std::abs(by)))
        continue;
      for (size_t i = 0; fits && i < pairs.size(); i += 2) {
        int64_t to = place(pairs[i]) + by;
        if (wraps)
          to = (to + size) % size;
        fits = to >= 0 && to < size &&
               pairs[i + 1] == pairs[i] + (to - place(pairs[i])) * stride;
      }
      if (fits)
        return spmd::ShiftOp::create(
            c.builder, c.op->getLoc(), c.in().getType(), c.in(), mesh.getName(),
            spmd::toAttr(c.op->getContext(), mesh.toMesh(),
                         AxisRef::full(mesh.toMesh(), axis)),
            by, wraps ? "wrap" : "fill");
    }
    stride *= size;
  }
  return {};
}

static Results convertPermute(Conversion &c) {
  spmd::MeshOp mesh = findMesh(c.op);
  if (!mesh)
    return c.unsupported() << " outside of a region for one device";
  auto pairs = c.getList("source_target_pairs");
  if (failed(pairs))
    return failure();
  Group everybody = getEverybody(mesh);
  constexpr int64_t kMaxDevices = 1 << 20;
  if (everybody.size > kMaxDevices)
    return c.unsupported() << " among more than 2^20 devices";
  toPlaces(*pairs, mesh.getMesh());
  SmallVector<int32_t> sources(everybody.size, -1);
  for (size_t i = 0; i + 1 < pairs->size(); i += 2) {
    int64_t from = (*pairs)[i], to = (*pairs)[i + 1];
    if (from < 0 || from >= everybody.size || to < 0 || to >= everybody.size ||
        sources[to] >= 0)
      return c.invalid() << " names a device that there is not, or one twice";
    sources[to] = from;
  }
  if (Value shifted = emitShift(c, *pairs, mesh))
    return c.one(shifted);
  // Everybody's buffers, of which a table tells the one to take; zeros if none.
  SmallVector<int64_t> shape(c.inShape());
  shape.insert(shape.begin(), 1);
  Value all = emitGathered(c, c.emit.reshape(c.in(), shape), everybody, 0);
  auto type = RankedTensorType::get({everybody.size}, c.builder.getI32Type());
  Value table = ConstantOp::create(
      c.builder, c.op->getLoc(), type,
      DenseElementsAttr::get(type, ArrayRef<int32_t>(sources)));
  Value source = c.emit.gather(table, emitPlace(c, everybody), 0, 0);
  return c.one(c.emit.gather(all, source, 0, 0));
}

/// The number of the device, as the mesh numbers them.
static Results convertPartitionId(Conversion &c) {
  spmd::MeshOp mesh = findMesh(c.op);
  if (!mesh)
    return c.unsupported() << " outside of a region for one device";
  if (!mesh.getMesh().getDeviceIds().empty())
    return c.unsupported() << " on a mesh with device_ids";
  return c.one(
      c.emit.convert(emitPlace(c, getEverybody(mesh)), c.outElement()));
}

//===----------------------------------------------------------------------===//
// The region
//===----------------------------------------------------------------------===//

/// A list of shardings, on meshes with axes.
static FailureOr<SmallVector<Attribute>>
readShardings(Conversion &c, StringRef name, size_t count) {
  Attribute attribute = c.get(name);
  auto list = dyn_cast_or_null<ArrayAttr>(attribute ? sdy::toBuiltin(attribute)
                                                    : Attribute());
  if (!list || list.size() != count ||
      !llvm::all_of(list, llvm::IsaPred<spmd::ShardingAttr>))
    return c.invalid() << " needs a sharding for each value in `" << name
                       << "`";
  return llvm::map_to_vector(list, [&](Attribute entry) -> Attribute {
    auto sharding = cast<spmd::ShardingAttr>(entry);
    spmd::ShardingAttr own = c.shardings.onMesh(sharding);
    return own ? own : sharding;
  });
}

/// Values from outside of the region must be written anew inside.
static LogicalResult isolate(Conversion &c, Region &region) {
  OpBuilder inside = OpBuilder::atBlockBegin(&region.front());
  bool isClosed = true;
  DenseMap<Value, Value> copies;
  region.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (region.isAncestor(operand.get().getParentRegion()))
        continue;
      Value &copy = copies[operand.get()];
      Operation *constant = operand.get().getDefiningOp<ConstantOp>();
      if (!copy && constant)
        copy = inside.clone(*constant)->getResult(0);
      if (copy)
        operand.set(copy);
      isClosed &= bool(copy);
    }
  });
  if (isClosed)
    return success();
  return c.invalid() << " uses values from outside of its body";
}

static Results convertManual(Conversion &c) {
  auto in = readShardings(c, "in_shardings", c.op->getNumOperands());
  auto out = readShardings(c, "out_shardings", c.op->getNumResults());
  Attribute axesAttribute = c.get("manual_axes");
  auto names = dyn_cast_or_null<ArrayAttr>(
      axesAttribute ? sdy::toBuiltin(axesAttribute) : Attribute());
  if (failed(in) || failed(out))
    return failure();
  if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return c.invalid() << " needs `manual_axes`";
  Region &region = c.op->getRegion(0);
  Operation *end = region.front().empty() ? nullptr : &region.front().back();
  if (!end || end->getName().getStringRef() != "sdy.return" ||
      end->getNumOperands() != c.op->getNumResults() ||
      region.getNumArguments() != c.op->getNumOperands())
    return c.invalid() << " has a body with an argument for each operand that "
                          "returns a value for each result";
  if (failed(isolate(c, region)))
    return failure();
  OpBuilder builder(end);
  spmd::ReturnOp::create(builder, end->getLoc(), end->getOperands());
  end->erase();
  SmallVector<spmd::AxisRefAttr> axes;
  for (Attribute name : names)
    axes.push_back(spmd::AxisRefAttr::get(c.op->getContext(),
                                          cast<StringAttr>(name), 1, 0));
  auto manual = spmd::ManualOp::create(
      c.builder, c.op->getLoc(), c.op->getResultTypes(), c.op->getOperands(),
      c.builder.getArrayAttr(*in), c.builder.getArrayAttr(*out),
      spmd::AxisListAttr::get(c.op->getContext(), axes));
  manual.getBody().takeBody(region);
  return SmallVector<Value>(manual.getResults());
}

static constexpr Row kRows[] = {
    {"sdy.manual_computation", -1, -1, 1, convertManual, Regions::After},
    {"stablehlo.all_gather", 1, 1, 0, convertAllGather},
    {"stablehlo.all_reduce", -1, -1, 1, convertAllReduce},
    {"stablehlo.all_to_all", 1, 1, 0, convertAllToAll},
    {"stablehlo.collective_permute", 1, 1, 0, convertPermute},
    {"stablehlo.partition_id", 0, 1, 0, convertPartitionId},
    {"stablehlo.reduce_scatter", 1, 1, 1, convertReduceScatter},
};

ArrayRef<Row> tp::stablehlo::getManualRows() { return kRows; }
