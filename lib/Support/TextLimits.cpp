// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans text by the rules of MLIR's lexer.

#include "lib/Support/TextLimits.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <utility>

using llvm::StringRef;
using namespace tp;

namespace {

class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) {}
  std::optional<TextExcess> run();

private:
  /// Takes the token that begins at `at`, and moves `at` to its last character.
  /// Returns the code of the limit that the token exceeds, if any.
  std::optional<ErrorCode> take();
  std::optional<ErrorCode> open();
  void close(char bracket);
  std::optional<ErrorCode> takeSign();
  std::optional<ErrorCode> takeNumber();
  std::optional<ErrorCode> takeWord();
  void skipString();
  char next() const { return at + 1 < text.size() ? text[at + 1] : '\0'; }

  StringRef text;
  size_t at = 0;
  llvm::SmallVector<char, kMaxNesting> brackets;
  unsigned signs = 0; ///< Consecutive signs.
  /// The kind of the token before `at`, not counting blanks and comments, and
  /// of the token at `at`.
  enum class Place { Elsewhere, Array, ArrayBracket };
  Place before = Place::Elsewhere, here = Place::Elsewhere;
};

} // namespace

/// Goes to the last character of the string literal that begins here.
void Scanner::skipString() {
  size_t i = at + 1;
  // If the quote is missing, the literal ends with its line, and the parser
  // reports an error.
  while (i < text.size() && text[i] != '"' && text[i] != '\n')
    i += text[i] == '\\' ? 2 : 1;
  at = i < text.size() && text[i] == '\n' ? i - 1 : i;
}

std::optional<ErrorCode> Scanner::open() {
  if (brackets.size() == kMaxNesting)
    return ErrorCode::DeepNesting;
  brackets.push_back(text[at]);
  return std::nullopt;
}

void Scanner::close(char bracket) {
  // `<` is not always a bracket, so an unclosed `<` does not keep the brackets
  // around it open.
  size_t depth = brackets.size();
  while (depth > 0 && brackets[depth - 1] == '<' && bracket != '<')
    --depth;
  if (depth > 0 && brackets[depth - 1] == bracket)
    brackets.resize(depth - 1);
}

/// `-`, or an arrow.
std::optional<ErrorCode> Scanner::takeSign() {
  if (next() == '>') {
    ++at;
    signs = 0;
  } else if (++signs > kMaxNesting) {
    return ErrorCode::DeepNesting;
  }
  return std::nullopt;
}

/// The number of a result, if a number follows `#`.
std::optional<ErrorCode> Scanner::takeNumber() {
  StringRef digits = text.drop_front(at + 1).take_while(llvm::isDigit);
  uint64_t number = 0;
  if (!digits.empty() &&
      (digits.getAsInteger(10, number) || number >= text.size()))
    return ErrorCode::ResultNumber;
  at += digits.size();
  return std::nullopt;
}

/// A keyword, or a name after its sigil.
std::optional<ErrorCode> Scanner::takeWord() {
  StringRef word = text.drop_front(at).take_while([](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
  });
  if (word == "index" && before == Place::ArrayBracket)
    return ErrorCode::ArrayElement;
  if (word == "array")
    here = Place::Array;
  at += word.size() - 1;
  return std::nullopt;
}

std::optional<ErrorCode> Scanner::take() {
  char character = text[at];
  if (llvm::isSpace(character))
    return std::nullopt;
  if (character == '/' && next() == '/') {
    at = std::min(text.find('\n', at), text.size());
    return std::nullopt;
  }
  before = std::exchange(here, Place::Elsewhere);
  if (character == '-')
    return takeSign();
  signs = 0;
  if (llvm::isAlpha(character) || character == '_')
    return takeWord();
  switch (character) {
  case '"':
    skipString();
    return std::nullopt;
  case '!':
    if (before == Place::ArrayBracket)
      return ErrorCode::ArrayElement;
    return std::nullopt;
  case '#':
    return takeNumber();
  case '<':
  case '>':
    if (next() == '=') {
      ++at;
      return std::nullopt;
    }
    if (character == '<') {
      if (before == Place::Array)
        here = Place::ArrayBracket;
      return open();
    }
    close('<');
    return std::nullopt;
  case '(':
  case '[':
  case '{':
    return open();
  case ')':
    close('(');
    return std::nullopt;
  case ']':
    close('[');
    return std::nullopt;
  case '}':
    close('{');
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<TextExcess> Scanner::run() {
  for (; at < text.size(); ++at)
    if (std::optional<ErrorCode> code = take()) {
      StringRef before = text.take_front(at);
      size_t line = before.rfind('\n');
      return TextExcess{
          *code, unsigned(before.count('\n') + 1),
          unsigned(at - (line == StringRef::npos ? 0 : line + 1) + 1)};
    }
  return std::nullopt;
}

std::optional<TextExcess> tp::findExcess(StringRef text) {
  if (text.starts_with("ML\xefR")) // bytecode
    return std::nullopt;
  return Scanner(text).run();
}
