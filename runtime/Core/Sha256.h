// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file SHA-256 (FIPS 180-4), for identifying data safely even if someone
/// tries to construct a collision. If only accidental collisions matter, Hash.h
/// is faster.

#ifndef TPRT_CORE_SHA256_H
#define TPRT_CORE_SHA256_H

#include "absl/strings/string_view.h"

#include <array>
#include <cstdint>
#include <string>

namespace tprt {

class Sha256 {
public:
  void add(absl::string_view bytes);
  /// Also adds the length, so that two pieces differ from a single piece with
  /// the same bytes.
  void addPiece(absl::string_view bytes);
  /// Returns the hash in hexadecimal. May be called only once.
  std::string finish();

private:
  void addBlock(const unsigned char *block);

  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                   0xa54ff53a, 0x510e527f, 0x9b05688c,
                                   0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending = {};
  uint64_t total = 0; ///< Bytes so far; the last total % 64 are pending.
};

} // namespace tprt

#endif // TPRT_CORE_SHA256_H
