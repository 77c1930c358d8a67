// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sampling.h"

#include "runtime/Core/Hash.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

using namespace tprt;

namespace {
/// Elements in memory, which may be unaligned.
template <typename T> struct Logits {
  const char *begin;
  size_t count;

  /// The type in which elements are compared.
  using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;

  Number get(size_t i) const {
    T value;
    std::memcpy(&value, begin + i * sizeof(T), sizeof(T));
    return static_cast<Number>(value);
  }

  /// Returns the index of the first of the largest elements. Sixteen maxima are
  /// kept in parallel, so that no comparison waits for the previous one.
  size_t findLargest() const {
    std::array<Number, 16> largest;
    largest.fill(get(0));
    size_t i = 0;
    for (; i + largest.size() <= count; i += largest.size())
      for (size_t lane = 0; lane < largest.size(); ++lane)
        largest[lane] = std::max(largest[lane], get(i + lane));
    for (; i < count; ++i)
      largest[0] = std::max(largest[0], get(i));
    Number wanted = *std::max_element(largest.begin(), largest.end());
    for (i = 0; i < count; ++i)
      if (get(i) == wanted)
        return i;
    return 0; // all are NaN
  }
};
} // namespace

template <typename T>
static int64_t sampleOf(absl::string_view bytes, double temperature,
                        uint64_t random) {
  Logits<T> logits = {bytes.data(), bytes.size() / sizeof(T)};
  size_t best = logits.findLargest();
  if (temperature == 0)
    return static_cast<int64_t>(best);
  double largest = logits.get(best);
  double total = 0;
  std::vector<double> weights;
  weights.reserve(logits.count);
  for (size_t i = 0; i < logits.count; ++i) {
    weights.push_back(std::exp((logits.get(i) - largest) / temperature));
    total += weights.back();
  }
  double left = static_cast<double>(mix(random) >> 11) * 0x1p-53 * total;
  for (size_t i = 0; i < weights.size(); ++i)
    if ((left -= weights[i]) < 0)
      return static_cast<int64_t>(i);
  return static_cast<int64_t>(best); // nothing was chosen due to rounding
}

int64_t tprun::sample(DType dtype, absl::string_view logits, double temperature,
                      uint64_t random) {
  auto of = [&](auto type) {
    return sampleOf<decltype(type)>(logits, temperature, random);
  };
  switch (dtype) {
  case DType::F64:
    return of(double());
  case DType::BF16:
    return of(BFloat16());
  case DType::F16:
    return of(Float16());
  case DType::F8E4M3FN:
    return of(Float8E4M3FN());
  case DType::F8E5M2:
    return of(Float8E5M2());
  default: // no other float type remains
    return of(float());
  }
}
