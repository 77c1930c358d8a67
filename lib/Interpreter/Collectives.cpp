// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The collectives: how devices exchange data.

#include "Blocks.h"

#include <set>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

static BinaryKind toBinary(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return BinaryKind::Add;
  case ReduceKind::Max:
    return BinaryKind::Max;
  case ReduceKind::Min:
    return BinaryKind::Min;
  }
  llvm_unreachable("covered switch");
}

DeviceValues Distributor::allReduce(ArrayRef<TensorValue> parts,
                                    const Mesh &mesh, ArrayRef<AxisRef> axes,
                                    ReduceKind kind) {
  DeviceValues results(parts.size());
  for (ArrayRef<int64_t> group : getGroups(mesh, axes)) {
    TensorValue sum = parts[group.front()];
    for (int64_t device : group.drop_front())
      sum =
          evaluator.binary(toBinary(kind), sum, parts[device], sum->getType());
    for (int64_t device : group)
      results[device] = sum;
  }
  return results;
}

DeviceValues Distributor::exchange(ArrayRef<TensorValue> parts,
                                   const Layout &in, const Layout &out,
                                   ArrayRef<AxisRef> axes,
                                   RankedTensorType type) {
  DeviceValues results(parts.size());
  for (ArrayRef<int64_t> group : getGroups(*in.mesh, axes))
    for (int64_t to : group) {
      auto buffer = makeGarbage(type);
      for (int64_t from : group)
        copyOverlap(toDense(parts[from]).data(), parts[from]->getShape(),
                    in.getBlock(from), buffer->data(), type.getShape(),
                    out.getBlock(to));
      results[to] = buffer;
    }
  return results;
}

DeviceValues Distributor::toPartial(ArrayRef<TensorValue> parts,
                                    const Layout &in, const Layout &out,
                                    ArrayRef<AxisRef> axes,
                                    RankedTensorType type) {
  Element identity =
      evaluator.getIdentity(out.sharding.kind, type.getElementType());
  DeviceValues results(parts.size());
  for (ArrayRef<int64_t> group : getGroups(*in.mesh, axes)) {
    // If several devices hold the same block, the first one keeps it.
    std::set<SmallVector<int64_t>> kept;
    for (int64_t device : group) {
      const TensorValue &part = parts[device];
      SmallVector<int64_t> positions;
      for (const DimSharding &dim : in.sharding.dims)
        positions.push_back(getPosition(*in.mesh, dim.axes, device));
      bool keeps = kept.insert(positions).second;
      // Buffers of the same shape may hold different blocks: if a dimension of
      // size 1 is sharded over two devices, the second one holds only padding.
      if (keeps && in.getBlock(device) == out.getBlock(device)) {
        results[device] = part;
        continue;
      }
      auto buffer = makeFilled(type, identity);
      if (keeps)
        copyOverlap(toDense(part).data(), part->getShape(), in.getBlock(device),
                    buffer->data(), type.getShape(), out.getBlock(device));
      results[device] = buffer;
    }
  }
  return results;
}

DeviceValues Distributor::run(CollectiveKind kind, ArrayRef<AxisRef> axes,
                              ArrayRef<TensorValue> parts, const Layout &in,
                              const Layout &out, RankedTensorType type) {
  ReduceKind reduce = in.sharding.kind;
  switch (kind) {
  case CollectiveKind::AllReduce:
    return allReduce(parts, *in.mesh, axes, reduce);
  case CollectiveKind::ReduceScatter:
    return exchange(allReduce(parts, *in.mesh, axes, reduce), in, out,
                    /*axes=*/{}, type);
  case CollectiveKind::AllSlice:
    return exchange(parts, in, out, /*axes=*/{}, type);
  case CollectiveKind::AllGather:
  case CollectiveKind::AllToAll:
    return exchange(parts, in, out, axes, type);
  case CollectiveKind::CollectivePermute: {
    DeviceValues results;
    for (int64_t source :
         getPermuteSources(*in.mesh, in.sharding, out.sharding))
      results.push_back(parts[source]);
    return results;
  }
  case CollectiveKind::ToPartial:
    return toPartial(parts, in, out, axes, type);
  }
  llvm_unreachable("covered switch");
}

