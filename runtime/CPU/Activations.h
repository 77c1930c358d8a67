// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The arithmetic that kernels of several CPU levels share. Every
/// function is inlined into the file that uses it: a shared copy could be
/// compiled for AVX-512 and then be called on a machine without AVX-512.

#ifndef TPRT_CPU_ACTIVATIONS_H
#define TPRT_CPU_ACTIVATIONS_H

#include <cstdint>

#define TPRT_INLINE static inline __attribute__((always_inline))

namespace tprt {

enum class Activation { Relu, GeluErf, GeluTanh, Silu };

union Bits {
  uint32_t word;
  float number;
};

TPRT_INLINE float toFloat(float value) { return value; }
TPRT_INLINE float toFloat(uint16_t value) {
  Bits bits = {static_cast<uint32_t>(value) << 16};
  return bits.number;
}

/// Returns e^x to about one ulp, without a branch: x = n ln2 + r, with a
/// polynomial for e^r.
TPRT_INLINE float exponential(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  constexpr float rounder = 12582912.0f; // 1.5 * 2^23: leaves n in the low bits
  Bits n = {};
  n.number = x * 1.44269504f + rounder;
  float whole = n.number - rounder;
  float r = x - whole * 0.693359375f + whole * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  Bits power = {(n.word + 127) << 23};
  return p * power.number;
}

/// Returns x times the normal distribution's integral up to x, with erfc from
/// Abramowitz and Stegun 7.1.26.
TPRT_INLINE float geluErf(float x) {
  float z = (x < 0 ? -x : x) * 0.707106781f;
  float t = 1.0f / (1.0f + 0.3275911f * z);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  float tail = 0.5f * p * t * exponential(-z * z);
  return x * (x < 0 ? tail : 1.0f - tail);
}

TPRT_INLINE float geluTanh(float x) {
  float u = 0.797884561f * (x + 0.044715f * x * x * x);
  return x / (1.0f + exponential(-2.0f * u));
}

TPRT_INLINE void applyActivation(Activation kind, float *values,
                                 int64_t count) {
  switch (kind) {
  case Activation::Relu:
    for (int64_t i = 0; i < count; ++i)
      values[i] = values[i] < 0 ? 0 : values[i];
    return;
  case Activation::GeluErf:
    for (int64_t i = 0; i < count; ++i)
      values[i] = geluErf(values[i]);
    return;
  case Activation::GeluTanh:
    for (int64_t i = 0; i < count; ++i)
      values[i] = geluTanh(values[i]);
    return;
  case Activation::Silu:
    for (int64_t i = 0; i < count; ++i)
      values[i] = values[i] / (1.0f + exponential(-values[i]));
    return;
  }
}

} // namespace tprt

#endif // TPRT_CPU_ACTIVATIONS_H
