// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Collectives in regions that are written for one device.
//
// In such a region, a tensor is the data of one device, and the sharding of the
// whole tensor is unknown. The import of a collective therefore treats the data
// of the devices in one group as the parts of a tensor that only the group's
// axes shard: `all_gather` along dimension 0 over the axis "x" reshards this
// tensor from `[{"x"}, {}]` to `[{}, {}]`.

#include "Exchanges.h"
#include "Groups.h"

#include "dialects/SPMD/Nesting.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

FailureOr<spmd::MeshOp> tp::stablehlo::getMesh(Conversion &c) {
  auto manual = c.op->getParentOfType<spmd::ManualOp>();
  spmd::MeshOp mesh = manual
                          ? spmd::lookupMesh(manual, spmd::getMeshName(manual))
                          : spmd::MeshOp();
  if (!mesh)
    return c.unsupported() << " is not supported outside of manual regions if "
                              "the program has manual regions";
  if (!getNumDevices(mesh.getMesh().getSizes()))
    return c.unsupported() << " among more than 2^20 devices is not supported";
  return mesh;
}

Group tp::stablehlo::getEverybody(spmd::MeshOp mesh) {
  Mesh own = mesh.toMesh();
  Group group{mesh, {}};
  for (unsigned i = 0; i < own.axes.size(); ++i)
    group.axes.push_back(AxisRef::full(own, i));
  return group;
}

bool tp::stablehlo::isManual(Conversion &c, ArrayRef<AxisRef> axes) {
  AxisList covered = spmd::getManualAxesAround(c.op);
  return llvm::all_of(axes, [&](const AxisRef &axis) {
    return axis.size == 1 || llvm::any_of(covered, [&](const AxisRef &m) {
             return m.contains(axis);
           });
  });
}

/// Reads the operation's groups. If `ordered` is false, as for reductions, the
/// order of devices in a group does not matter.
static FailureOr<Group> readGroup(Conversion &c, bool ordered = true) {
  FailureOr<spmd::MeshOp> op = getMesh(c);
  if (failed(op))
    return failure();
  Mesh mesh = op->toMesh();
  FailureOr<DeviceGroups> groups = readGroups(c.op, mesh.getNumDevices());
  if (failed(groups))
    return failure();
  std::optional<AxisList> axes = findAxes(*groups, mesh, ordered);
  if (!axes)
    return c.op->emitError()
           << prefix(ErrorCode::IrregularGroups) << c.op->getName()
           << " is not supported for device groups that do not follow the axes "
              "of mesh "
              "@"
           << mesh.name;
  if (!isManual(c, *axes))
    return c.invalid() << " exchanges data along an axis that is not manual in "
                          "the enclosing region: make the axis manual";
  return Group{*op, *axes};
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Returns the sharding of a tensor that a group's axes shard in one dimension,
/// or not at all.
static TensorSharding cutAt(const Group &group, int64_t rank,
                            std::optional<int64_t> dim) {
  TensorSharding sharding = TensorSharding::replicate(rank);
  if (dim)
    sharding.dims[*dim].axes = group.axes;
  return sharding;
}

/// Creates the collective that takes `x` from one sharding to the other.
static FailureOr<Value> emitCollective(Conversion &c, CollectiveKind kind,
                                       Value x, const Group &group,
                                       const TensorSharding &from,
                                       const TensorSharding &to) {
  if (group.getSize() == 1)
    return x;
  Mesh mesh = spmd::MeshOp(group.mesh).toMesh();
  SmallVector<int64_t> global(typeOf(x).getShape());
  for (auto [size, dim] : llvm::zip_equal(global, from.dims))
    if (size > kLarge)
      return c.invalid() << " has a dimension larger than 2^31";
    else
      size *= tp::getSize(dim.axes);
  llvm::Expected<ReshardStep> step = makeStep(mesh, kind, from, to, global);
  if (!step)
    return c.unsupported() << ": " << llvm::toString(step.takeError());
  SmallVector<int64_t> shape(global);
  for (auto [size, dim] : llvm::zip_equal(shape, to.dims))
    size /= tp::getSize(dim.axes);
  return spmd::createCollective(c.builder, c.op->getLoc(), x, mesh, from, *step,
                                Emitter::withShape(x, shape));
}

/// Returns the reduction that the region computes, and whether booleans must be
/// converted to bytes for it. Devices can compute sums, maxima and minima.
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
         << " is only supported if it reduces with `add`, `maximum`, `minimum` "
            "or, for booleans, with `or` or `and`";
}

