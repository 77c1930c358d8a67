// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Flags.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

// For --help: what reaches the parser has been moved into --tp-shard.
static llvm::cl::opt<std::string>
    stopAfter("tp-stop-after", llvm::cl::value_desc("stage"),
              llvm::cl::desc("Last stage of --tp-shard to run: import, "
                             "propagate, partition, collectives or localize"));

namespace {
/// A flag and the option it stands for; `bare` is its value if none is given.
struct Sugar {
  StringLiteral flag, option, bare;
};
} // namespace

static constexpr Sugar sugars[] = {
    {"tp-stop-after", "stop-after", ""},
};

/// `--name` or `-name`, without the dashes; empty for anything else.
static StringRef getFlag(StringRef argument) {
  if (!argument.consume_front("-"))
    return {};
  argument.consume_front("-");
  return argument;
}

FailureOr<std::vector<std::string>>
tp::expandFlags(ArrayRef<const char *> arguments) {
  std::vector<std::string> kept;
  std::string options;
  StringRef first;
  for (StringRef argument : arguments) {
    auto [flag, value] = getFlag(argument).split('=');
    const Sugar *match = llvm::find_if(
        sugars, [&](const Sugar &sugar) { return sugar.flag == flag; });
    if (match == std::end(sugars)) {
      kept.push_back(argument.str());
      continue;
    }
    if (first.empty())
      first = match->flag;
    if (value.empty())
      value = match->bare;
    options += (" " + match->option + "=" + value).str();
  }
  if (options.empty())
    return kept;
  for (std::string &argument : kept) {
    auto [flag, value] = getFlag(argument).split('=');
    if (flag != "tp-shard")
      continue;
    argument = ("--tp-shard=" + value + options).str();
    return kept;
  }
  llvm::errs() << "error: --" << first
               << " says how --tp-shard runs; give that, too\n";
  return failure();
}
