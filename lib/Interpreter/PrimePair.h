// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Numbers for which exp(a + b) = exp(a) exp(b), exactly.
///
/// A softmax in parts (online softmax, flash attention, ring attention) scales
/// its partial result by exp(old maximum - new maximum). That is correct by the
/// rule above, which no random function obeys. The rule holds for exp(x) = g^x,
/// where exponents are taken modulo the order q of g. So a number is a pair of
/// its residues modulo p and modulo q, with q dividing p - 1 (the
/// representation of Mirage, OSDI 2025).
///
///     uint64_t x = PrimePair::fromSigned(3), y = PrimePair::fromSigned(-1);
///     PrimePair::multiply(PrimePair::exp(0, x), PrimePair::exp(0, y));
///     PrimePair::exp(0, PrimePair::add(x, y)); // the same modulo p
///
/// A power of g has no meaningful residue modulo q: that residue is open, and
/// so is that of any number computed from it. Open numbers are compared modulo
/// p alone, and their exp is a random function again.
///
/// Both primes fit into half a word: q = 2^31 - 105 and p = 2 q + 1. So a false
/// equation of degree d passes a check with a probability of about d / 2^32;
/// for a lower probability, use several keys. No function here fails.

#ifndef TPOPT_INTERPRETER_PRIMEPAIR_H
#define TPOPT_INTERPRETER_PRIMEPAIR_H

#include "lib/Support/Random.h"

#include <cstdint>

namespace tp::interp {

struct PrimePair {
  static constexpr uint64_t kOrder = (uint64_t(1) << 31) - 105;
  static constexpr uint64_t kPrime = 2 * kOrder + 1;
  /// The exclusive upper bound of the codes of numbers.
  static constexpr uint64_t kEnd = kPrime << 32;
  /// The largest magnitude that is treated as an integer. Larger numbers are
  /// treated as random.
  static constexpr int64_t kLargestInteger = int64_t(1) << 20;

  static constexpr uint64_t add(uint64_t a, uint64_t b) {
    return make((getBase(a) + getBase(b)) % kPrime,
                isOpen(a) || isOpen(b)
                    ? kOpen
                    : (getExponent(a) + getExponent(b)) % kOrder);
  }
  static constexpr uint64_t negate(uint64_t a) {
    return make((kPrime - getBase(a)) % kPrime,
                isOpen(a) ? kOpen : (kOrder - getExponent(a)) % kOrder);
  }
  static constexpr uint64_t multiply(uint64_t a, uint64_t b) {
    uint64_t exponent = kOpen;
    if (a == 0 || b == 0)
      exponent = 0; // 0 times any number
    else if (!isOpen(a) && !isOpen(b))
      exponent = getExponent(a) * getExponent(b) % kOrder;
    return make(getBase(a) * getBase(b) % kPrime, exponent);
  }
  /// Returns the inverse of `a`, by Fermat's little theorem. Its residue modulo
  /// q is open (undefined) if that of `a` is open or 0.
  static constexpr uint64_t inverse(uint64_t a) {
    return make(power(getBase(a), kPrime - 2, kPrime),
                isOpen(a) || getExponent(a) == 0
                    ? kOpen
                    : power(getExponent(a), kOrder - 2, kOrder));
  }

  static constexpr uint64_t fromUnsigned(uint64_t value) {
    return make(value % kPrime, value % kOrder);
  }
  static constexpr uint64_t fromSigned(int64_t value) {
    return value < 0 ? negate(fromUnsigned(-uint64_t(value)))
                     : fromUnsigned(value);
  }
  /// The number nearest to zero with this residue modulo p.
  static constexpr int64_t toSigned(uint64_t a) {
    uint64_t base = getBase(a);
    return base > kPrime / 2 ? -int64_t(kPrime - base) : int64_t(base);
  }
  /// m * 2^exponent.
  static constexpr uint64_t scale(uint64_t m, int64_t exponent) {
    uint64_t two = exponent < 0 ? inverse(fromUnsigned(2)) : fromUnsigned(2);
    for (uint64_t n = exponent < 0 ? -exponent : exponent; n != 0; n >>= 1) {
      if (n & 1)
        m = multiply(m, two);
      two = multiply(two, two);
    }
    return m;
  }

  static constexpr bool isZero(uint64_t a) { return getBase(a) == 0; }
  static constexpr bool isEqual(uint64_t a, uint64_t b) {
    return getBase(a) == getBase(b) && (isOpen(a) || isOpen(b) || a == b);
  }
  /// Returns g^a, whose residue modulo q is open (undefined). If `a` is open,
  /// returns a random number instead.
  static constexpr uint64_t exp(uint64_t key, uint64_t a) {
    return isOpen(a) ? draw(key, a)
                     : make(power(kGenerator, getExponent(a), kPrime), kOpen);
  }
  /// A random function of up to two arguments modulo p, selected by the key.
  static constexpr uint64_t draw(uint64_t key, uint64_t a, uint64_t b = 0) {
    uint64_t word = scramble(scramble(scramble(key) ^ getBase(a)) + getBase(b));
    return make(word % kPrime, scramble(word) % kOrder);
  }

private:
  static constexpr uint64_t kOpen = 0xffffffff;
  static constexpr uint64_t kGenerator = 4; ///< A square, hence of order q.

  static constexpr uint64_t make(uint64_t base, uint64_t exponent) {
    return base << 32 | exponent;
  }
  static constexpr uint64_t getBase(uint64_t a) { return a >> 32; }
  static constexpr uint64_t getExponent(uint64_t a) { return a & 0xffffffff; }
  static constexpr bool isOpen(uint64_t a) { return getExponent(a) == kOpen; }
  static constexpr uint64_t power(uint64_t base, uint64_t exponent,
                                  uint64_t modulus) {
    uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
      if (exponent & 1)
        result = result * base % modulus;
      base = base * base % modulus;
    }
    return result;
  }
};

} // namespace tp::interp

#endif // TPOPT_INTERPRETER_PRIMEPAIR_H
