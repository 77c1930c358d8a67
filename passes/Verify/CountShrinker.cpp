// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CountShrinker.h"

using namespace tp;

static const AxisRef *findLargest(const AxisList &axes) {
  return llvm::max_element(
      axes, [](const auto &a, const auto &b) { return a.size < b.size; });
}

int64_t CountShrinker::getGrain(const AxisList &cutting, int64_t least) {
  int64_t grain = 1;
  for (const AxisRef &axis : cutting)
    if (&axis != findLargest(cutting))
      grain *= std::min(axis.size, least);
  return grain;
}

void CountShrinker::resize(const AxisList &cutting, int64_t least,
                           int64_t devices) {
  bool keeps = devices == tp::getSize(cutting);
  for (const AxisRef &axis : cutting)
    axes[axis.axis] = keeps ? axis.size
                      : &axis == findLargest(cutting)
                          ? devices / getGrain(cutting, least)
                          : std::min(axis.size, least);
}
