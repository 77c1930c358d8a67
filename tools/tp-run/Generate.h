// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Continues a prompt, token by token.
///
/// The program has two entries that share their weights and cache by name:
///
///     prefill(tokens [1, S], length, ..) -> logits [1, V] or [1, S, V], ..
///     decode(token [1, 1], position, ..) -> logits [1, V], ..
///
/// `length` says how many of the S tokens belong to the prompt; `position` is
/// the index of `token` in the sequence, counted from 0. Ids are integers of
/// any width. The logits are the output `logits`, or else the first output that
/// is not a cache.

#ifndef TPRUN_GENERATE_H
#define TPRUN_GENERATE_H

#include "Options.h"
#include "runtime/Core/Session.h"

#include <cstdio>

namespace tprun {

/// Returns the new tokens. If `prints`, also prints them as they come,
/// separated by commas, and then times to stderr.
absl::StatusOr<std::vector<int64_t>>
generate(tprt::Session &session, const Options &options, bool prints);

} // namespace tprun

#endif // TPRUN_GENERATE_H
