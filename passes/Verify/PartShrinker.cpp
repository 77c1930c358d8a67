// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PartShrinker.h"

using namespace mlir;
using namespace tp;

int64_t PartShrinker::Rows::block() const {
  return BlockLayout{whole, devices}.block();
}

int64_t PartShrinker::Rows::window() const { return std::min(part, block()); }

/// Returns the smallest sizes for `devices` devices that compare with one
/// another as the sizes in `large` do. The last block is shorter than the
/// others if and only if the last block of the large tensor is.
std::optional<PartShrinker::Rows> PartShrinker::shrink(const Rows &large,
                                                       int64_t devices) {
  if (large.devices == 1)
    return Rows{std::min<int64_t>(large.whole, 4), 1,
                std::min<int64_t>(large.part, 2)};
  int64_t block = large.block();
  int64_t last = large.whole - (large.devices - 1) * block;
  int64_t rows = std::min<int64_t>(block, 2);
  Rows small{0, devices, std::min(large.part, rows)};
  if (large.part > block)
    small.part = rows + 1;
  else if (large.part < block)
    rows = small.part + 1;
  small.whole = devices * rows - (last == block ? 0 : 1);
  if (last <= 0 || small.block() != rows || small.part >= small.whole)
    return std::nullopt;
  return small;
}

/// Fills the maps from numbers of the large form to numbers of the small form.
/// Returns false if a number would be mapped to several numbers.
bool PartShrinker::relate() {
  auto add = [](Map &map, int64_t from, int64_t to) {
    return map.try_emplace(from, to).first->second == to;
  };
  for (const auto &[dim, sizes] : dims) {
    const Rows &large = sizes.large, &small = sizes.small;
    if (large.devices == 1)
      continue; // the local form does not count along it
    if (!add(blocks, large.block(), small.block()) ||
        !add(lasts, large.whole - large.part, small.whole - small.part) ||
        !add(lasts, large.block() - large.window(),
             small.block() - small.window()) ||
        !add(parts, large.part, small.part) || !add(parts, 0, 0) ||
        !add(indices, large.part, small.part) ||
        !add(indices, large.window(), small.window()))
      return false;
  }
  return true;
}

std::optional<PartShrinker> PartShrinker::create(Operation *op,
                                                 const TensorSharding &layout,
                                                 const Mesh &mesh) {
  if (!isa<DynamicSliceOp, DynamicUpdateSliceOp>(op))
    return std::nullopt;
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  ArrayRef<int64_t> whole = shapeOf(op->getOperand(0)),
                    part = shapeOf(isa<DynamicSliceOp>(op) ? op->getResult(0)
                                                           : op->getOperand(1));
  PartShrinker shrinker;
  shrinker.part = isa<DynamicSliceOp>(op) ? op->getNumOperands() : 1;
  for (auto [dim, from, to] : llvm::enumerate(whole, part)) {
    if (from == to)
      continue;
    const AxisList &cutting = layout.dims[dim].axes;
    int64_t devices = 1;
    for (const AxisRef &axis : cutting) {
      // A sub-axis is refused: `size` is not the size of the whole axis.
      if (!axis.isFull(mesh))
        return std::nullopt;
      int64_t size = std::min<int64_t>(axis.size, cutting.size() > 1 ? 2 : 3);
      shrinker.axes[axis.axis] = size;
      devices *= size;
    }
    Rows large{from, tp::getSize(cutting), to};
    std::optional<Rows> small = shrink(large, devices);
    if (!small)
      return std::nullopt;
    shrinker.dims[dim] = {large, *small};
  }
  if (shrinker.dims.empty() || !shrinker.relate())
    return std::nullopt;
  return shrinker;
}

std::optional<int64_t> PartShrinker::getSize(unsigned tensor,
                                             unsigned dim) const {
  auto found = dims.find(dim);
  if (found == dims.end())
    return std::nullopt;
  const Rows &small = found->second.small;
  return tensor == part ? small.part : small.whole;
}

std::optional<int64_t> PartShrinker::mapRows(int64_t rows, unsigned dim) const {
  auto found = dims.find(dim);
  if (found == dims.end())
    return std::nullopt;
  const Rows &large = found->second.large, &small = found->second.small;
  if (rows == large.part)
    return small.part;
  if (rows == large.window())
    return small.window();
  if (rows == large.block())
    return small.block();
  return std::nullopt;
}

std::optional<int64_t> PartShrinker::mapIndices(int64_t count) const {
  auto found = indices.find(count);
  return found == indices.end() ? std::nullopt : std::optional(found->second);
}

int64_t PartShrinker::mapNumber(int64_t number, Operation *constant) const {
  const Map *map = nullptr;
  for (Operation *user : constant->getUsers())
    map = isa<MulOp>(user)       ? &blocks
          : isa<MinOp>(user)     ? &lasts
          : isa<CompareOp>(user) ? &parts
                                 : map;
  if (!map)
    return number;
  auto found = map->find(number);
  return found == map->end() ? number : found->second;
}

void PartShrinker::mapNumbers(Operation *copy) const {
  auto constant = dyn_cast<ConstantOp>(copy);
  auto value = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                        : SplatElementsAttr();
  if (!value || !isa<IntegerType>(value.getElementType()))
    return;
  int64_t number = value.getSplatValue<APInt>().getSExtValue();
  Attribute small =
      IntegerAttr::get(value.getElementType(), mapNumber(number, constant));
  constant.setValueAttr(DenseElementsAttr::get(value.getType(), small));
}
