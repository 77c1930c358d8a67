// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Preparation of arguments before the flags library parses them.

#ifndef TPRUN_ARGUMENTS_H
#define TPRUN_ARGUMENTS_H

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <string>
#include <utility>
#include <vector>

namespace tprun {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// Rewrites `--link-us` to `--link_us`: the flags library only knows
/// underscores.
void spellWithUnderscores(absl::Span<char *const> arguments);

/// Takes every --input NAME=VALUE out of the arguments: the flags library keeps
/// only the last of a repeated flag.
absl::StatusOr<NamedTexts> takeInputs(std::vector<char *> &arguments);

/// Refuses flags with an empty value, which result from unset shell variables:
/// they would have the same effect as leaving the flag out.
absl::Status refuseEmpty(absl::Span<char *const> arguments);

/// Refuses flags that do not exist, and suggests what to write.
absl::Status refuseUnknown(absl::Span<char *const> arguments);

} // namespace tprun

#endif // TPRUN_ARGUMENTS_H
