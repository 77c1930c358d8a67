// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What a program's text may not ask of MLIR's parser.
///
/// Text that somebody else wrote is looked at before it is parsed, for what
/// ends the process there:
///
/// 1. Brackets in one another. Parser, verifier and printer call themselves for
///    what stands inside; some 3000 regions use up 8 MB of stack. `"a.b"() ({`
///    written 201 times reaches kMaxNesting in the last region, as `(` and `{`
///    are two brackets. Brackets in strings and comments do not count, nor do
///    arrows and comparisons; a closing bracket that fits nothing is left to
///    the parser. Programs that compilers write stay below 30.
/// 2. Signs before one another, `- - - d0`, for the same reason.
/// 3. Numbers of results. For `%0#2147483647` the parser makes room for all
///    results before that one. An operation writes a type for each, so that the
///    text has more characters than any operation in it has results.
/// 4. Arrays of `index`: for `array<index: 1>` the parser asks how wide that
///    is, which ends the process. What an alias in its place stands for is not
///    looked up: `array<!a: 1>` is answered in the same way.

#ifndef TPOPT_SUPPORT_TEXTLIMITS_H
#define TPOPT_SUPPORT_TEXTLIMITS_H

#include "tpopt/Support/ErrorCodes.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tp {

/// Of brackets in one another, and of signs in a row.
inline constexpr unsigned kMaxNesting = 400;

/// Where a text exceeds a limit: DeepNesting, ResultNumber or ArrayElement.
/// Line and column count from 1.
struct TextExcess {
  ErrorCode code;
  unsigned line, column;
};

/// The first one, if there is any.
std::optional<TextExcess> findExcess(llvm::StringRef text);

} // namespace tp

#endif // TPOPT_SUPPORT_TEXTLIMITS_H
