// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Splits whole tensors into the devices' parts, and combines the parts again.

#include "lib/Interpreter/Distribution.h"

#include "Blocks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;

BlockExtent Layout::getBlock(int64_t device) const {
  BlockExtent block;
  for (auto [dim, size] : llvm::zip_equal(sharding.dims, shape)) {
    BlockLayout blocks{size, getSize(dim.axes)};
    int64_t position = getPosition(*mesh, dim.axes, device);
    block.begin.push_back(blocks.begin(position));
    block.valid.push_back(blocks.valid(position));
  }
  return block;
}

void tp::interp::copyOverlap(const Element *from, ArrayRef<int64_t> fromShape,
                             const BlockExtent &source, Element *to,
                             ArrayRef<int64_t> toShape,
                             const BlockExtent &target) {
  SmallVector<int64_t> sizes;
  SmallVector<int64_t> fromStrides = getStrides(fromShape),
                       toStrides = getStrides(toShape);
  for (size_t dim = 0; dim < fromShape.size(); ++dim) {
    int64_t begin = std::max(source.begin[dim], target.begin[dim]);
    int64_t end = std::min(source.begin[dim] + source.valid[dim],
                           target.begin[dim] + target.valid[dim]);
    if (begin >= end)
      return;
    sizes.push_back(end - begin);
    from += (begin - source.begin[dim]) * fromStrides[dim];
    to += (begin - target.begin[dim]) * toStrides[dim];
  }
  copyStrided(sizes, from, fromStrides, to, toStrides);
}

std::shared_ptr<DenseTensor> Distributor::makeFilled(RankedTensorType type,
                                                     Element value) {
  auto tensor = std::make_shared<DenseTensor>(type);
  std::fill_n(tensor->data(), tensor->size(), value);
  return tensor;
}

std::shared_ptr<DenseTensor> Distributor::makeGarbage(RankedTensorType type) {
  auto tensor = std::make_shared<DenseTensor>(type);
  for (int64_t i = 0; i < tensor->size(); ++i)
    (*tensor)[i] = evaluator.getGarbage(salt++, type.getElementType());
  return tensor;
}

static BlockExtent getWholeBlock(ArrayRef<int64_t> shape) {
  return {SmallVector<int64_t>(shape.size(), 0), SmallVector<int64_t>(shape)};
}

DeviceValues Distributor::scatter(TensorValue whole, const Layout &layout,
                                  RankedTensorType local, Padding padding) {
  Type element = local.getElementType();
  ReduceKind kind = layout.sharding.kind;
  DeviceValues parts;
  for (int64_t device = 0; device < layout.getNumDevices(); ++device) {
    BlockExtent block = layout.getBlock(device);
    bool hasGarbage = padding == Padding::Garbage &&
                      ArrayRef<int64_t>(block.valid) != local.getShape();
    auto part = hasGarbage ? makeGarbage(local)
                           : makeFilled(local, evaluator.getIdentity(
                                                   ReduceKind::Sum, element));
    if (getPosition(*layout.mesh, layout.sharding.unreduced, device) == 0)
      copyOverlap(toDense(whole).data(), layout.shape,
                  getWholeBlock(layout.shape), part->data(), local.getShape(),
                  block);
    else
      part = makeFilled(local, evaluator.getIdentity(kind, element));
    parts.push_back(part);
  }
  return parts;
}

std::variant<TensorValue, std::string>
Distributor::gather(ArrayRef<TensorValue> parts, const Layout &layout,
                    RankedTensorType whole, double tolerance,
                    ArrayRef<int64_t> devices) {
  DeviceValues combined;
  if (getSize(layout.sharding.unreduced) > 1) {
    combined = allReduce(parts, *layout.mesh, layout.sharding.unreduced,
                         layout.sharding.kind);
    parts = combined;
  }
  Type element = whole.getElementType();
  auto result = std::make_shared<DenseTensor>(whole);
  // `writer` records which device has written each element, so that a different
  // copy on a later device is found.
  DenseTensor place(whole);
  for (int64_t i = 0; i < place.size(); ++i)
    place[i] = makeInteger(i);
  std::vector<int64_t> writer(result->size(), -1);
  SmallVector<int64_t> writers(devices);
  if (devices.empty())
    llvm::append_range(writers, llvm::seq<int64_t>(0, parts.size()));
  for (int64_t device : writers) {
    const TensorValue &part = parts[device];
    BlockExtent block = layout.getBlock(device);
    // Copy the positions of elements in the same way as their values, so that
    // `where[i]` is the position of element i of the part.
    DenseTensor where(part->getType());
    std::fill_n(where.data(), where.size(), makeInteger(-1));
    copyOverlap(place.data(), layout.shape, getWholeBlock(layout.shape),
                where.data(), part->getShape(), block);
    for (int64_t i = 0; i < where.size(); ++i) {
      int64_t at = where[i].integer;
      if (at < 0)
        continue;
      Element value = toDense(part)[i];
      if (writer[at] < 0) {
        writer[at] = device;
        (*result)[at] = value;
      } else if (!evaluator.isClose((*result)[at], value, element, tolerance)) {
        return ("device " + Twine(layout.mesh->getDevice(device)) + " holds " +
                evaluator.print(value, element) + " at index " +
                printIndex(at, layout.shape) + ", but device " +
                Twine(layout.mesh->getDevice(writer[at])) + " holds " +
                evaluator.print((*result)[at], element) +
                " there, and both must hold copies of one value")
            .str();
      }
    }
  }
  return TensorValue(result);
}
