// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What is done to arguments before the flags library reads them.

#ifndef TPRUN_ARGUMENTS_H
#define TPRUN_ARGUMENTS_H

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <string>
#include <utility>
#include <vector>

namespace tprun {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// Reads `--link-us` as `--link_us`: the flags library knows underscores alone.
void spellWithUnderscores(absl::Span<char *const> arguments);

/// Takes every --input NAME=VALUE out of the arguments: the flags library keeps
/// only the last of a repeated flag.
absl::StatusOr<NamedTexts> takeInputs(std::vector<char *> &arguments);

/// Refuses flags without a value, which a shell makes of a variable that is not
/// set: they would mean the same as no flag.
absl::Status refuseEmpty(absl::Span<char *const> arguments);

/// Refuses flags that do not exist, and says what to write.
absl::Status refuseUnknown(absl::Span<char *const> arguments);

} // namespace tprun

#endif // TPRUN_ARGUMENTS_H
