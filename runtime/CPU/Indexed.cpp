// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CPU/Indexed.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

using namespace tprt;

/// Below this many elements, more threads cost more than they save.
static constexpr int64_t kMinParallel = 1 << 14;

/// Calls body(part, parts) for each part on the threads of the team, or calls
/// body(0, 1) on this thread if there is little to do.
template <typename Body>
static void runParts(Team &team, int64_t elements, Body body) {
  if (elements < kMinParallel)
    body(0, 1);
  else
    team.run(body);
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

template <ScatterKind kind, typename T> static T combine(T old, T update) {
  if constexpr (kind == ScatterKind::Set) {
    return update;
  } else if constexpr (kind == ScatterKind::Max) {
    return old > update || old != old ? old : update;
  } else if constexpr (kind == ScatterKind::Min) {
    return old < update || old != old ? old : update;
  } else if constexpr (std::is_floating_point_v<T>) {
    return kind == ScatterKind::Add ? old + update : old * update;
  } else {
    // Wraps around, as unsigned arithmetic does.
    uint64_t a = old, b = update;
    return static_cast<T>(kind == ScatterKind::Add ? a + b : a * b);
  }
}

namespace {
/// A truth value in memory. Files may hold any byte, and a C++ bool whose byte
/// is neither 0 nor 1 is undefined behaviour.
class Truth {
public:
  explicit Truth(uint64_t value) : byte(value != 0) {}
  operator uint64_t() const { return byte != 0; }

private:
  uint8_t byte;
};
} // namespace

template <ScatterKind kind, typename T>
static void scatterTyped(const ScatterRow &row, const T *updates,
                         const int64_t *indices, T *destination, Team &team) {
  // No two threads update the same element: each thread has its own slices or
  // columns.
  bool bySlice = row.batch * row.outer >= row.inner;
  int64_t slices = row.batch * row.outer;
  runParts(team, slices * row.count * row.inner, [&](int part, int parts) {
    auto [begin, end] = Team::split(bySlice ? slices : row.inner, part, parts);
    auto [first, last] = bySlice ? std::make_pair(begin, end)
                                 : std::make_pair(int64_t{0}, slices);
    auto [left, right] = bySlice ? std::make_pair(int64_t{0}, row.inner)
                                 : std::make_pair(begin, end);
    for (int64_t slice = first; slice < last; ++slice) {
      int64_t b = slice / row.outer, o = slice % row.outer;
      const int64_t *index = indices + b * row.indexStrides[0];
      const T *from =
          updates + b * row.updateStrides[0] + o * row.updateStrides[1];
      T *to = destination + b * row.strides[0] + o * row.strides[1];
      for (int64_t i = 0; i < row.count; ++i) {
        int64_t place = index[i * row.indexStrides[1]];
        if (place < 0 || place >= row.axis)
          continue;
        const T *update = from + i * row.updateStrides[2];
        T *target = to + place * row.strides[2];
        for (int64_t r = left; r < right; ++r) {
          T &element = target[r * row.strides[3]];
          element = combine<kind>(element, update[r * row.updateStrides[3]]);
        }
      }
    }
  });
}

template <typename T>
static void scatterAs(const ScatterRow &row, const char *updates,
                      const char *indices, char *destination, Team &team) {
  auto call = [&](auto function) {
    function(row, reinterpret_cast<const T *>(updates),
             reinterpret_cast<const int64_t *>(indices),
             reinterpret_cast<T *>(destination), team);
  };
  switch (row.kind) {
  case ScatterKind::Set:
    return call(scatterTyped<ScatterKind::Set, T>);
  case ScatterKind::Add:
    return call(scatterTyped<ScatterKind::Add, T>);
  case ScatterKind::Max:
    return call(scatterTyped<ScatterKind::Max, T>);
  case ScatterKind::Min:
    return call(scatterTyped<ScatterKind::Min, T>);
  case ScatterKind::Mul:
    return call(scatterTyped<ScatterKind::Mul, T>);
  }
}

void tprt::runScatter(const ScatterRow &row, const char *updates,
                      const char *indices, char *destination, Team &team) {
  auto call = [&](auto function) {
    function(row, updates, indices, destination, team);
  };
  switch (row.dtype) {
  case DType::F64:
    return call(scatterAs<double>);
  case DType::F32:
    return call(scatterAs<float>);
  case DType::BF16: // only Set is allowed for these types
  case DType::F16:
  case DType::U16:
    return call(scatterAs<uint16_t>);
  case DType::I64:
    return call(scatterAs<int64_t>);
  case DType::I32:
    return call(scatterAs<int32_t>);
  case DType::I16:
    return call(scatterAs<int16_t>);
  case DType::I8:
    return call(scatterAs<int8_t>);
  case DType::U64:
    return call(scatterAs<uint64_t>);
  case DType::U32:
    return call(scatterAs<uint32_t>);
  case DType::F8E4M3FN:
  case DType::F8E5M2:
  case DType::U8:
    return call(scatterAs<uint8_t>);
  case DType::Bool:
    return call(scatterAs<Truth>);
  }
}

//===----------------------------------------------------------------------===//
// Sorts
//===----------------------------------------------------------------------===//

/// Returns true if `a` comes before `b` in ascending order; NaN comes after all
/// numbers.
template <typename T> static bool isLess(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a < b || (b != b && a == a);
  else
    return a < b;
}

/// Elements are stored as T and compared as Key.
template <typename T, typename Key = T>
static void sortAs(const SortRow &row, const char *source, char *values,
                   char *indices, Team &team) {
  runParts(team, row.rows * row.columns, [&](int part, int parts) {
    auto [begin, end] = Team::split(row.rows, part, parts);
    std::vector<Key> keys(row.columns);
    std::vector<int32_t> order(row.columns);
    for (int64_t i = begin; i < end; ++i) {
      const T *from =
          reinterpret_cast<const T *>(source) + i * row.sourceStrides[0];
      for (int64_t j = 0; j < row.columns; ++j)
        keys[j] = static_cast<Key>(from[j * row.sourceStrides[1]]);
      std::iota(order.begin(), order.end(), 0);
      // Equal elements are ordered by position. This makes the order total, so
      // that any sorting algorithm is stable.
      auto isBefore = [&](int32_t a, int32_t b) {
        Key x = keys[a], y = keys[b];
        if (row.descending)
          std::swap(x, y);
        if (isLess(x, y))
          return true;
        return !isLess(y, x) && a < b;
      };
      if (row.kept == row.columns)
        std::sort(order.begin(), order.end(), isBefore);
      else
        std::partial_sort(order.begin(), order.begin() + row.kept, order.end(),
                          isBefore);
      T *sorted = reinterpret_cast<T *>(values) + i * row.valueStrides[0];
      auto *places =
          reinterpret_cast<int32_t *>(indices) + i * row.indexStrides[0];
      for (int64_t j = 0; j < row.kept; ++j) {
        sorted[j * row.valueStrides[1]] = from[order[j] * row.sourceStrides[1]];
        places[j * row.indexStrides[1]] = order[j];
      }
    }
  });
}

void tprt::runSort(const SortRow &row, const char *source, char *values,
                   char *indices, Team &team) {
  auto call = [&](auto function) {
    function(row, source, values, indices, team);
  };
  switch (row.dtype) {
  case DType::F64:
    return call(sortAs<double>);
  case DType::F32:
    return call(sortAs<float>);
  case DType::BF16:
    return call(sortAs<BFloat16, float>);
  case DType::F16:
    return call(sortAs<Float16, float>);
  case DType::I64:
    return call(sortAs<int64_t>);
  case DType::I32:
    return call(sortAs<int32_t>);
  case DType::I16:
    return call(sortAs<int16_t>);
  case DType::I8:
    return call(sortAs<int8_t>);
  case DType::U64:
    return call(sortAs<uint64_t>);
  case DType::U32:
    return call(sortAs<uint32_t>);
  case DType::U16:
    return call(sortAs<uint16_t>);
  case DType::U8:
  case DType::Bool:
    return call(sortAs<uint8_t>);
  case DType::F8E4M3FN:
  case DType::F8E5M2:
    return; // refused by the artifact's verifier
  }
}
