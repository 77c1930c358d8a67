// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Sha256.h"

#include "absl/strings/escaping.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

static constexpr uint32_t kRounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int by) { return x >> by | x << (32 - by); }

void Sha256::addBlock(const unsigned char *block) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 |
           uint32_t{block[4 * i + 2]} << 8 | uint32_t{block[4 * i + 3]};
  for (int i = 16; i < 64; ++i)
    w[i] = w[i - 16] + w[i - 7] +
           (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) +
           (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
  std::array<uint32_t, 8> s = state;
  for (int i = 0; i < 64; ++i) {
    uint32_t first = s[7] + kRounds[i] + w[i] +
                     ((s[4] & s[5]) ^ (~s[4] & s[6])) +
                     (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25));
    uint32_t second = ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2])) +
                      (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22));
    s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
  }
  for (int i = 0; i < 8; ++i)
    state[i] += s[i];
}

void Sha256::add(absl::string_view bytes) {
  while (!bytes.empty()) {
    size_t at = total % pending.size();
    size_t count = std::min(bytes.size(), pending.size() - at);
    std::memcpy(&pending[at], bytes.data(), count);
    total += count;
    bytes.remove_prefix(count);
    if (total % pending.size() == 0)
      addBlock(pending.data());
  }
}

static std::string toBigEndian(uint64_t value, int size) {
  std::string bytes;
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8)
    bytes += static_cast<char>(value >> shift);
  return bytes;
}

void Sha256::addPiece(absl::string_view bytes) {
  add(toBigEndian(bytes.size(), 8));
  add(bytes);
}

std::string Sha256::finish() {
  std::string length = toBigEndian(8 * total, 8);
  add("\x80");
  while (total % pending.size() != pending.size() - length.size())
    add(absl::string_view("\0", 1));
  add(length);
  std::string digest;
  for (uint32_t word : state)
    digest += toBigEndian(word, 4);
  return absl::BytesToHexString(digest);
}