/// Combines the tensors of the group's devices; with `dim`, each device keeps
/// its part along that dimension.
static FailureOr<Value> emitReduced(Conversion &c, Value x, const Group &group,
                                    std::optional<int64_t> dim) {
  auto kind = readKind(c);
  if (failed(kind))
    return failure();
  Type element = typeOf(x).getElementType();
  int64_t rank = typeOf(x).getRank();
  TensorSharding partial = TensorSharding::replicate(rank);
  partial.unreduced = group.axes;
  partial.kind = kind->first;
  if (kind->second)
    x = c.emit.convert(x, c.builder.getIntegerType(8));
  FailureOr<Value> reduced = emitCollective(
      c, dim ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, x,
      group, partial, cutAt(group, rank, dim));
  if (failed(reduced))
    return failure();
  return c.emit.convert(*reduced, element);
}

/// Joins the parts of all devices of the group along `dim`.
static FailureOr<Value> emitGathered(Conversion &c, Value x, const Group &group,
                                     int64_t dim) {
  int64_t rank = typeOf(x).getRank();
  return emitCollective(c, CollectiveKind::AllGather, x, group,
                        cutAt(group, rank, dim),
                        cutAt(group, rank, std::nullopt));
}

/// Applies `emit` to each operand.
static Results forEachOperand(Conversion &c,
                              function_ref<FailureOr<Value>(Value)> emit) {
  if (c.op->getNumOperands() != c.op->getNumResults() ||
      c.op->getNumOperands() == 0)
    return c.invalid() << " expects a result for each operand";
  SmallVector<Value> results;
  for (Value operand : c.op->getOperands()) {
    FailureOr<Value> result = emit(operand);
    if (failed(result))
      return failure();
    results.push_back(*result);
  }
  return results;
}

/// Reads the dimension called `name`. All operands must have this dimension,
/// and its size must be a multiple of `divides`.
static FailureOr<int64_t> readDim(Conversion &c, StringRef name,
                                  int64_t divides = 1) {
  FailureOr<int64_t> dim = c.getInteger(name);
  if (failed(dim))
    return failure();
  for (Value operand : c.op->getOperands()) {
    Sizes shape = typeOf(operand).getShape();
    if (*dim < 0 || *dim >= int64_t(shape.size()) || shape[*dim] % divides)
      return c.invalid()
             << " expects `" << name
             << "` to be a dimension of each operand, with a size that is a "
                "multiple of the number of devices in the group";
  }
  return *dim;
}

static Results convertAllReduce(Conversion &c) {
  FailureOr<Group> group = readGroup(c, /*ordered=*/false);
  if (failed(group))
    return failure();
  return forEachOperand(
      c, [&](Value x) { return emitReduced(c, x, *group, std::nullopt); });
}

static Results convertReduceScatter(Conversion &c) {
  FailureOr<Group> group = readGroup(c);
  if (failed(group))
    return failure();
  FailureOr<int64_t> dim = readDim(c, "scatter_dimension", group->getSize());
  if (failed(dim))
    return failure();
  return forEachOperand(
      c, [&](Value x) { return emitReduced(c, x, *group, *dim); });
}

static Results convertAllGather(Conversion &c) {
  FailureOr<Group> group = readGroup(c);
  if (failed(group))
    return failure();
  FailureOr<int64_t> dim = readDim(c, "all_gather_dim");
  if (failed(dim))
    return failure();
  return forEachOperand(
      c, [&](Value x) { return emitGathered(c, x, *group, *dim); });
}

