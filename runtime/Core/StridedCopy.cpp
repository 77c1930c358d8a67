// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/StridedCopy.h"

#include "absl/container/inlined_vector.h"

#include <algorithm>
#include <type_traits>

using namespace tprt;

namespace {

struct Dim {
  int64_t size, to, from;
};
using Dims = absl::InlinedVector<Dim, 8>;

/// Data is copied in square tiles of this many elements on each side. A tile of
/// the source and one of the destination fit in the first-level cache together,
/// however far apart the rows are.
constexpr int64_t kTile = 32;

} // namespace

/// Returns the dimensions without those of size 1, with the largest destination
/// stride first. Neighbouring dimensions are merged if both views can go
/// through them with a single stride.
static Dims normalise(absl::Span<const int64_t> sizes,
                      absl::Span<const int64_t> to,
                      absl::Span<const int64_t> from) {
  Dims dims;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1)
      dims.push_back({sizes[i], to[i], from[i]});
  std::sort(dims.begin(), dims.end(), [](const Dim &a, const Dim &b) {
    return std::make_pair(a.to, a.from) > std::make_pair(b.to, b.from);
  });
  Dims merged;
  for (const Dim &dim : dims) {
    if (!merged.empty() && merged.back().to == dim.size * dim.to &&
        merged.back().from == dim.size * dim.from)
      merged.back() = {merged.back().size * dim.size, dim.to, dim.from};
    else
      merged.push_back(dim);
  }
  return merged;
}

/// Calls plane(toOffset, fromOffset) for all indices of `outer`.
template <typename Plane>
static void forEachPlane(absl::Span<const Dim> outer, int64_t to, int64_t from,
                         Plane plane) {
  if (outer.empty())
    return plane(to, from);
  for (int64_t i = 0; i < outer[0].size; ++i)
    forEachPlane(outer.subspan(1), to + i * outer[0].to,
                 from + i * outer[0].from, plane);
}

template <typename To, typename From> static To convert(From value) {
  if constexpr (std::is_same_v<To, From>)
    return value;
  else
    return To(static_cast<float>(value));
}

/// Loads element `index`. The contents of a file may be unaligned.
template <typename T> static T load(const char *from, int64_t index) {
  T value;
  std::memcpy(&value, from + index * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

template <typename To, typename From>
static void copyPlane(To *to, const char *from, Dim rows, Dim columns) {
  if (columns.to == 1 && columns.from == 1) {
    for (int64_t i = 0; i < rows.size; ++i) {
      To *target = to + i * rows.to;
      const char *source =
          from + i * rows.from * static_cast<int64_t>(sizeof(From));
      if constexpr (std::is_same_v<To, From>)
        std::memcpy(target, source, columns.size * sizeof(To));
      else
        for (int64_t j = 0; j < columns.size; ++j)
          target[j] = convert<To>(load<From>(source, j));
    }
    return;
  }
  for (int64_t i0 = 0; i0 < rows.size; i0 += kTile)
    for (int64_t j0 = 0; j0 < columns.size; j0 += kTile)
      for (int64_t i = i0, iEnd = std::min(i0 + kTile, rows.size); i < iEnd;
           ++i)
        for (int64_t j = j0, jEnd = std::min(j0 + kTile, columns.size);
             j < jEnd; ++j)
          to[i * rows.to + j * columns.to] =
              convert<To>(load<From>(from, i * rows.from + j * columns.from));
}

template <typename To, typename From>
static void copyTyped(char *to, const char *from, Dims dims) {
  // The plane consists of the dimension that is contiguous in the destination
  // and, of the others, the one with the smallest source stride.
  Dim columns{1, 1, 1}, rows{1, 1, 1};
  if (!dims.empty()) {
    columns = dims.back();
    dims.pop_back();
  }
  if (!dims.empty()) {
    auto best = std::min_element(
        dims.begin(), dims.end(),
        [](const Dim &a, const Dim &b) { return a.from < b.from; });
    rows = *best;
    dims.erase(best);
  }
  forEachPlane(dims, 0, 0, [&](int64_t toOffset, int64_t fromOffset) {
    copyPlane<To, From>(reinterpret_cast<To *>(to) + toOffset,
                        from + fromOffset * static_cast<int64_t>(sizeof(From)),
                        rows, columns);
  });
}

template <typename To>
static void copyFromFloat(DType fromType, char *to, const char *from,
                          Dims dims) {
  switch (fromType) {
  case DType::F64:
    copyTyped<To, double>(to, from, std::move(dims));
    return;
  case DType::F32:
    copyTyped<To, float>(to, from, std::move(dims));
    return;
  case DType::BF16:
    copyTyped<To, BFloat16>(to, from, std::move(dims));
    return;
  case DType::F8E4M3FN:
    copyTyped<To, Float8E4M3FN>(to, from, std::move(dims));
    return;
  case DType::F8E5M2:
    copyTyped<To, Float8E5M2>(to, from, std::move(dims));
    return;
  default:
    copyTyped<To, Float16>(to, from, std::move(dims));
  }
}

/// Calls body with a value of the unsigned integer type that has this many
/// bytes.
template <typename Body> static void withInteger(int64_t size, Body body) {
  switch (size) {
  case 1:
    return body(uint8_t());
  case 2:
    return body(uint16_t());
  case 4:
    return body(uint32_t());
  default:
    return body(uint64_t());
  }
}

bool tprt::canConvert(DType from, DType to) {
  return from == to || (isFloat(from) && isFloat(to));
}

void tprt::copyStrided(DType toType, char *to,
                       absl::Span<const int64_t> toStrides, DType fromType,
                       const char *from, absl::Span<const int64_t> fromStrides,
                       absl::Span<const int64_t> sizes) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
    return;
  Dims dims = normalise(sizes, toStrides, fromStrides);
  if (toType == fromType)
    return withInteger(getSize(toType), [&](auto element) {
      copyTyped<decltype(element), decltype(element)>(to, from, dims);
    });
  switch (toType) {
  case DType::F64:
    copyFromFloat<double>(fromType, to, from, std::move(dims));
    return;
  case DType::F32:
    copyFromFloat<float>(fromType, to, from, std::move(dims));
    return;
  case DType::BF16:
    copyFromFloat<BFloat16>(fromType, to, from, std::move(dims));
    return;
  case DType::F8E4M3FN:
    copyFromFloat<Float8E4M3FN>(fromType, to, from, std::move(dims));
    return;
  case DType::F8E5M2:
    copyFromFloat<Float8E5M2>(fromType, to, from, std::move(dims));
    return;
  default:
    copyFromFloat<Float16>(fromType, to, from, std::move(dims));
  }
}

void tprt::fillStrided(DType type, char *to, absl::Span<const int64_t> strides,
                       absl::Span<const int64_t> sizes, uint64_t pattern) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
    return;
  Dims dims = normalise(sizes, strides, strides);
  Dim inner{1, 1, 1};
  if (!dims.empty()) {
    inner = dims.back();
    dims.pop_back();
  }
  withInteger(getSize(type), [&](auto element) {
    using Element = decltype(element);
    forEachPlane(dims, 0, 0, [&](int64_t offset, int64_t) {
      Element *row = reinterpret_cast<Element *>(to) + offset;
      for (int64_t i = 0; i < inner.size; ++i)
        row[i * inner.to] = static_cast<Element>(pattern);
    });
  });
}
