// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Conversion between elements of any type and doubles.

#ifndef TPRUN_NUMBERS_H
#define TPRUN_NUMBERS_H

#include "runtime/Core/DType.h"

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <string>
#include <vector>

namespace tprun {

/// Converts numbers to an element type and returns the bytes of the elements.
std::string encode(tprt::DType dtype, absl::Span<const double> values);
/// The inverse of `encode`.
std::vector<double> decode(tprt::DType dtype, absl::string_view bytes);
/// Returns each element as text: integers with all digits, floats with nine.
std::vector<std::string> format(tprt::DType dtype, absl::string_view bytes);

} // namespace tprun

#endif // TPRUN_NUMBERS_H
