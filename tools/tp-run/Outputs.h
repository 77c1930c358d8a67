// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Outputs of a program, as text and as a file.

#ifndef TPRUN_OUTPUTS_H
#define TPRUN_OUTPUTS_H

#include "runtime/Core/Session.h"

#include "absl/time/time.h"

#include <string>

namespace tprun {

/// Prints each output of an entry: a line with name and type, then its rows.
absl::Status printOutputs(tprt::Session &session, uint32_t entry);

/// Prints a note on stderr that an entry has run, for a user who did not ask
/// for any visible output:
///
///     note: 4 ranks, 1 run of mlp, 0.6 ms, result y tensor<8x512xf32>
void noteRun(const tprt::Session &session, const std::string &entry,
             absl::Duration time);

/// Returns true if this can be the name of a tensor in a safetensors file:
/// names are UTF-8, and the format reserves one name.
bool canName(const std::string &name);

/// Checks, before the entry is run, that its outputs can be written to a file
/// at `path`. Only rank 0 writes, so the folders of other ranks do not matter.
absl::Status checkOutputFile(const tprt::Session &session,
                             const std::string &entry, const std::string &path);

/// Writes the outputs of the entry that ran last to a safetensors file that
/// --input can read. Each output is a whole tensor with its own type and name.
absl::Status writeOutputs(tprt::Session &session, uint32_t entry,
                          const std::string &path);

} // namespace tprun

#endif // TPRUN_OUTPUTS_H
