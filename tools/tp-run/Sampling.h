// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From logits to a token.

#ifndef TPRUN_SAMPLING_H
#define TPRUN_SAMPLING_H

#include "runtime/Core/DType.h"

#include "absl/strings/string_view.h"

namespace tprun {

/// The index of the largest logit, or with a temperature above 0 one drawn from
/// softmax(logits / temperature) by `random`. All ranks draw the same. Logits
/// are floats of the type, as they lie in memory: of a large vocabulary, making
/// others of them would take as long as some of the model's layers.
int64_t sample(tprt::DType dtype, absl::string_view logits, double temperature,
               uint64_t random);

} // namespace tprun

#endif // TPRUN_SAMPLING_H
