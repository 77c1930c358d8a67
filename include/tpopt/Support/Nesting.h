// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How deep the brackets of a program's text are nested.
///
/// MLIR's parser, verifier and printer call themselves for what stands inside
/// of brackets: some 3000 regions in one another end a process with 8 MB of
/// stack. Text that somebody else wrote is looked at before it is parsed:
///
///     "a.b"() ({ "a.b"() ({ "a.b"() ({  ..
///
/// reaches kMaxNesting in its 201st region, whose `(` and `{` are two brackets.
/// Brackets in strings and comments do not count, nor do arrows and
/// comparisons; a closing bracket that fits nothing is left to the parser.
/// Programs that compilers write stay below 30.

#ifndef TPOPT_SUPPORT_NESTING_H
#define TPOPT_SUPPORT_NESTING_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace tp {

inline constexpr unsigned kMaxNesting = 400;

/// Line and column, both from 1.
struct TextPosition {
  unsigned line = 1, column = 1;
};

/// The first bracket of `text` with kMaxNesting others around it.
std::optional<TextPosition> findDeepNesting(llvm::StringRef text);

} // namespace tp

#endif // TPOPT_SUPPORT_NESTING_H
