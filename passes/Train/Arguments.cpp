// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Arguments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace tp;

/// Splits `text` at the commas outside of parentheses.
static SmallVector<StringRef> splitArguments(StringRef text) {
  SmallVector<StringRef> parts;
  while (!text.trim().empty()) {
    int depth = 0;
    size_t end = 0;
    for (; end < text.size() && (depth > 0 || text[end] != ','); ++end)
      depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    parts.push_back(text.take_front(end).trim());
    text = text.drop_front(std::min(end + 1, text.size()));
  }
  return parts;
}

static bool isWord(StringRef text) {
  return !text.empty() && llvm::all_of(text, [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '-';
  });
}

std::optional<double> tp::parseNumber(StringRef text) {
  double number;
  if (text.trim().getAsDouble(number, /*AllowInexact=*/true) ||
      !std::isfinite(number))
    return std::nullopt;
  return number;
}

FailureOr<Arguments> Arguments::parse(StringRef text, StringRef what,
                                      ErrorCode code, Location loc) {
  Arguments parsed(what, code, loc);
  text = text.trim();
  StringRef name = text.take_until([](char c) { return c == '('; });
  StringRef rest = text.drop_front(name.size());
  bool hasParentheses = rest.consume_front("(") && rest.consume_back(")");
  name = name.trim();
  parsed.name = name.str();
  if (!isWord(name) || (name.size() != text.size() && !hasParentheses))
    return parsed.complain()
           << "'" << text << "' cannot be read: expects a name and "
           << "its arguments, name(key=value,key=value)";
  for (StringRef argument : splitArguments(rest)) {
    auto [key, value] = argument.split('=');
    key = key.trim();
    if (!isWord(key) || value.trim().empty())
      return parsed.complain() << "'" << argument << "' is not an argument of '"
                               << name << "': write key=value";
    if (parsed.has(key))
      return parsed.complain()
             << "'" << key << "' is given twice: write it once";
    parsed.arguments.emplace_back(key, value.trim());
  }
  return parsed;
}

InFlightDiagnostic Arguments::complain() {
  isWrong = true;
  InFlightDiagnostic diagnostic = mlir::emitError(loc) << prefix(code);
  diagnostic << what << "=: ";
  return diagnostic;
}

bool Arguments::has(StringRef key) const {
  return llvm::any_of(arguments,
                      [&](const auto &entry) { return entry.first == key; });
}

const std::string *Arguments::find(StringRef key) {
  known.push_back(key.str());
  for (auto &[name, value] : arguments)
    if (name == key)
      return isWrong ? nullptr : &value;
  return nullptr;
}

void Arguments::fail(StringRef key, StringRef text, const Twine &expected) {
  complain() << "argument '" << key << "=" << text << "' of '" << name
             << "' is not valid: " << expected.str();
}

double Arguments::getNumber(StringRef key, double fallback,
                            const NumberRange &range) {
  const std::string *text = find(key);
  if (!text)
    return fallback;
  std::optional<double> number = parseNumber(*text);
  if (number && range.contains(*number))
    return *number;
  fail(key, *text, "write a number " + range.words);
  return fallback;
}

std::optional<int64_t> Arguments::getSteps(StringRef key) {
  const std::string *text = find(key);
  if (!text)
    return std::nullopt;
  // The step counter is an i32.
  int64_t count;
  if (!StringRef(*text).getAsInteger(10, count) && count >= 0 &&
      count <= std::numeric_limits<int32_t>::max())
    return count;
  fail(key, *text, "write a number of steps, at most 2147483647");
  return std::nullopt;
}

std::pair<double, double> Arguments::getPair(StringRef key,
                                             std::pair<double, double> fallback,
                                             const NumberRange &range) {
  const std::string *text = find(key);
  if (!text)
    return fallback;
  StringRef inside = *text;
  if (inside.consume_front("(") && inside.consume_back(")")) {
    auto [first, second] = inside.split(',');
    std::optional<double> a = parseNumber(first), b = parseNumber(second);
    if (a && b && range.contains(*a) && range.contains(*b))
      return {*a, *b};
  }
  std::string example;
  llvm::raw_string_ostream(example)
      << key << "=(" << llvm::format("%g,%g", fallback.first, fallback.second)
      << ")";
  fail(key, *text, "write two numbers " + range.words + ", as in " + example);
  return fallback;
}

bool Arguments::getFlag(StringRef key) {
  const std::string *text = find(key);
  if (!text || *text == "false")
    return false;
  if (*text != "true")
    fail(key, *text, "write true or false");
  return true;
}

LogicalResult Arguments::finish() {
  if (isWrong)
    return failure();
  for (auto &[key, value] : arguments) {
    if (llvm::is_contained(known, key))
      continue;
    InFlightDiagnostic diagnostic = complain();
    diagnostic << "'" << name << "' has no argument '" << key << "': ";
    if (known.empty())
      return diagnostic << "it takes no arguments";
    return diagnostic << "write one of " << llvm::join(known, ", ");
  }
  return success();
}
