// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Flags.h"

#include "PipelineOptions.h"

#include "tpopt/Support/ErrorCodes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tp;

// Declared for --help only: before parsing, the flag is moved into --tp-shard.
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

/// Returns the flag in `--name` or `-name`, without the dashes; empty for
/// anything else.
static StringRef getFlag(StringRef argument) {
  if (!argument.consume_front("-"))
    return {};
  argument.consume_front("-");
  return argument;
}

/// Quotes a file name for use as an option's value, as options are separated by
/// blanks.
static std::string quote(StringRef path) {
  if (llvm::none_of(path, llvm::isSpace))
    return path.str();
  StringRef mark = path.contains('\'') ? "\"" : "'";
  return (mark + path + mark).str();
}

static llvm::raw_ostream &reportError() {
  return llvm::errs() << "error: " << prefix(ErrorCode::BadOption);
}

/// Returns the pipeline that has an option of this name; empty if none has.
static StringRef findPipeline(StringRef option) {
  for (StringRef flag : {"tp-shard", "tp-compile", "tp-train"})
    if (llvm::is_contained(getPipelineOptions(flag), option))
      return flag;
  return {};
}

/// Refuses options in the wrong place: `--mesh=model=4`, which belongs inside
/// --tp-shard, and options that only tp-run has.
static LogicalResult refuseMisplaced(StringRef argument) {
  StringRef flag = getFlag(argument).split('=').first;
  if (flag.empty() || llvm::cl::getRegisteredOptions().contains(flag))
    return success();
  if (StringRef pipeline = findPipeline(flag); !pipeline.empty()) {
    reportError() << argument << ": " << flag << " is an option of --"
                  << pipeline << ": write --" << pipeline << "=\""
                  << getFlag(argument) << "\"\n";
    return failure();
  }
  if (llvm::is_contained({"backend", "bench", "check", "generate", "info",
                          "input", "max_tokens", "max-tokens", "print", "ranks",
                          "shard", "steps", "temperature", "threads", "timeout",
                          "weights"},
                         flag)) {
    reportError() << argument
                  << ": tp-opt compiles programs; tp-run runs them: write "
                     "tp-run PROGRAM.tpx "
                  << argument << "\n";
    return failure();
  }
  return success();
}

/// Refuses `--tp-shard mesh=model=4`: the word after the blank would be taken
/// for the input file.
static LogicalResult refuseParted(StringRef argument,
                                  ArrayRef<const char *> behind) {
  StringRef flag = getFlag(argument);
  std::vector<StringRef> known = getPipelineOptions(flag);
  std::vector<StringRef> parted;
  for (StringRef next : behind) {
    if (!next.contains('=') ||
        !llvm::is_contained(known, next.split('=').first))
      break;
    parted.push_back(next);
  }
  if (parted.empty())
    return success();
  std::string options = llvm::join(parted, " ");
  reportError()
      << argument << " " << options
      << ": options follow the flag after =, not after a blank: write "
      << argument << "=\"" << options << "\"\n";
  return failure();
}

/// Returns true if a flag runs a pass that reads shardings.
static bool looksAtShardings(StringRef argument) {
  StringRef flag = getFlag(argument).split('=').first;
  return flag == "tp-report" || flag == "tp-explain" || flag == "tp-strict";
}

/// Returns the arguments in an order in which passes that read shardings run
/// after sharding. Argument number `index` is `--tp-shard`, or `--tp-compile`
/// if `compiles`. Passes that read shardings move from before `--tp-shard` to
/// the place after it. `--tp-compile` is split into two halves, sharding and
/// lowering, and all passes that read shardings move between the halves.
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
  bool explains = false, reports = false, isStrict = false;
  for (auto [index, text] : llvm::enumerate(arguments)) {
    StringRef argument = text, flag, value;
    std::tie(flag, value) = getFlag(argument).split('=');
    if (failed(refuseMisplaced(argument)) ||
        failed(refuseParted(argument, arguments.drop_front(index + 1))) ||
        failed(checkPipelineOptions(flag, value)))
      return failure();
    if (flag == "tp-stop-after") {
      std::vector<StringRef> stages = getOptionValues("stop-after");
      if (!llvm::is_contained(stages, value)) {
        reportError() << "--tp-stop-after=" << value
                      << " is not the name of a stage: write "
                      << llvm::join(stages, ", ") << "\n";
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
    // `--tp-verify-against=FILE` is short for `--tp-verify-against=whole=FILE`.
    if (flag == "tp-verify-against" && !value.empty() && !value.contains('=')) {
      kept.push_back(("--" + flag + "=whole=" + quote(value)).str());
      continue;
    }
    explains |= flag == "tp-explain";
    reports |= flag == "tp-report";
    isStrict |= flag == "tp-strict";
    kept.push_back(argument.str());
  }
  // The pass of --tp-explain prints what propagation has recorded.
  if (explains)
    options += " explain=true";
  // Only a report needs to know how the program was verified and what its plan
  // costs.
  if (reports)
    options += " report-verification=true";
  // The pass reports as an error what would otherwise be a warning, so do not
  // also emit the warning.
  if (isStrict)
    options += " strict=true";
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
  reportError() << "--" << (needsCompile.empty() ? needsShard : needsCompile)
                << " is an option for --"
                << (needsCompile.empty() ? "tp-shard" : "tp-compile")
                << ", which is missing; give that flag, too\n";
  return failure();
}

bool tp::asksForMoreThanIR(ArrayRef<const char *> arguments) {
  return llvm::any_of(arguments, [](StringRef argument) {
    return llvm::is_contained({"tp-report", "tp-explain", "tp-artifact",
                               "tp-remark-collectives", "tp-verify-against"},
                              getFlag(argument).split('=').first);
  });
}
