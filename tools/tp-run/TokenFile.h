// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A file of tokens, in the formats of tools that train language models.

#ifndef TPRUN_TOKENFILE_H
#define TPRUN_TOKENFILE_H

#include "runtime/Core/Safetensors.h"

#include <string>

namespace tprun {

/// Reads the tokens of a file into a one-dimensional tensor of u16 or u32:
///
///     bytes 0..3 are 20240520   llm.c's header, then 16 bits each
///     bytes 0..3 are 20240801   the same with 32 bits each
///     anything else             16 bits each from the first byte on
///
/// llm.c's header is 256 numbers of 32 bits: the one above, a version, the
/// count of tokens, and 253 that are not used.
absl::StatusOr<tprt::TensorReader> openTokenFile(const std::string &path);

} // namespace tprun

#endif // TPRUN_TOKENFILE_H
