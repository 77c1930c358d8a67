// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Arithmetic modulo the Mersenne prime p = 2^61 - 1.
///
/// In a field, sums and products are exact and may be taken in any order, and
/// every number but zero has an inverse. Two expressions that are equal by the
/// rules of arithmetic are equal here bit by bit; two different polynomials of
/// degree d agree at a random point with probability at most d / p (Schwartz
/// and Zippel). This allows checks without a tolerance.
///
///     uint64_t third = PrimeField::inverse(3);
///     PrimeField::multiply(third, 3);                 // 1
///     PrimeField::toSigned(PrimeField::subtract(2, 5)); // -3
///
/// The form of the prime makes reduction a shift and an addition, since 2^61 is
/// congruent to 1. So multiplying by a power of two is a rotation, and a
/// floating-point number m * 2^e is exactly one residue. Numbers are kept in
/// [0, p). No function here fails.

#ifndef TPOPT_INTERPRETER_PRIMEFIELD_H
#define TPOPT_INTERPRETER_PRIMEFIELD_H

#include "lib/Support/Random.h"

#include <cstdint>

namespace tp::interp {

struct PrimeField {
  static constexpr uint64_t kPrime = (uint64_t(1) << 61) - 1;

  /// The exclusive upper bound of the field's numbers.
  static constexpr uint64_t kEnd = kPrime;
  /// The largest magnitude that is treated as an integer. Larger numbers are
  /// treated as random.
  static constexpr int64_t kLargestInteger = int64_t(1) << 40;

  __extension__ using Wide = unsigned __int128;

  /// The residue of any number below 2^122.
  static constexpr uint64_t reduce(Wide value) {
    uint64_t sum = uint64_t(value & kPrime) + uint64_t(value >> 61);
    sum = (sum & kPrime) + (sum >> 61);
    return sum >= kPrime ? sum - kPrime : sum;
  }
  static constexpr uint64_t add(uint64_t a, uint64_t b) {
    uint64_t sum = a + b;
    return sum >= kPrime ? sum - kPrime : sum;
  }
  static constexpr uint64_t negate(uint64_t a) {
    return a == 0 ? 0 : kPrime - a;
  }
  static constexpr uint64_t subtract(uint64_t a, uint64_t b) {
    return add(a, negate(b));
  }
  static constexpr uint64_t multiply(uint64_t a, uint64_t b) {
    return reduce(Wide(a) * b);
  }
  static constexpr uint64_t power(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
      if (exponent & 1)
        result = multiply(result, base);
      base = multiply(base, base);
    }
    return result;
  }
  /// The inverse of `a` (Fermat); 0 for 0.
  static constexpr uint64_t inverse(uint64_t a) { return power(a, kPrime - 2); }

  static constexpr uint64_t fromUnsigned(uint64_t value) {
    return reduce(value);
  }
  static constexpr uint64_t fromSigned(int64_t value) {
    return value < 0 ? negate(reduce(-uint64_t(value))) : reduce(value);
  }
  /// The number nearest to zero with this residue: from -(p-1)/2 to (p-1)/2.
  static constexpr int64_t toSigned(uint64_t a) {
    return a > kPrime / 2 ? -int64_t(kPrime - a) : int64_t(a);
  }
  /// m * 2^exponent.
  static constexpr uint64_t scale(uint64_t m, int64_t exponent) {
    int64_t shift = exponent % 61;
    return multiply(m, uint64_t(1) << (shift < 0 ? shift + 61 : shift));
  }

  static constexpr bool isZero(uint64_t a) { return a == 0; }
  static constexpr bool isEqual(uint64_t a, uint64_t b) { return a == b; }
  /// A random function, used instead of exp, because this field has none with
  /// exp(a + b) = exp(a) exp(b).
  static constexpr uint64_t exp(uint64_t key, uint64_t a) {
    return draw(key, a);
  }

  /// A random function of up to two arguments, selected by the key.
  static constexpr uint64_t draw(uint64_t key, uint64_t a, uint64_t b = 0) {
    return reduce(scramble(scramble(scramble(key) ^ a) + b));
  }
};

} // namespace tp::interp

#endif // TPOPT_INTERPRETER_PRIMEFIELD_H
