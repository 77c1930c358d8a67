// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Sharding/Mesh.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;

int64_t Mesh::getNumDevices() const {
  int64_t n = 1;
  for (const Axis &axis : axes)
    n *= axis.size;
  return n;
}

std::optional<unsigned> Mesh::find(llvm::StringRef name) const {
  for (auto [index, axis] : llvm::enumerate(axes))
    if (axis.name == name)
      return index;
  return std::nullopt;
}

SmallVector<int64_t> Mesh::getCoordinates(int64_t number) const {
  SmallVector<int64_t> coordinates(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    coordinates[i] = number % axes[i].size;
    number /= axes[i].size;
  }
  return coordinates;
}

int64_t Mesh::getNumber(ArrayRef<int64_t> coordinates) const {
  int64_t number = 0;
  for (auto [axis, coordinate] : llvm::zip_equal(axes, coordinates))
    number = number * axis.size + coordinate;
  return number;
}

bool AxisRef::contains(const AxisRef &other) const {
  return axis == other.axis && pre <= other.pre && other.end() <= end() &&
         canCoexist(other);
}

bool AxisRef::hasPrefix(const AxisRef &other) const {
  return axis == other.axis && pre == other.pre && size % other.size == 0;
}

bool AxisRef::overlaps(const AxisRef &other) const {
  return axis == other.axis && pre < other.end() && other.pre < end();
}

bool AxisRef::canCoexist(const AxisRef &other) const {
  if (axis != other.axis)
    return true;
  // In ascending order, each of the four ends must divide the next one.
  int64_t cuts[] = {pre, end(), other.pre, other.end()};
  llvm::sort(cuts);
  for (int i = 0; i < 3; ++i)
    if (cuts[i + 1] % cuts[i] != 0)
      return false;
  return true;
}

std::optional<AxisRef> AxisRef::getOverlap(const AxisRef &other) const {
  if (!overlaps(other) || !canCoexist(other))
    return std::nullopt;
  int64_t begin = std::max(pre, other.pre);
  return AxisRef{axis, begin, std::min(end(), other.end()) / begin};
}

std::optional<AxisRef>
AxisRef::getPrefixWithoutOverlap(const AxisRef &other) const {
  if (!overlaps(other))
    return *this;
  if (other.pre <= pre || other.pre % pre != 0 || size % (other.pre / pre) != 0)
    return std::nullopt;
  return AxisRef{axis, pre, other.pre / pre};
}

void AxisRef::print(llvm::raw_ostream &os, const Mesh &mesh,
                    bool quoted) const {
  const char *quote = quoted ? "\"" : "";
  os << quote << mesh.axes[axis].name << quote;
  if (!isFull(mesh))
    os << ":(" << pre << ')' << size;
}

int64_t tp::getSize(ArrayRef<AxisRef> axes) {
  int64_t size = 1;
  for (const AxisRef &axis : axes)
    size *= axis.size;
  return size;
}

void tp::appendMerged(AxisList &axes, AxisRef axis) {
  if (axis.size == 1)
    return;
  if (!axes.empty() && axes.back().canMerge(axis))
    axes.back() = axes.back().merge(axis);
  else
    axes.push_back(axis);
}

AxisList tp::getCommonPrefix(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  AxisList prefix;
  size_t i = 0;
  for (; i < a.size() && i < b.size() && a[i] == b[i]; ++i)
    prefix.push_back(a[i]);
  if (i < a.size() && i < b.size() && a[i].axis == b[i].axis &&
      a[i].pre == b[i].pre) {
    int64_t common = std::gcd(a[i].size, b[i].size);
    // The smaller sub-axis must be a prefix of the larger one. If it is not,
    // the two cut the axis in incompatible ways.
    if (common == std::min(a[i].size, b[i].size))
      prefix.push_back({a[i].axis, a[i].pre, common});
  }
  return prefix;
}

