// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Shapes.h"

#include <algorithm>
#include <utility>

using namespace tprt;

absl::optional<int64_t> tprt::getNumElements(absl::Span<const int64_t> shape) {
  absl::optional<int64_t> count = 1;
  for (int64_t size : shape) {
    count = checkedMultiply(*count, size);
    if (!count)
      return absl::nullopt;
  }
  return count;
}

std::vector<int64_t> tprt::getStrides(absl::Span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

absl::optional<int64_t> tprt::getExtent(absl::Span<const int64_t> sizes,
                                        absl::Span<const int64_t> strides) {
  int64_t last = 0;
  bool empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || strides[i] < 0)
      return absl::nullopt;
    if (sizes[i] == 0) {
      empty = true;
      continue;
    }
    absl::optional<int64_t> reach = checkedMultiply(sizes[i] - 1, strides[i]);
    if (reach)
      reach = checkedAdd(last, *reach);
    if (!reach || *reach == INT64_MAX)
      return absl::nullopt;
    last = *reach;
  }
  return empty ? 0 : last + 1;
}

bool tprt::isWithoutOverlap(absl::Span<const int64_t> sizes,
                            absl::Span<const int64_t> strides) {
  std::vector<std::pair<int64_t, int64_t>> dims; // strides and sizes
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0)
      return true;
    if (sizes[i] > 1)
      dims.emplace_back(strides[i], sizes[i]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t last = 0; // the largest offset so far
  for (auto [stride, size] : dims) {
    absl::optional<int64_t> reach = checkedMultiply(size - 1, stride);
    if (reach)
      reach = checkedAdd(*reach, last);
    if (stride <= last || !reach)
      return false;
    last = *reach;
  }
  return true;
}

absl::optional<std::vector<ReshapeFactor>>
tprt::factorReshape(absl::Span<const int64_t> from,
                    absl::Span<const int64_t> to) {
  absl::optional<int64_t> count = getNumElements(from);
  if (!count || count != getNumElements(to) || *count == 0)
    return absl::nullopt;
  std::vector<ReshapeFactor> factors;
  size_t i = from.size(), j = to.size();
  int64_t a = 1, b = 1; // the remaining sizes of dimensions i and j
  while (true) {
    while (a == 1 && i > 0)
      a = from[--i];
    while (b == 1 && j > 0)
      b = to[--j];
    if (a == 1 && b == 1)
      break;
    int64_t factor = std::min(a, b);
    if (a % factor != 0 || b % factor != 0)
      return absl::nullopt;
    factors.push_back(
        {factor, static_cast<unsigned>(i), static_cast<unsigned>(j)});
    a /= factor;
    b /= factor;
  }
  std::reverse(factors.begin(), factors.end());
  return factors;
}

std::vector<Box> tprt::splitInterval(int64_t begin, int64_t end,
                                     absl::Span<const int64_t> sizes) {
  if (begin >= end)
    return {};
  if (sizes.empty())
    return {Box()};
  std::vector<Box> boxes;
  int64_t inner = 1;
  for (int64_t size : sizes.subspan(1))
    inner *= size;
  // For each box of `others`, which lack the major dimension, adds the box with
  // rows [first, first + count) of that dimension.
  auto add = [&](int64_t first, int64_t count, std::vector<Box> others) {
    for (Box &box : others) {
      box.start.insert(box.start.begin(), first);
      box.size.insert(box.size.begin(), count);
      boxes.push_back(std::move(box));
    }
  };
  absl::Span<const int64_t> rest = sizes.subspan(1);
  int64_t row = begin / inner;
  if (begin % inner != 0) {
    int64_t stop = std::min(end - row * inner, inner);
    add(row, 1, splitInterval(begin % inner, stop, rest));
    ++row;
  }
  int64_t lastRow = end / inner;
  if (row < lastRow)
    add(row, lastRow - row, splitInterval(0, inner, rest));
  if (row <= lastRow && end % inner != 0)
    add(lastRow, 1, splitInterval(0, end % inner, rest));
  return boxes;
}
