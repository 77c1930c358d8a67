// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Compare.h"

#include "Numbers.h"

#include <cmath>
#include <limits>

using namespace tprt;

double tprun::getTolerance(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return 1e-11;
  case DType::F32:
    return 1e-4;
  case DType::F16:
    return 1e-2;
  case DType::BF16:
    return 5e-2;
  case DType::F8E4M3FN:
    return 0.25;
  case DType::F8E5M2:
    return 0.5;
  default:
    return 0;
  }
}

tprun::Difference tprun::compare(DType dtype, absl::string_view got,
                                 absl::string_view wanted) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> a = decode(dtype, got), b = decode(dtype, wanted);
  int64_t size = getSize(dtype);
  Difference difference;
  double largest = 0;
  difference.isAllNaN = !b.empty();
  for (size_t i = 0; i < b.size(); ++i) {
    difference.isAllNaN &= std::isnan(a[i]) && std::isnan(b[i]);
    if (std::isfinite(b[i]))
      largest = std::max(largest, std::abs(b[i]));
    // As bytes: a double does not hold every 64-bit integer.
    bool isSame = got.substr(i * size, size) == wanted.substr(i * size, size) ||
                  (std::isnan(a[i]) && std::isnan(b[i]));
    if (isSame)
      continue;
    double apart = std::abs(a[i] - b[i]);
    if (std::isnan(apart))
      apart = infinity;
    else if (!isFloat(dtype))
      apart = std::max(apart, 1.0);
    if (apart > difference.absolute) {
      difference.absolute = apart;
      difference.place = static_cast<int64_t>(i);
    }
  }
  if (difference.absolute > 0)
    difference.relative =
        largest > 0 ? difference.absolute / largest : infinity;
  return difference;
}
