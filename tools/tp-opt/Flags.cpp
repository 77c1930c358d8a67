// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Flags.h"

#include "tpopt/Passes/Pipelines/Pipelines.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tp;

// For --help: what reaches the parser has been moved into --tp-shard.
static llvm::cl::opt<std::string>
    stopAfter("tp-stop-after", llvm::cl::value_desc("stage"),
              llvm::cl::desc("Last stage of --tp-shard to run: import, "
                             "propagate, partition, collectives or localize"));

static llvm::cl::opt<std::string> artifact(
    "tp-artifact", llvm::cl::value_desc("file"),
    llvm::cl::desc("Where --tp-compile writes the program for tp-run"));

void tp::hideForeignFlags() {
  static const char *const keep[] = {"tp-",
                                     "mlir-",
                                     "pass-pipeline",
                                     "verify-",
                                     "split-input",
                                     "allow-unreg",
                                     "emit-bytecode",
                                     "dump-pass",
                                     "list-passes",
                                     "show-dialects",
                                     "remark",
                                     "load-",
                                     "run-reproducer",
                                     "no-implicit",
                                     "help",
                                     "version",
                                     "canonicalize",
                                     "cse",
                                     "debug"};
  for (auto &entry : llvm::cl::getRegisteredOptions()) {
    llvm::StringRef name = entry.first;
    bool ours = name == "o" || llvm::any_of(keep, [&](const char *prefix) {
                  return name.starts_with(prefix);
                });
    if (!ours)
      entry.second->setHiddenFlag(llvm::cl::Hidden);
  }
}

/// `--name` or `-name`, without the dashes; empty for anything else.
static StringRef getFlag(StringRef argument) {
  if (!argument.consume_front("-"))
    return {};
  argument.consume_front("-");
  return argument;
}

/// A file among options, which blanks part, as a value of one.
static std::string quote(StringRef path) {
  if (llvm::none_of(path, llvm::isSpace))
    return path.str();
  StringRef mark = path.contains('\'') ? "\"" : "'";
  return (mark + path + mark).str();
}

/// What `stop-after` of --tp-shard may be.
static std::vector<StringRef> getStages() {
  ShardOptions options;
  auto &parser = options.stopAfter.getParser();
  std::vector<StringRef> stages;
  for (unsigned i = 0; i < parser.getNumOptions(); ++i)
    stages.push_back(parser.getOption(i));
  return stages;
}

/// Whether a flag is a pass that looks at what is sharded.
static bool looksAtShardings(StringRef argument) {
  StringRef flag = getFlag(argument).split('=').first;
  return flag == "tp-report" || flag == "tp-explain" || flag == "tp-strict";
}

/// The arguments with what looks at shardings and stands before `--tp-shard`,
/// the argument number `index`, behind it; all of it between the halves of
/// `--tp-compile`.
static std::vector<std::string> orderPasses(ArrayRef<std::string> arguments,
                                            size_t index, bool compiles) {
  std::vector<std::string> before, looking, behind;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    bool moves = looksAtShardings(argument) && (i < index || compiles);
    if (i != index)
      (moves ? looking : i < index ? before : behind).push_back(argument);
  }
  const std::string &pipeline = arguments[index];
  bool splits = compiles && !looking.empty();
  before.push_back(splits ? pipeline + " part=shard" : pipeline);
  llvm::append_range(before, looking);
  if (splits)
    before.push_back(pipeline + " part=lower");
  llvm::append_range(before, behind);
  return before;
}

FailureOr<std::vector<std::string>>
tp::expandFlags(ArrayRef<const char *> arguments) {
  std::vector<std::string> kept;
  std::string options;
  StringRef needsShard, needsCompile;
  bool explains = false, reports = false;
  for (StringRef argument : arguments) {
    StringRef flag, value;
    std::tie(flag, value) = getFlag(argument).split('=');
    if (flag == "tp-stop-after") {
      std::vector<StringRef> stages = getStages();
      if (!llvm::is_contained(stages, value)) {
        llvm::errs() << "error: --tp-stop-after=" << value
                     << " names no stage: write " << llvm::join(stages, ", ")
                     << "\n";
        return failure();
      }
      options += (" stop-after=" + value).str();
      needsShard = flag;
      continue;
    }
    if (flag == "tp-artifact") {
      options += " artifact=" + quote(value);
      needsCompile = flag;
      continue;
    }
    // A lone value is the whole program's file.
    if (flag == "tp-verify-against" && !value.empty() && !value.contains('=')) {
      kept.push_back(("--" + flag + "=whole=" + quote(value)).str());
      continue;
    }
    explains |= flag == "tp-explain";
    reports |= flag == "tp-report";
    kept.push_back(argument.str());
  }
  // The pass tells what propagation has recorded.
  if (explains)
    options += " explain=true";
  // The report says how the program was verified and what was planned; without
  // one, nobody asks.
  if (reports)
    options += " report-verification=true";
  for (size_t index = 0; index < kept.size(); ++index) {
    auto [flag, value] = getFlag(kept[index]).split('=');
    bool compiles = flag == "tp-compile";
    if (!compiles && (flag != "tp-shard" || !needsCompile.empty()))
      continue;
    kept[index] = ("--" + flag + "=" + value + options).str();
    return orderPasses(kept, index, compiles);
  }
  if (needsShard.empty() && needsCompile.empty())
    return kept;
  llvm::errs() << "error: --"
               << (needsCompile.empty() ? needsShard : needsCompile)
               << " says how --"
               << (needsCompile.empty() ? "tp-shard" : "tp-compile")
               << " runs; give that, too\n";
  return failure();
}
