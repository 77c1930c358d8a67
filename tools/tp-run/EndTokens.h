// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The tokens after which a text is complete.
///
/// A checkpoint lists them in a file next to its weights: `eos_token_id` of
/// generation_config.json, else of config.json, is a token id, a list of them,
/// or null. `--end_token=2,7` overrides this, and `--end_token=none` means that
/// no token ends a text.

#ifndef TPRUN_ENDTOKENS_H
#define TPRUN_ENDTOKENS_H

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tprun {

struct EndTokens {
  std::vector<int64_t> ids; ///< Sorted.
  std::string source;       ///< `--end_token`, or the name of a file.

  bool contains(int64_t token) const;
  /// Returns the end tokens as text, for example `2,7`, or `none`.
  std::string str() const;
};

/// Returns the end tokens in `option`, the value of --end_token. If that is
/// empty, reads them from the checkpoint's folder: `weights` itself, or the
/// folder that contains the file `weights`. Returns none if `weights` is empty
/// or the folder lists no end tokens.
absl::StatusOr<EndTokens> readEndTokens(const std::string &option,
                                        const std::string &weights);

} // namespace tprun

#endif // TPRUN_ENDTOKENS_H
