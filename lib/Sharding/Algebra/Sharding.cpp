// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/Sharding.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;

llvm::StringRef tp::stringify(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return "sum";
  case ReduceKind::Max:
    return "max";
  case ReduceKind::Min:
    return "min";
  }
  llvm_unreachable("covered switch");
}

TensorSharding TensorSharding::replicate(unsigned rank, bool open) {
  TensorSharding sharding;
  sharding.dims.resize(rank);
  for (DimSharding &dim : sharding.dims)
    dim.open = open;
  return sharding;
}

bool TensorSharding::isReplicated() const {
  return getSize(unreduced) == 1 &&
         llvm::all_of(dims, [](const DimSharding &dim) {
           return getSize(dim.axes) == 1;
         });
}

AxisList TensorSharding::getDimAxes() const {
  AxisList axes;
  for (const DimSharding &dim : dims)
    axes.append(dim.axes.begin(), dim.axes.end());
  return axes;
}

bool TensorSharding::uses(const AxisRef &axis) const {
  return overlap(unreduced, axis) ||
         llvm::any_of(dims, [&](const DimSharding &dim) {
           return overlap(dim.axes, axis);
         });
}

TensorSharding TensorSharding::getLayout() const {
  TensorSharding layout;
  layout.dims.resize(dims.size());
  for (auto [from, to] : llvm::zip(dims, layout.dims))
    for (const AxisRef &axis : from.axes)
      appendMerged(to.axes, axis);
  layout.unreduced = getMerged(unreduced);
  if (!layout.unreduced.empty())
    layout.kind = kind;
  return layout;
}

bool TensorSharding::sameLayout(const TensorSharding &other) const {
  return getLayout() == other.getLayout();
}

void TensorSharding::print(llvm::raw_ostream &os, const Mesh &mesh) const {
  os << '[';
  llvm::interleaveComma(dims, os, [&](const DimSharding &dim) {
    os << '{';
    llvm::interleaveComma(dim.axes, os,
                          [&](const AxisRef &axis) { axis.print(os, mesh); });
    if (dim.open)
      os << (dim.axes.empty() ? "?" : ", ?");
    os << '}';
    if (dim.priority)
      os << 'p' << *dim.priority;
  });
  os << ']';
  if (!replicated.empty()) {
    os << ", replicated=";
    printAxes(os, mesh, replicated);
  }
  if (!unreduced.empty()) {
    os << ", unreduced=";
    if (kind != ReduceKind::Sum)
      os << stringify(kind);
    printAxes(os, mesh, unreduced);
  }
}

std::string TensorSharding::str(const Mesh &mesh) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os, mesh);
  return text;
}

llvm::hash_code tp::hash_value(const AxisRef &axis) {
  return llvm::hash_combine(axis.axis, axis.pre, axis.size);
}

llvm::hash_code tp::hash_value(const TensorSharding &sharding) {
  llvm::hash_code code =
      llvm::hash_combine(sharding.dims.size(),
                         llvm::hash_combine_range(sharding.unreduced.begin(),
                                                  sharding.unreduced.end()),
                         llvm::hash_combine_range(sharding.replicated.begin(),
                                                  sharding.replicated.end()));
  for (const DimSharding &dim : sharding.dims)
    code = llvm::hash_combine(
        code, dim.open,
        llvm::hash_combine_range(dim.axes.begin(), dim.axes.end()));
  return code;
}

static std::string text(const AxisRef &axis, const Mesh &mesh) {
  std::string out;
  llvm::raw_string_ostream os(out);
  axis.print(os, mesh);
  return out;
}

std::optional<ShardingError> tp::verify(const TensorSharding &sharding,
                                        const Mesh &mesh, unsigned rank) {
  if (sharding.getRank() != rank)
    return ShardingError{
        ErrorCode::RankMismatch,
        "the sharding has " + std::to_string(sharding.getRank()) +
            " dimensions, but the tensor has " + std::to_string(rank)};

  AxisList seen;
  auto check = [&](ArrayRef<AxisRef> axes) -> std::optional<ShardingError> {
    for (auto [index, axis] : llvm::enumerate(axes)) {
      int64_t whole = mesh.axes[axis.axis].size;
      // This does not use end(), as the product of user-written numbers may
      // overflow.
      if (axis.pre < 1 || axis.size < 1 || whole % axis.pre != 0 ||
          whole / axis.pre % axis.size != 0 ||
          (axis.size == 1 && !axis.isFull(mesh)))
        return ShardingError{
            ErrorCode::BadSubAxis,
            "sub-axis " + text(axis, mesh) + " of an axis of " +
                std::to_string(whole) +
                " devices is not valid: pre-size times size must divide the "
                "axis, and the size must be at least 2"};
      if (index > 0 && axes[index - 1].canMerge(axis))
        return ShardingError{ErrorCode::SubAxisNotMerged,
                             "sub-axes " + text(axes[index - 1], mesh) +
                                 " and " + text(axis, mesh) +
                                 " follow each other: write " +
                                 text(axes[index - 1].merge(axis), mesh)};
      for (const AxisRef &other : seen) {
        if (axis.overlaps(other))
          return ShardingError{ErrorCode::AxisUsedTwice,
                               "axis " + text(axis, mesh) +
                                   " is used twice in one sharding"};
        if (!axis.canCoexist(other))
          return ShardingError{ErrorCode::BadSubAxis,
                               "sub-axes " + text(other, mesh) + " and " +
                                   text(axis, mesh) +
                                   " cannot be used together: no factorization "
                                   "of the axis contains both"};
      }
      seen.push_back(axis);
    }
    return std::nullopt;
  };

  for (const DimSharding &dim : sharding.dims) {
    if (auto error = check(dim.axes))
      return error;
    if (dim.priority && dim.axes.empty() && dim.open)
      return ShardingError{ErrorCode::PriorityOnEmptyDim,
                           "an open dimension without axes cannot have a "
                           "priority: remove the priority"};
  }
  if (auto error = check(sharding.replicated))
    return error;
  return check(sharding.unreduced);
}

SmallVector<int64_t> tp::getLocalShape(const TensorSharding &sharding,
                                       ArrayRef<int64_t> shape) {
  SmallVector<int64_t> local;
  for (auto [dim, size] : llvm::zip_equal(sharding.dims, shape))
    local.push_back(BlockLayout{size, getSize(dim.axes)}.block());
  return local;
}

bool tp::hasPadding(const TensorSharding &sharding, ArrayRef<int64_t> shape) {
  for (auto [dim, size] : llvm::zip_equal(sharding.dims, shape))
    if (BlockLayout{size, getSize(dim.axes)}.isUneven())
      return true;
  return false;
}
