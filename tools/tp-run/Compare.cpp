// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Compare.h"

#include "Numbers.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tprt;
using namespace tprun;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// The spread of an element is how far other rounding errors move it. An
/// element may differ by kSpreads spreads, and all elements on average by
/// kMeanSpreads.
static constexpr double kSpreads = 8, kMeanSpreads = 4;
static constexpr double kUlps = 2;
/// No element may differ by more than this fraction of the tensor's largest
/// number.
static constexpr double kMostAllowed = 1e-2;
/// With fewer elements than this, a mean is not meaningful.
static constexpr size_t kLeastForMean = 16;

namespace {
/// The precision of a float type in bits, and the smallest exponent of a normal
/// number.
struct Format {
  int precision, minExponent;
};

/// Compares a tensor of floats with the expected tensor. The draws are the
/// results of runs that have other rounding errors.
class Floats {
public:
  Floats(DType dtype, absl::string_view got, absl::string_view wanted,
         absl::Span<const absl::string_view> draws);

  Comparison compare();

private:
  double getUlp(double value) const;
  double getDifference(size_t i) const;
  void findSpreads(DType dtype, absl::Span<const absl::string_view> draws);
  /// Compares element i.
  Comparison compareElement(size_t i) const;
  bool isFarOnAverage(Comparison &result) const;

  const Format format;
  const std::vector<double> got, wanted;
  std::vector<double> spreads;
  double largest = 0;      ///< The largest finite magnitude in `wanted`.
  double squares = 0;      ///< Sum of squared differences, averaged over draws.
  double pooledSpread = 0; ///< 75% of the elements have a smaller spread.
};
} // namespace

static Format getFormat(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return {53, -1022};
  case DType::F16:
    return {11, -14};
  case DType::BF16:
    return {8, -126};
  case DType::F8E4M3FN:
    return {4, -6};
  case DType::F8E5M2:
    return {3, -14};
  default:
    return {24, -126};
  }
}

/// Returns the absolute difference of two floats: 0 for two NaNs, infinity for
/// a NaN and a number.
static double getDistance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  double apart = std::abs(a - b);
  return std::isnan(apart) ? kInfinity : apart;
}

Floats::Floats(DType dtype, absl::string_view got, absl::string_view wanted,
               absl::Span<const absl::string_view> draws)
    : format(getFormat(dtype)), got(decode(dtype, got)),
      wanted(decode(dtype, wanted)), spreads(this->wanted.size()) {
  for (double value : this->wanted)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  findSpreads(dtype, draws);
}

void Floats::findSpreads(DType dtype,
                         absl::Span<const absl::string_view> draws) {
  for (absl::string_view bytes : draws) {
    std::vector<double> draw = decode(dtype, bytes);
    for (size_t i = 0; i < draw.size(); ++i) {
      double distance = getDistance(draw[i], wanted[i]);
      spreads[i] = std::max(spreads[i], distance);
      if (std::isfinite(distance))
        squares += distance * distance / static_cast<double>(draws.size());
    }
  }
  std::vector<double> sorted = spreads;
  auto place = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() * 3 / 4);
  if (place == sorted.end())
    return;
  std::nth_element(sorted.begin(), place, sorted.end());
  pooledSpread = *place;
}

/// Returns the distance to the next number of the type. For subnormal numbers,
/// returns the distance for the smallest normal number, as compiled code may
/// flush subnormal numbers to zero.
double Floats::getUlp(double value) const {
  int exponent = value == 0 || !std::isfinite(value) ? format.minExponent
                                                     : std::ilogb(value);
  return exponent <= format.minExponent
             ? std::ldexp(1.0, format.minExponent)
             : std::ldexp(1.0, exponent - format.precision + 1);
}

double Floats::getDifference(size_t i) const {
  return getDistance(got[i], wanted[i]);
}

Comparison Floats::compareElement(size_t i) const {
  Comparison result;
  result.place = static_cast<int64_t>(i);
  result.difference = getDifference(i);
  result.spread = std::max(spreads[i], pooledSpread);
  double moved = kSpreads * result.spread, ulps = kUlps * getUlp(wanted[i]);
  result.allowed = std::min(moved, kMostAllowed * largest) + ulps;
  if (result.difference <= result.allowed)
    result.verdict = Verdict::Fine;
  else if (result.difference <= moved + ulps)
    result.verdict = Verdict::Undecided;
  else
    result.verdict = Verdict::Wrong;
  return result;
}

/// Returns true if the differences are too large on average, and then describes
/// them in `result`.
bool Floats::isFarOnAverage(Comparison &result) const {
  double differences = 0, ulps = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    double difference = getDifference(i), ulp = getUlp(wanted[i]);
    if (!std::isfinite(difference))
      continue;
    differences += difference * difference;
    ulps += ulp * ulp;
  }
  auto count = static_cast<double>(wanted.size());
  double difference = std::sqrt(differences / count);
  double spread = std::sqrt(squares / count);
  double allowed = kMeanSpreads * spread + std::sqrt(ulps / count);
  if (wanted.size() < kLeastForMean || difference <= allowed)
    return false;
  result.isMean = true;
  result.difference = difference;
  result.spread = spread;
  result.allowed = allowed;
  return true;
}

