// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The hash for checksums of artifact sections and for keys of compiled
/// programs. It detects accidental changes, but does not resist malicious ones.

#ifndef TPRT_CORE_HASH_H
#define TPRT_CORE_HASH_H

#include "absl/strings/string_view.h"

#include <cstdint>
#include <cstring>

namespace tprt {

/// A full-avalanche mix of 64 bits (the finaliser of SplitMix64).
inline uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// A 64-bit hash of bytes, the same on every machine. There are four
/// independent lanes, so that multiplications overlap and checking a large
/// constant section takes about as long as reading it.
inline uint64_t hashBytes(absl::string_view bytes, uint64_t seed = 0) {
  constexpr uint64_t prime = 0x9e3779b97f4a7c15;
  uint64_t lanes[4] = {seed + 1, seed + 2, seed + 3, seed + 4};
  const char *p = bytes.data();
  size_t left = bytes.size();
  auto word = [](const char *at) {
    uint64_t value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  };
  for (; left >= 32; left -= 32, p += 32)
    for (size_t lane = 0; lane < 4; ++lane) {
      lanes[lane] = (lanes[lane] ^ word(p + 8 * lane)) * prime;
      lanes[lane] ^= lanes[lane] >> 32;
    }
  char tail[32] = {};
  if (left > 0)
    std::memcpy(tail, p, left);
  uint64_t hash = mix(seed ^ bytes.size() * prime);
  for (size_t lane = 0; lane < 4; ++lane)
    hash = mix(hash ^ lanes[lane]) + mix(hash + word(tail + 8 * lane));
  return hash;
}

} // namespace tprt

#endif // TPRT_CORE_HASH_H
