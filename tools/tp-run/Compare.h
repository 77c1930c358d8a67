// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Decides whether two tensors differ by more than rounding explains.
///
/// A sharded program rounds in different places from the whole program, and
/// adds in a different order. The effect on an output depends on the program: a
/// loss keeps seven digits, while a gradient that should be zero keeps none. So
/// the whole program is run again a few times with different rounding errors
/// (see Reference.h). These runs are called draws. The spread of an element is
/// the largest distance between its value in a draw and the expected value,
/// which the first run gives. The spread of a tensor is the third quartile of
/// the spreads of its elements. For each element, let
///
///     d be its difference from the expected value,
///     s the larger of its spread and the tensor's spread,
///     m the largest finite magnitude in the expected tensor, and
///     u an ulp of the expected value.
///
/// The element
///
///     is fine        if d <= min(8 s, 1e-2 m) + 2 u
///     is undecided   if d is larger, but d <= 8 s + 2 u: rounding explains d,
///                    but it would explain a real error of this size, too
///     is wrong       otherwise
///
/// For narrow types, a real error may be below 8 s. So differences must also be
/// small on average: their root mean square may be at most 4 times that of the
/// draws, plus an ulp.
///
/// Integers and truth values must be equal, except where a draw has a different
/// value.

#ifndef TPRUN_COMPARE_H
#define TPRUN_COMPARE_H

#include "runtime/Core/DType.h"

#include "absl/types/span.h"

#include <string>

namespace tprun {

enum class Verdict : uint8_t { Fine, Undecided, Wrong, OnlyNaN };

struct Comparison {
  /// Undecided if at least half of the elements are undecided and none is
  /// wrong.
  Verdict verdict = Verdict::Fine;
  int64_t elements = 0, undecided = 0;
  // For floats, the element whose difference is the largest fraction of what is
  // allowed.
  int64_t place = 0; ///< In row-major order.
  double difference = 0, spread = 0, allowed = 0;
  /// True if `difference` is the root mean square over all elements.
  bool isMean = false;
};

/// Compares two tensors of the same type and size. `draws` are results like
/// `wanted`, but with other rounding errors. NaN equals NaN, and an infinity
/// equals itself; their difference from any other value is infinite.
Comparison compare(tprt::DType dtype, absl::string_view got,
                   absl::string_view wanted,
                   absl::Span<const absl::string_view> draws);

/// Describes a comparison in a line for the user.
std::string describe(const Comparison &comparison, tprt::DType dtype);

} // namespace tprun

#endif // TPRUN_COMPARE_H
