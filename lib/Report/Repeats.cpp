// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Report/Repeats.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tp;

RepeatedName::RepeatedName(llvm::StringRef name) {
  // The first word that is a number.
  for (size_t at = 0; at < name.size();) {
    llvm::StringRef word =
        name.substr(at).take_until([](char c) { return c == '.' || c == '/'; });
    int number;
    if (llvm::all_of(word, llvm::isDigit) && !word.getAsInteger(10, number)) {
      before = name.take_front(at).str();
      after = name.substr(at + word.size()).str();
      first = last = number;
      return;
    }
    at += word.size() + 1;
  }
  before = name.str();
}

bool RepeatedName::add(const RepeatedName &other) {
  if (!first || !other.first || before != other.before || after != other.after)
    return false;
  last = other.last;
  ++count;
  return true;
}

std::string RepeatedName::str() const {
  if (!first)
    return before;
  std::string text = before + std::to_string(*first);
  if (count > 1)
    text += ".." + std::to_string(*last);
  text += after;
  if (count > 1 && size_t(*last - *first) + 1 != count)
    text += " (" + std::to_string(count) + " of them)";
  return text;
}
