// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Element types as the runtime stores them, and conversion of narrow
/// floats in software, so that rounding is the same with every compiler and
/// CPU.

#ifndef TPRT_CORE_DTYPE_H
#define TPRT_CORE_DTYPE_H

#include "absl/strings/string_view.h"

#include <cstdint>
#include <cstring>

namespace tprt {

/// The values are part of the artifact format and of the C ABI: append only.
enum class DType : uint32_t {
#define TPRT_DTYPE(enumerator, number, bytes, mlir, safetensors, c)            \
  enumerator = number,
#include "runtime/Core/ArtifactEnums.def"
};
inline constexpr uint32_t kNumDTypes = 0
#define TPRT_DTYPE(enumerator, number, bytes, mlir, safetensors, c) +1
#include "runtime/Core/ArtifactEnums.def"
    ;

/// Returns the bytes of one element.
inline int64_t getSize(DType type) {
  constexpr uint8_t sizes[kNumDTypes] = {
#define TPRT_DTYPE(enumerator, number, bytes, mlir, safetensors, c) bytes,
#include "runtime/Core/ArtifactEnums.def"
  };
  return sizes[static_cast<uint32_t>(type)];
}

/// Returns MLIR's spelling, such as `f32` or `ui8`.
inline absl::string_view getName(DType type) {
  constexpr absl::string_view names[kNumDTypes] = {
#define TPRT_DTYPE(enumerator, number, bytes, mlir, safetensors, c) mlir,
#include "runtime/Core/ArtifactEnums.def"
  };
  return names[static_cast<uint32_t>(type)];
}

inline bool isFloat(DType type) {
  return type <= DType::F16 || type >= DType::F8E4M3FN;
}

inline float bitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint32_t floatToBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// The narrow float types: storage, with conversion from and to float that
/// rounds to nearest, ties to even; NaNs become quiet.
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t f = floatToBits(value);
    if ((f & 0x7fffffff) > 0x7f800000)
      bits = static_cast<uint16_t>(f >> 16 | 0x40);
    else
      bits = static_cast<uint16_t>((f + 0x7fff + (f >> 16 & 1)) >> 16);
  }
  explicit operator float() const { return bitsToFloat(uint32_t{bits} << 16); }
};

struct Float16 {
  uint16_t bits;
  Float16() = default;
  explicit Float16(float value) {
    uint32_t f = floatToBits(value);
    uint32_t sign = f >> 16 & 0x8000;
    f &= 0x7fffffff;
    uint32_t half;
    if (f > 0x7f800000) {
      half = 0x7e00;
    } else if (f >= 0x47800000) {
      half = 0x7c00;
    } else if (f < 0x38800000) {
      // Below 2^-14, f16 numbers are multiples of 2^-24: adding 0.5 leaves
      // exactly these multiples in the mantissa, with the CPU's rounding.
      half = floatToBits(bitsToFloat(f) + 0.5f) - floatToBits(0.5f);
    } else {
      half = (f - 0x38000000 + 0xfff + (f >> 13 & 1)) >> 13;
    }
    bits = static_cast<uint16_t>(sign | half);
  }
  explicit operator float() const {
    uint32_t sign = uint32_t{bits} << 16 & 0x80000000;
    uint32_t rest = bits & 0x7fff;
    if (rest >= 0x7c00)
      return bitsToFloat(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x400)
      return bitsToFloat(sign | ((rest << 13) + 0x38000000));
    float small = static_cast<float>(rest) * 0x1p-24f;
    return sign ? -small : small;
  }
};

/// f8E4M3FN, which has no infinities, and f8E5M2, which is f16 with a shorter
/// mantissa.
template <int mantissa, int bias, bool isFinite> struct Float8 {
  uint8_t bits;
  Float8() = default;
  explicit Float8(float value) {
    uint32_t f = floatToBits(value), sign = f >> 24 & 0x80, rest;
    f &= 0x7fffffff;
    // Numbers below the smallest normal one are rounded as in Float16.
    constexpr auto magic = static_cast<float>(1 << 24) /
                           static_cast<float>(uint64_t{1} << (bias + mantissa));
    constexpr int dropped = 23 - mantissa;
    if (f < uint32_t{128 - bias} << 23) {
      rest = floatToBits(bitsToFloat(f) + magic) - floatToBits(magic);
    } else {
      uint32_t moved = f - (uint32_t{127 - bias} << 23);
      rest = (moved + (1u << (dropped - 1)) - 1 + (moved >> dropped & 1)) >>
             dropped;
    }
    if (isFinite)
      rest = rest > 0x7e ? 0x7f : rest;
    else
      rest = f > 0x7f800000 ? 0x7e : rest > 0x7c ? 0x7c : rest;
    bits = static_cast<uint8_t>(sign | rest);
  }
  explicit operator float() const {
    uint32_t sign = uint32_t{bits} << 24 & 0x80000000, rest = bits & 0x7f;
    uint32_t number = (rest << (23 - mantissa)) + (uint32_t{127 - bias} << 23);
    if (rest > (isFinite ? 0x7e : 0x7c))
      number = 0x7fc00000;
    else if (!isFinite && rest == 0x7c)
      number = 0x7f800000;
    else if (rest < 1 << mantissa)
      number = floatToBits(static_cast<float>(rest) /
                           static_cast<float>(1 << (bias + mantissa - 1)));
    return bitsToFloat(sign | number);
  }
};
using Float8E4M3FN = Float8<3, 7, true>;
using Float8E5M2 = Float8<2, 15, false>;

} // namespace tprt

#endif // TPRT_CORE_DTYPE_H