AxisList tp::dropPrefix(ArrayRef<AxisRef> list, ArrayRef<AxisRef> prefix) {
  AxisList rest;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i >= prefix.size())
      rest.push_back(list[i]);
    else if (list[i] != prefix[i])
      rest.push_back(
          {list[i].axis, prefix[i].end(), list[i].size / prefix[i].size});
  }
  return rest;
}

std::optional<AxisList> tp::dropSuffix(ArrayRef<AxisRef> list,
                                       ArrayRef<AxisRef> suffix) {
  AxisList rest(list.begin(), list.end());
  for (const AxisRef &axis : llvm::reverse(suffix)) {
    if (axis.size == 1)
      continue;
    if (rest.empty())
      return std::nullopt;
    AxisRef &last = rest.back();
    if (!last.contains(axis) || last.end() != axis.end())
      return std::nullopt;
    last.size = axis.pre / last.pre;
    if (last.size == 1)
      rest.pop_back();
  }
  return rest;
}

AxisList tp::getMerged(ArrayRef<AxisRef> axes) {
  AxisList sorted(axes.begin(), axes.end()), merged;
  llvm::sort(sorted);
  for (const AxisRef &axis : sorted)
    appendMerged(merged, axis);
  return merged;
}

std::optional<AxisList> tp::subtract(ArrayRef<AxisRef> axes,
                                     ArrayRef<AxisRef> part) {
  AxisList rest(axes.begin(), axes.end());
  for (const AxisRef &axis : part) {
    if (axis.size == 1)
      continue;
    auto whole = llvm::find_if(
        rest, [&](const AxisRef &other) { return other.contains(axis); });
    if (whole == rest.end())
      return std::nullopt;
    AxisRef before = {axis.axis, whole->pre, axis.pre / whole->pre};
    AxisRef after = {axis.axis, axis.end(), whole->end() / axis.end()};
    *whole = before;
    rest.insert(std::next(whole), after);
  }
  return getMerged(rest);
}

bool tp::overlap(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  return llvm::any_of(a, [&](const AxisRef &x) {
    return llvm::any_of(b, [&](const AxisRef &y) { return x.overlaps(y); });
  });
}

int64_t tp::getPosition(const Mesh &mesh, ArrayRef<AxisRef> axes,
                        int64_t number) {
  SmallVector<int64_t> coordinates = mesh.getCoordinates(number);
  int64_t position = 0;
  for (const AxisRef &ref : axes) {
    int64_t post = mesh.axes[ref.axis].size / ref.end();
    position = position * ref.size + coordinates[ref.axis] / post % ref.size;
  }
  return position;
}

SmallVector<SmallVector<int64_t>> tp::getGroups(const Mesh &mesh,
                                                ArrayRef<AxisRef> axes) {
  // A group is identified by its leader: the device whose coordinates along
  // `axes` are all zero.
  int64_t size = getSize(axes);
  SmallVector<SmallVector<int64_t>> groups;
  SmallVector<int64_t> groupOf(mesh.getNumDevices(), -1);
  for (int64_t device = 0, n = mesh.getNumDevices(); device < n; ++device) {
    SmallVector<int64_t> leader = mesh.getCoordinates(device);
    for (const AxisRef &ref : axes) {
      int64_t post = mesh.axes[ref.axis].size / ref.end();
      leader[ref.axis] -= leader[ref.axis] / post % ref.size * post;
    }
    int64_t &group = groupOf[mesh.getNumber(leader)];
    if (group < 0) {
      group = groups.size();
      groups.emplace_back(size);
    }
    groups[group][getPosition(mesh, axes, device)] = device;
  }
  return groups;
}

void tp::printAxes(llvm::raw_ostream &os, const Mesh &mesh,
                   ArrayRef<AxisRef> axes, bool quoted) {
  os << '{';
  llvm::interleaveComma(
      axes, os, [&](const AxisRef &axis) { axis.print(os, mesh, quoted); });
  os << '}';
}
