// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From logits to a token.

#ifndef TPRUN_SAMPLING_H
#define TPRUN_SAMPLING_H

#include "absl/types/span.h"

#include <cstdint>

namespace tprun {

/// The index of the largest logit, or with a temperature above 0 one drawn from
/// softmax(logits / temperature) by `random`. All ranks draw the same.
int64_t sample(absl::Span<const double> logits, double temperature,
               uint64_t random);

} // namespace tprun

#endif // TPRUN_SAMPLING_H
