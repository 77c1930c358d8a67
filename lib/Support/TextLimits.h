// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Rejects program text that would crash MLIR's parser.
///
/// Untrusted text is checked before it is parsed, for input that would end the
/// process:
///
/// 1. Nested brackets. Parser, verifier and printer are recursive; some 3000
///    nested regions use up 8 MB of stack. `"a.b"() ({` written 201 times
///    exceeds kMaxNesting in the last region, as `(` and `{` are two brackets.
///    Brackets in strings and comments do not count, nor do arrows and
///    comparisons. An unmatched closing bracket is left to the parser. Programs
///    that compilers write are nested less than 30 deep.
/// 2. Consecutive signs, `- - - d0`, for the same reason.
/// 3. Result numbers. For `%0#2147483647` the parser allocates all results
///    before that one. A valid number is less than the length of the text,
///    since an operation writes a type for each of its results.
/// 4. Arrays of `index`. For `array<index: 1>` the parser asks for the width of
///    the type, which ends the process. Aliases are not looked up, so
///    `array<!a: 1>` is rejected as well.

#ifndef TPOPT_SUPPORT_TEXTLIMITS_H
#define TPOPT_SUPPORT_TEXTLIMITS_H

#include "tpopt/Support/ErrorCodes.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tp {

/// The limit for nested brackets, and for consecutive signs such as `- - -`.
inline constexpr unsigned kMaxNesting = 400;

/// Where a text exceeds a limit: DeepNesting, ResultNumber or ArrayElement.
/// Line and column count from 1.
struct TextExcess {
  ErrorCode code;
  unsigned line, column;
};

/// The first place in the text that exceeds a limit, if there is any.
std::optional<TextExcess> findExcess(llvm::StringRef text);

} // namespace tp

#endif // TPOPT_SUPPORT_TEXTLIMITS_H
