// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Flags that read as what they do: --tp-report=OUT.json.

#ifndef TPOPT_PASSES_REPORT_LONEVALUE_H
#define TPOPT_PASSES_REPORT_LONEVALUE_H

#include "llvm/ADT/StringExtras.h"

#include <string>

namespace tp {

/// Pass options as text, in which a first word without a key gets `key`:
/// `OUT.json table=false` is `file=OUT.json table=false`.
inline std::string nameLoneValue(llvm::StringRef options, llvm::StringRef key) {
  llvm::StringRef word = options.take_until(llvm::isSpace);
  auto [name, value] = word.split('=');
  // A key is a word of letters and has a value behind it; a path has neither.
  bool isKey = name.size() != word.size() && llvm::all_of(name, llvm::isAlpha);
  return word.empty() || isKey ? options.str() : (key + "=" + options).str();
}

} // namespace tp

#endif // TPOPT_PASSES_REPORT_LONEVALUE_H
