// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Follows brackets as MLIR's lexer would meet them.

#include "tpopt/Support/Nesting.h"

#include "llvm/ADT/SmallVector.h"

using llvm::StringRef;
using namespace tp;

/// The last character of the string literal that begins at `begin`.
static size_t skipString(StringRef text, size_t begin) {
  size_t i = begin + 1;
  // A literal ends with its line: the quote that is missing is an error.
  while (i < text.size() && text[i] != '"' && text[i] != '\n')
    i += text[i] == '\\' ? 2 : 1;
  return i < text.size() && text[i] == '\n' ? i - 1 : i;
}

static TextPosition getPosition(StringRef text, size_t at) {
  StringRef before = text.take_front(at);
  size_t line = before.rfind('\n');
  return {unsigned(before.count('\n') + 1),
          unsigned(at - (line == StringRef::npos ? 0 : line + 1) + 1)};
}

std::optional<TextPosition> tp::findDeepNesting(StringRef text) {
  if (text.starts_with("ML\xefR")) // bytecode
    return std::nullopt;
  llvm::SmallVector<char, kMaxNesting> open;
  // `<` is a bracket or not, so it never holds one of the others open.
  auto close = [&](char bracket) {
    size_t depth = open.size();
    while (depth > 0 && open[depth - 1] == '<' && bracket != '<')
      --depth;
    if (depth > 0 && open[depth - 1] == bracket)
      open.resize(depth - 1);
  };
  auto next = [&](size_t i) { return i + 1 < text.size() ? text[i + 1] : 0; };
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '"':
      i = skipString(text, i);
      break;
    case '/':
      if (next(i) == '/')
        i = std::min(text.find('\n', i), text.size());
      break;
    case '-':
      i += next(i) == '>';
      break;
    case '<':
    case '>':
      if (next(i) == '=') {
        ++i;
        break;
      }
      if (text[i] == '>') {
        close('<');
        break;
      }
      [[fallthrough]];
    case '(':
    case '[':
    case '{':
      if (open.size() == kMaxNesting)
        return getPosition(text, i);
      open.push_back(text[i]);
      break;
    case ')':
      close('(');
      break;
    case ']':
      close('[');
      break;
    case '}':
      close('{');
      break;
    default:
      break;
    }
  }
  return std::nullopt;
}
