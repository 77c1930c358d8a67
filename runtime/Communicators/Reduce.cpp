// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Communicators/Reduce.h"

#include <algorithm>
#include <type_traits>

using namespace tprt;

namespace {

/// The number of elements accumulated at a time: they stay in the first-level
/// cache, and the result is written only when all sources have been read.
constexpr int64_t kBlock = 1024;

} // namespace

template <Reduction reduction, typename T> static T combine(T a, T b) {
  if constexpr (reduction == Reduction::Sum) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) +
                            static_cast<uint64_t>(b)); // wraps: never undefined
    else
      return a + b;
  } else if constexpr (reduction == Reduction::Max) {
    return a > b || a != a ? a : b;
  } else {
    return a < b || a != a ? a : b;
  }
}

template <typename T, typename Accumulator, Reduction reduction>
static void reduceTyped(absl::Span<const char *const> sources, int64_t count,
                        char *to) {
  Accumulator block[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    int64_t size = std::min(kBlock, count - begin);
    const T *first = reinterpret_cast<const T *>(sources[0]) + begin;
    for (int64_t i = 0; i < size; ++i)
      block[i] = static_cast<Accumulator>(first[i]);
    for (const char *source : sources.subspan(1)) {
      const T *next = reinterpret_cast<const T *>(source) + begin;
      for (int64_t i = 0; i < size; ++i)
        block[i] =
            combine<reduction>(block[i], static_cast<Accumulator>(next[i]));
    }
    T *result = reinterpret_cast<T *>(to) + begin;
    for (int64_t i = 0; i < size; ++i)
      result[i] = static_cast<T>(block[i]);
  }
}

template <typename T, typename Accumulator = T>
static void reduceAs(Reduction reduction, absl::Span<const char *const> sources,
                     int64_t count, char *to) {
  switch (reduction) {
  case Reduction::None:
    return;
  case Reduction::Sum:
    return reduceTyped<T, Accumulator, Reduction::Sum>(sources, count, to);
  case Reduction::Max:
    return reduceTyped<T, Accumulator, Reduction::Max>(sources, count, to);
  case Reduction::Min:
    return reduceTyped<T, Accumulator, Reduction::Min>(sources, count, to);
  }
}

namespace {

/// A truth value: the sum of several is their "or", so it stays 0 or 1.
struct Truth {
  uint8_t value;
  Truth() = default;
  explicit Truth(uint32_t number) : value(number != 0) {}
  explicit operator uint32_t() const { return value != 0; }
};

} // namespace

void tprt::reduceInOrder(DType dtype, Reduction reduction,
                         absl::Span<const char *const> sources, int64_t count,
                         char *to) {
  switch (dtype) {
  case DType::F64:
    return reduceAs<double>(reduction, sources, count, to);
  case DType::F32:
    return reduceAs<float>(reduction, sources, count, to);
  case DType::BF16:
    return reduceAs<BFloat16, float>(reduction, sources, count, to);
  case DType::F16:
    return reduceAs<Float16, float>(reduction, sources, count, to);
  case DType::I64:
    return reduceAs<int64_t>(reduction, sources, count, to);
  case DType::I32:
    return reduceAs<int32_t>(reduction, sources, count, to);
  case DType::I16:
    return reduceAs<int16_t>(reduction, sources, count, to);
  case DType::I8:
    return reduceAs<int8_t>(reduction, sources, count, to);
  case DType::U64:
    return reduceAs<uint64_t>(reduction, sources, count, to);
  case DType::U32:
    return reduceAs<uint32_t>(reduction, sources, count, to);
  case DType::U16:
    return reduceAs<uint16_t>(reduction, sources, count, to);
  case DType::U8:
    return reduceAs<uint8_t>(reduction, sources, count, to);
  case DType::Bool:
    return reduceAs<Truth, uint32_t>(reduction, sources, count, to);
  case DType::F8E4M3FN:
  case DType::F8E5M2:
    return; // refused by the artifact's verifier
  }
}
