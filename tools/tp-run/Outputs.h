// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What a program has computed, as text and as a file.

#ifndef TPRUN_OUTPUTS_H
#define TPRUN_OUTPUTS_H

#include "runtime/Core/Session.h"

#include "absl/time/time.h"

#include <string>

namespace tprun {

/// Prints each output of an entry: a line with name and type, then its rows.
absl::Status printOutputs(tprt::Session &session, uint32_t entry);

/// Says on stderr that an entry has run, for a user who has asked for nothing
/// that would be seen:
///
///     note: 4 ranks, 1 run of mlp, 0.6 ms, result y tensor<8x512xf32>
void noteRun(const tprt::Session &session, const std::string &entry,
             absl::Duration time);

/// Whether a safetensors file can have a tensor of this name: names are UTF-8,
/// and one of them is the format's own.
bool canName(const std::string &name);

/// Whether the outputs of an entry can be written to a file at `path`, to be
/// asked before it is run. Rank 0 writes, so that no other rank's folders
/// count.
absl::Status checkOutputFile(const tprt::Session &session,
                             const std::string &entry, const std::string &path);

/// Writes the outputs of the entry last run to a safetensors file, each whole,
/// in its own type and under its name, as --input reads it.
absl::Status writeOutputs(tprt::Session &session, uint32_t entry,
                          const std::string &path);

} // namespace tprun

#endif // TPRUN_OUTPUTS_H
