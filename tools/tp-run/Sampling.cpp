// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sampling.h"

#include "runtime/Core/Hash.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace tprt;

int64_t tprun::sample(absl::Span<const double> logits, double temperature,
                      uint64_t random) {
  auto best = std::max_element(logits.begin(), logits.end());
  if (temperature == 0)
    return best - logits.begin();
  double total = 0;
  std::vector<double> weights;
  for (double logit : logits) {
    weights.push_back(std::exp((logit - *best) / temperature));
    total += weights.back();
  }
  double left = static_cast<double>(mix(random) >> 11) * 0x1p-53 * total;
  for (size_t i = 0; i < weights.size(); ++i)
    if ((left -= weights[i]) < 0)
      return static_cast<int64_t>(i);
  return best - logits.begin(); // rounding has eaten the last of it
}
