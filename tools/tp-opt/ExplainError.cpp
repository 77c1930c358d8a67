// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExplainError.h"

#include "lib/Report/Summary.h"
#include "tpopt/Support/ErrorCodes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace tp;

namespace {
struct Meaning {
  unsigned number;
  llvm::StringLiteral name, text;
};
struct Example {
  unsigned number;
  llvm::StringLiteral example, remedy;
};
} // namespace

static constexpr Meaning kMeanings[] = {
#define TP_ERROR(number, enumerator, text) {number, #enumerator, text},
#include "tpopt/Support/ErrorCodes.def"
#define TPRT_ERROR(number, enumerator, exit, text) {number, #enumerator, text},
#include "runtime/Core/Errors.def"
};

static constexpr Example kExamples[] = {
#define TP_EXAMPLE(number, kind, example, remedy) {number, example, remedy},
#include "tpopt/Support/ErrorExamples.def"
};

static constexpr const Example *findExample(unsigned number) {
  for (const Example &example : kExamples)
    if (example.number == number)
      return &example;
  return nullptr;
}

static constexpr bool isComplete() {
  for (const Meaning &meaning : kMeanings)
    if (!findExample(meaning.number))
      return false;
  return true;
}
static_assert(isComplete(), "ErrorExamples.def lacks the example of a code");

/// Prints a text line by line; lines of a program keep their indentation.
static void printLines(llvm::raw_ostream &os, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines)
    printWrapped(os, line, /*indent=*/2);
}

static void print(const Meaning &meaning, llvm::raw_ostream &os) {
  os << llvm::format("TP%04u ", meaning.number) << meaning.name << "\n\n";
  printWrapped(os, meaning.text, /*indent=*/2);
  const Example *example = findExample(meaning.number);
  os << "\nfor example\n\n";
  printLines(os, example->example);
  os << "\nwhat to do\n\n";
  printWrapped(os, example->remedy, /*indent=*/2);
}

std::optional<int> tp::explainError(llvm::ArrayRef<const char *> arguments) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    llvm::StringRef text = arguments[i];
    if (!text.consume_front("--explain-error"))
      continue;
    if (text.empty() && i + 1 < arguments.size())
      text = arguments[i + 1];
    text.consume_front("=");
    llvm::StringRef digits = text.trim("[]");
    digits.consume_front_insensitive("TP");
    unsigned number = 0;
    const Meaning *meaning = std::end(kMeanings);
    if (!digits.getAsInteger(10, number))
      meaning = llvm::find_if(kMeanings, [&](const Meaning &candidate) {
        return candidate.number == number;
      });
    if (meaning != std::end(kMeanings)) {
      print(*meaning, llvm::outs());
      return 0;
    }
    llvm::errs() << "error: " << prefix(ErrorCode::BadOption)
                 << "--explain-error=" << text
                 << ": unknown error code; write the code of a message, as in "
                    "--explain-error=TP0202\n";
    return 1;
  }
  return std::nullopt;
}
