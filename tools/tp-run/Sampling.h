// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Chooses a token, given logits.

#ifndef TPRUN_SAMPLING_H
#define TPRUN_SAMPLING_H

#include "runtime/Core/DType.h"

#include "absl/strings/string_view.h"

namespace tprun {

/// Returns a token. At temperature 0, it is the index of the largest logit. At
/// temperatures above 0, `random` draws it from the distribution
/// softmax(logits / temperature). All ranks draw the same token. Logits are
/// floats of the given type, used without conversion: for a large vocabulary,
/// converting them would take as long as some of the model's layers.
int64_t sample(tprt::DType dtype, absl::string_view logits, double temperature,
               uint64_t random);

} // namespace tprun

#endif // TPRUN_SAMPLING_H