DeviceValues Distributor::shift(ArrayRef<TensorValue> parts, const Mesh &mesh,
                                ArrayRef<AxisRef> axes, Sender getSender) {
  RankedTensorType type = parts.front()->getType();
  TensorValue zeros = makeFilled(
      type, evaluator.getIdentity(ReduceKind::Sum, type.getElementType()));
  DeviceValues results(parts.size());
  for (ArrayRef<int64_t> group : getGroups(mesh, axes))
    for (auto [place, device] : llvm::enumerate(group)) {
      std::optional<int64_t> sender = getSender(place, group.size());
      results[device] = sender ? parts[group[*sender]] : zeros;
    }
  return results;
}

DeviceValues Distributor::axisIndex(const Mesh &mesh, ArrayRef<AxisRef> axes,
                                    RankedTensorType type) {
  DeviceValues results;
  for (int64_t device = 0, e = mesh.getNumDevices(); device < e; ++device)
    results.push_back(
        makeIntegerTensor(type, {getPosition(mesh, axes, device)}));
  return results;
}

/// The offset in `whole` of block number `index` along `dim`.
static int64_t getBlockBegin(ArrayRef<int64_t> whole, ArrayRef<int64_t> block,
                             int64_t dim, int64_t index) {
  return index * block[dim] * getStrides(whole)[dim];
}

DeviceValues Distributor::block(ArrayRef<TensorValue> parts, const Mesh &mesh,
                                ArrayRef<AxisRef> axes, int64_t dim,
                                int64_t plus, RankedTensorType type) {
  ArrayRef<int64_t> sizes = type.getShape();
  SmallVector<int64_t> strides = getStrides(sizes);
  DeviceValues results;
  for (auto [device, part] : llvm::enumerate(parts)) {
    int64_t index = (getPosition(mesh, axes, device) + plus) % getSize(axes);
    auto buffer = std::make_shared<DenseTensor>(type);
    copyStrided(sizes,
                toDense(part).data() +
                    getBlockBegin(part->getShape(), sizes, dim, index),
                getStrides(part->getShape()), buffer->data(), strides);
    results.push_back(buffer);
  }
  return results;
}

DeviceValues Distributor::assemble(ArrayRef<DeviceValues> blocks,
                                   const Mesh &mesh, ArrayRef<AxisRef> axes,
                                   int64_t dim, RankedTensorType type) {
  SmallVector<int64_t> strides = getStrides(type.getShape());
  DeviceValues results;
  for (int64_t device = 0; device < mesh.getNumDevices(); ++device) {
    auto buffer = std::make_shared<DenseTensor>(type);
    for (auto [plus, values] : llvm::enumerate(blocks)) {
      const DenseTensor &from = toDense(values[device]);
      int64_t index = (getPosition(mesh, axes, device) + plus) % getSize(axes);
      copyStrided(from.getShape(), from.data(), getStrides(from.getShape()),
                  buffer->data() + getBlockBegin(type.getShape(),
                                                 from.getShape(), dim, index),
                  strides);
    }
    results.push_back(buffer);
  }
  return results;
}

DeviceValues Distributor::mask(ArrayRef<TensorValue> parts,
                               const Layout &layout, ArrayRef<int64_t> dims,
                               Element value) {
  DeviceValues results;
  for (auto [device, part] : llvm::enumerate(parts)) {
    BlockExtent block = layout.getBlock(device);
    auto buffer = std::make_shared<DenseTensor>(toDense(part));
    SmallVector<int64_t> strides = getStrides(part->getShape());
    for (int64_t i = 0; i < buffer->size(); ++i)
      for (int64_t dim : dims)
        if (i / strides[dim] % buffer->getShape()[dim] >= block.valid[dim])
          (*buffer)[i] = value;
    results.push_back(buffer);
  }
  return results;
}