Comparison Floats::compare() {
  Comparison result;
  double most = -1; // the largest fraction of what is allowed
  bool isOnlyNaN = !wanted.empty();
  int64_t undecided = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    isOnlyNaN &= std::isnan(got[i]) && std::isnan(wanted[i]);
    Comparison element = compareElement(i);
    undecided += element.verdict == Verdict::Undecided;
    double part = element.difference / element.allowed;
    bool isWorse =
        element.verdict == Verdict::Wrong && result.verdict != Verdict::Wrong;
    bool isBetter =
        element.verdict != Verdict::Wrong && result.verdict == Verdict::Wrong;
    if (isWorse || (!isBetter && part > most)) {
      most = part;
      result = element;
    }
  }
  result.elements = static_cast<int64_t>(wanted.size());
  result.undecided = undecided;
  if (result.verdict == Verdict::Wrong)
    return result;
  result.verdict = 2 * undecided >= std::max<int64_t>(result.elements, 1)
                       ? Verdict::Undecided
                       : Verdict::Fine;
  if (isOnlyNaN)
    result.verdict = Verdict::OnlyNaN;
  else if (isFarOnAverage(result))
    result.verdict = Verdict::Wrong;
  return result;
}

/// Compares integers and truth values as bytes, since a double does not hold
/// every 64-bit integer.
static Comparison compareExactly(int64_t size, absl::string_view got,
                                 absl::string_view wanted,
                                 absl::Span<const absl::string_view> draws) {
  Comparison result;
  result.elements = static_cast<int64_t>(wanted.size()) / size;
  for (int64_t i = 0; i < result.elements; ++i) {
    absl::string_view element = wanted.substr(i * size, size);
    if (got.substr(i * size, size) == element)
      continue;
    bool moves =
        std::any_of(draws.begin(), draws.end(), [&](absl::string_view draw) {
          return draw.substr(i * size, size) != element;
        });
    result.undecided += moves;
    if (moves)
      continue;
    if (result.difference == 0)
      result.place = i;
    ++result.difference;
    result.verdict = Verdict::Wrong;
  }
  if (result.verdict == Verdict::Fine && result.undecided > 0 &&
      2 * result.undecided >= result.elements)
    result.verdict = Verdict::Undecided;
  return result;
}

Comparison tprun::compare(DType dtype, absl::string_view got,
                          absl::string_view wanted,
                          absl::Span<const absl::string_view> draws) {
  return isFloat(dtype) ? Floats(dtype, got, wanted, draws).compare()
                        : compareExactly(getSize(dtype), got, wanted, draws);
}

static std::string describeDifference(const Comparison &comparison,
                                      DType dtype) {
  if (!isFloat(dtype))
    return comparison.verdict == Verdict::Wrong
               ? absl::StrFormat("%g of %d differ, the first at element %d, "
                                 "but rounding cannot change any of these",
                                 comparison.difference, comparison.elements,
                                 comparison.place)
               : "equal where rounding cannot change the value";
  if (comparison.isMean)
    return absl::StrFormat(
        "differs by %.3g on average, %.3g allowed (%g x the %.3g by which "
        "rounding changes it, and an ulp of %s)",
        comparison.difference, comparison.allowed, kMeanSpreads,
        comparison.spread, getName(dtype));
  bool isCapped = comparison.allowed < kSpreads * comparison.spread;
  std::string source =
      isCapped
          ? absl::StrFormat("%g of the largest element, because rounding "
                            "changes it by %.3g, and %g ulps of %s",
                            kMostAllowed, comparison.spread, kUlps,
                            getName(dtype))
          : absl::StrFormat(
                "%g x the %.3g by which rounding changes it, and %g ulps of %s",
                kSpreads, comparison.spread, kUlps, getName(dtype));
  return absl::StrFormat("differs by %.3g at element %d, %.3g allowed (%s)",
                         comparison.difference, comparison.place,
                         comparison.allowed, source);
}

std::string tprun::describe(const Comparison &comparison, DType dtype) {
  std::string text = describeDifference(comparison, dtype);
  switch (comparison.verdict) {
  case Verdict::Wrong:
    return absl::StrCat(text, ": WRONG");
  case Verdict::OnlyNaN:
    return "all elements are NaN, so nothing is checked";
  case Verdict::Undecided:
    return absl::StrFormat("%s: undecided, because rounding alone can explain "
                           "the differences of %d of %d elements",
                           text, comparison.undecided, comparison.elements);
  case Verdict::Fine:
    break;
  }
  if (comparison.undecided == 0)
    return absl::StrCat(text, ": ok");
  return absl::StrFormat("%s: ok, but %d of %d elements are undecided", text,
                         comparison.undecided, comparison.elements);
}
