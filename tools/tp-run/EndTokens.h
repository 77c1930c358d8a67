// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file After which tokens a text is complete.
///
/// A checkpoint says so beside its weights: `eos_token_id` of
/// generation_config.json, else of config.json, is a token id, a list of them,
/// or null. `--end_token=2,7` says otherwise, and `--end_token=none` that there
/// is none.

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
  /// `2,7`, or `none`.
  std::string str() const;
};

/// What `option` says, the value of --end_token; if it is empty, what stands
/// beside the safetensors file or in the folder `weights`, if anything does.
absl::StatusOr<EndTokens> readEndTokens(const std::string &option,
                                        const std::string &weights);

} // namespace tprun

#endif // TPRUN_ENDTOKENS_H