/// Device i of a group gets piece i of every device's operand.
static Results convertAllToAll(Conversion &c) {
  FailureOr<Group> group = readGroup(c);
  if (failed(group))
    return failure();
  int64_t size = group->getSize();
  FailureOr<int64_t> split = readDim(c, "split_dimension", size);
  FailureOr<int64_t> concat = readDim(c, "concat_dimension");
  FailureOr<int64_t> count = c.getInteger("split_count", size);
  if (failed(split) || failed(concat) || failed(count))
    return failure();
  if (*count != size)
    return c.invalid()
           << " expects as many pieces as the group has devices, got " << *count
           << " pieces for " << size << " devices";
  return forEachOperand(c, [&](Value x) -> FailureOr<Value> {
    SmallVector<int64_t> shape(typeOf(x).getShape());
    // Stacks the devices' operands along a new first dimension, which is
    // sharded over the group. The all-to-all moves this sharding to the
    // dimension that numbers the pieces.
    SmallVector<int64_t> pieces(shape);
    pieces[*split] /= size;
    pieces.insert(pieces.begin() + *split, size);
    pieces.insert(pieces.begin(), 1);
    int64_t rank = pieces.size();
    FailureOr<Value> sent = emitCollective(
        c, CollectiveKind::AllToAll, c.emit.reshape(x, pieces), *group,
        cutAt(*group, rank, 0), cutAt(*group, rank, *split + 1));
    if (failed(sent))
      return failure();
    if (size == 1)
      return x;
    // Concatenates the devices' pieces along dimension `concat`.
    shape[*split] /= size;
    SmallVector<int64_t> received(shape);
    received.insert(received.begin(), size);
    Value parts = c.emit.reshape(*sent, received);
    SmallVector<int64_t> permutation;
    for (int64_t dim = 1; dim <= int64_t(shape.size()); ++dim) {
      if (dim == *concat + 1)
        permutation.push_back(0);
      permutation.push_back(dim);
    }
    if (*concat != 0)
      parts = c.emit.transpose(parts, permutation);
    shape[*concat] *= size;
    return c.emit.reshape(parts, shape);
  });
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

/// Gathers the buffers of all devices in the region's groups; each device takes
/// the buffer of its source, or zeros if it has no source. `sources` are
/// positions in the mesh.
static Results emitTaken(Conversion &c, spmd::MeshOp op,
                         ArrayRef<int32_t> sources) {
  Mesh mesh = op.toMesh();
  Group group{op, spmd::getManualAxesAround(c.op)};
  SmallVector<int32_t> wanted;
  bool staysInGroup = true;
  for (auto [place, source] : llvm::enumerate(sources)) {
    wanted.push_back(source < 0 ? -1 : getPosition(mesh, group.axes, source));
    for (unsigned axis = 0; source >= 0 && axis < mesh.axes.size(); ++axis) {
      AxisRef full = AxisRef::full(mesh, axis);
      staysInGroup &=
          overlap(full, group.axes) ||
          getPosition(mesh, full, place) == getPosition(mesh, full, source);
    }
  }
  auto own = condense(mesh, group.axes, wanted);
  if (!staysInGroup || !own)
    return c.invalid() << " exchanges data along an axis that is not manual in "
                          "the enclosing region: make the axis manual";
  SmallVector<int64_t> shape(c.inShape());
  shape.insert(shape.begin(), 1);
  FailureOr<Value> all =
      emitGathered(c, c.emit.reshape(c.in(), shape), group, 0);
  if (failed(all))
    return failure();
  return c.one(c.emit.gather(*all, emitLookup(c, group, *own), 0, 0));
}

/// If all buffers are sent by the same distance around some axes, returns these
/// axes and the distance. `sources` are positions in the mesh, -1 for devices
/// that receive nothing.
static std::optional<std::pair<AxisList, int64_t>>
findShift(const Mesh &mesh, ArrayRef<int32_t> sources) {
  // Tries runs of adjacent axes, the shortest runs first. In a run, the last
  // axis varies fastest.
  unsigned count = mesh.axes.size();
  for (unsigned length = 1; length <= count; ++length)
    for (unsigned first = 0; first + length <= count; ++first) {
      unsigned last = first + length - 1;
      AxisList axes;
      for (unsigned i = first; i <= last; ++i)
        axes.push_back(AxisRef::full(mesh, i));
      int64_t size = tp::getSize(axes);
      std::optional<int64_t> by;
      bool fits = size > 1;
      for (int64_t to = 0; fits && to < int64_t(sources.size()); ++to) {
        if (sources[to] < 0)
          continue;
        int64_t from = sources[to];
        int64_t step = (getPosition(mesh, axes, to) -
                        getPosition(mesh, axes, from) + size) %
                       size;
        by = by.value_or(step);
        fits = step == *by;
        // Along all other axes, sender and receiver must have the same
        // position.
        for (unsigned i = 0; fits && i < mesh.axes.size(); ++i)
          fits = (i >= first && i <= last) ||
                 getPosition(mesh, AxisRef::full(mesh, i), to) ==
                     getPosition(mesh, AxisRef::full(mesh, i), from);
      }
      if (fits && by && *by != 0)
        return std::pair(axes, *by);
    }
  return std::nullopt;
}

static Results emitShift(Conversion &c, spmd::MeshOp op, AxisList axes,
                         int64_t by, ArrayRef<int32_t> sources) {
  Mesh mesh = op.toMesh();
  int64_t size = tp::getSize(axes);
  bool wraps = true, fillsUp = true, fillsDown = true;
  for (int64_t place = 0; place < int64_t(sources.size()); ++place) {
    int64_t position = getPosition(mesh, axes, place);
    bool receives = sources[place] >= 0;
    wraps &= receives;
    fillsUp &= receives == (position >= by);
    fillsDown &= receives == (position < by);
  }
  auto shift = [&](int64_t step, StringRef mode) {
    return spmd::ShiftOp::create(
        c.builder, c.op->getLoc(), c.in().getType(), c.in(), op.getName(),
        spmd::toAttr(c.op->getContext(), mesh, axes), step, mode);
  };
  if (wraps || !(fillsUp || fillsDown)) {
    // Shifts in the shorter of the two directions.
    Value moved = shift(2 * by > size ? by - size : by, "wrap");
    if (wraps)
      return c.one(moved);
    // Devices that receive nothing get zeros.
    SmallVector<int32_t> receives;
    for (int32_t source : sources)
      receives.push_back(source >= 0);
    Group group{op, spmd::getManualAxesAround(c.op)};
    auto own = condense(mesh, group.axes, receives);
    if (!own)
      return c.invalid() << " exchanges data along an axis that is not manual "
                            "in the enclosing region: make the axis manual";
    Value flag =
        c.emit.convert(emitLookup(c, group, *own), c.builder.getI1Type());
    return c.one(c.emit.select(c.emit.splat(flag, c.inShape()), moved,
                               c.emit.constant(0, c.in())));
  }
  return c.one(fillsUp ? shift(by, "fill") : shift(by - size, "fill"));
}

/// Returns the axes of the mesh, permuted so that `sources` holds each device's
/// position along the permuted axes; nullopt if no permutation fits.
static std::optional<AxisList> findOrder(const Mesh &mesh,
                                         ArrayRef<int32_t> sources) {
  constexpr unsigned kMaxAxes = 6;
  SmallVector<unsigned> order;
  for (unsigned i = 0; i < mesh.axes.size(); ++i)
    order.push_back(i);
  if (order.size() > kMaxAxes)
    return std::nullopt;
  do {
    AxisList axes;
    for (unsigned i : order)
      axes.push_back(AxisRef::full(mesh, i));
    bool fits = true;
    for (auto [place, source] : llvm::enumerate(sources))
      fits &= source == getPosition(mesh, axes, place);
    if (fits)
      return axes;
  } while (std::next_permutation(order.begin(), order.end()));
  return std::nullopt;
}

static Results convertPermute(Conversion &c) {
  FailureOr<spmd::MeshOp> op = getMesh(c);
  if (failed(op))
    return failure();
  Mesh mesh = op->toMesh();
  auto pairs = readPairs(c.op, mesh.getNumDevices());
  if (failed(pairs))
    return failure();
  SmallVector<int64_t> places = getPlaces(mesh);
  SmallVector<int32_t> sources(mesh.getNumDevices(), -1);
  bool stays = true;
  for (size_t i = 0; i < pairs->size(); i += 2) {
    sources[places[(*pairs)[i + 1]]] = places[(*pairs)[i]];
    stays &= (*pairs)[i] == (*pairs)[i + 1];
  }
  if (stays && int64_t(pairs->size()) == 2 * mesh.getNumDevices())
    return c.one(c.in());
  if (auto moves = findShift(mesh, sources)) {
    if (!isManual(c, moves->first))
      return c.invalid() << " exchanges data along an axis that is not manual "
                            "in the enclosing region: make the axis manual";
    return emitShift(c, *op, moves->first, moves->second, sources);
  }
  auto order = findOrder(mesh, sources);
  if (order && isManual(c, getEverybody(*op).axes)) {
    SmallVector<int64_t> shape(c.inShape());
    shape.insert(shape.begin(), 1);
    Group everybody = getEverybody(*op);
    TensorSharding from = cutAt(everybody, shape.size(), 0), to = from;
    to.dims[0].axes = *order;
    FailureOr<Value> moved =
        emitCollective(c, CollectiveKind::CollectivePermute,
                       c.emit.reshape(c.in(), shape), everybody, from, to);
    if (failed(moved))
      return failure();
    return c.one(c.emit.reshape(*moved, c.inShape()));
  }
  return emitTaken(c, *op, sources);
}

static constexpr Row kExchangeRows[] = {
    {"stablehlo.all_gather", -1, -1, 0, convertAllGather},
    {"stablehlo.all_reduce", -1, -1, 1, convertAllReduce},
    {"stablehlo.all_to_all", -1, -1, 0, convertAllToAll},
    {"stablehlo.collective_permute", 1, 1, 0, convertPermute},
    {"stablehlo.reduce_scatter", 1, 1, 1, convertReduceScatter},
};

ArrayRef<Row> tp::stablehlo::getExchangeRows() { return kExchangeRows; }
