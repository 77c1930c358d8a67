// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-fuzz: random programs with random shardings, run whole and partitioned.
//
//   tp-fuzz --seed=1 --count=2000            2000 programs, from seed 1 on
//   tp-fuzz --seed=77 --print                the program of a seed
//   tp-fuzz --seed=77 --reduce --out=DIR     made small, if it fails
//   tp-fuzz --seed=1 --count=2000 --compiled run what they are compiled to, too
//   tp-fuzz --seed=1 --count=2000 --spellings
//                                            what another spelling costs
//   tp-fuzz FILE.mlir [--reduce]             a program from a file
//
// A failing program is written to DIR/fuzz-<seed>.mlir, the small one beside it
// as fuzz-<seed>.min.mlir. Exit 1 if a program fails.

#include "Author.h"
#include "Check.h"
#include "Driver.h"
#include "Shrink.h"
#include "Spellings.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace tp::fuzz;
namespace cl = llvm::cl;

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("[FILE.mlir]"));
static const Options options(/*deadline=*/60);
static cl::opt<bool> reduces("reduce", cl::desc("Make failing programs small"));
static cl::opt<bool> prints("print", cl::desc("Print the program, do not run"));
static cl::opt<bool> failsOnRefusal("no-refusals",
                                    cl::desc("A refused program fails"));

static cl::opt<bool> compiles("compiled",
                              cl::desc("Compile and run on ranks as well"));

static cl::opt<bool>
    compares("spellings",
             cl::desc("Compare the costs of programs written in two ways"));

static Execution getExecution() {
  return compiles ? Execution::Compiled : Execution::Interpreted;
}

namespace {

/// From the process of a trial to ours.
std::string encode(const Finding &finding) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << unsigned(finding.verdict) << ' ' << finding.code << '\n';
  for (auto &[op, counts] : finding.coverage)
    os << op << ' ' << counts.first << ' ' << counts.second << '\n';
  os << '\n' << finding.message;
  return text;
}

Finding decode(const Outcome &outcome) {
  Finding finding;
  if (!outcome.death.empty()) {
    finding.verdict = Verdict::Wrong;
    finding.message = outcome.death;
    return finding;
  }
  auto [line, rest] = StringRef(outcome.report).split('\n');
  unsigned verdict;
  line.split(' ').first.getAsInteger(10, verdict);
  finding.verdict = Verdict(verdict);
  finding.code = line.split(' ').second.str();
  std::tie(line, rest) = rest.split('\n');
  for (; !line.empty(); std::tie(line, rest) = rest.split('\n')) {
    auto [op, counts] = line.split(' ');
    auto &entry = finding.coverage[op.str()];
    counts.split(' ').first.getAsInteger(10, entry.first);
    counts.split(' ').second.getAsInteger(10, entry.second);
  }
  finding.message = rest.str();
  return finding;
}

std::string writeText(uint64_t programSeed) {
  std::unique_ptr<MLIRContext> context = makeContext();
  return print(*writeProgram(*context, programSeed));
}

/// `text` checked in a process of its own.
Finding checkApart(StringRef text, uint64_t dataSeed) {
  return decode(runTrial(
      [&] {
        return encode(check(*makeContext(), text, dataSeed, getExecution()));
      },
      options.deadline));
}

bool isFailure(const Finding &finding) {
  return finding.isFailure() ||
         (failsOnRefusal && finding.verdict == Verdict::Refused);
}

/// Shows a failure, as small as asked for.
void report(const std::string &name, StringRef text, uint64_t dataSeed,
            const Finding &finding) {
  llvm::outs() << name << ": " << stringify(finding.verdict) << ": "
               << StringRef(finding.message).rtrim() << '\n';
  if (reduces) {
    std::string small = shrink(text, [&](StringRef smaller) {
      Finding other = checkApart(smaller, dataSeed);
      return other.verdict == finding.verdict && other.code == finding.code;
    });
    options.write(name + ".min.mlir", small);
    llvm::outs() << small;
  }
  llvm::outs().flush();
}

int runFile() {
  auto buffer = llvm::MemoryBuffer::getFile(inputFile);
  if (!buffer) {
    llvm::errs() << inputFile << ": " << buffer.getError().message() << '\n';
    return 1;
  }
  StringRef text = (*buffer)->getBuffer();
  Finding finding = checkApart(text, options.seed);
  if (isFailure(finding)) {
    report("fuzz-file", text, options.seed, finding);
    return 1;
  }
  llvm::outs() << stringify(finding.verdict) << ' ' << finding.message << '\n';
  return 0;
}

/// Programs in two spellings each.
int runSpellings() {
  auto write = [](MLIRContext &context, uint64_t trial, Spelling spelling) {
    return print(*spell(context, trial, spelling));
  };
  auto makeTrial = [&]() -> Trial {
    std::shared_ptr<MLIRContext> context = makeContext();
    return [context, &write](uint64_t trial) {
      return encode(checkCosts(*context,
                               write(*context, trial, Spelling::Plain),
                               write(*context, trial, Spelling::Varied)));
    };
  };
  auto take = [&](const Outcome &outcome) {
    Finding finding = decode(outcome);
    if (!finding.isFailure())
      return false;
    std::unique_ptr<MLIRContext> context = makeContext();
    std::string name = "spelling-" + std::to_string(outcome.seed);
    options.write(name + ".mlir",
                  write(*context, outcome.seed, Spelling::Plain));
    options.write(name + ".other.mlir",
                  write(*context, outcome.seed, Spelling::Varied));
    llvm::outs() << name << ": " << stringify(finding.verdict) << ": "
                 << StringRef(finding.message).rtrim() << '\n';
    return true;
  };
  return options.run("programs in two spellings", makeTrial, take, [] {});
}

/// Every op that a user may write has a generator.
bool checkGenerators() {
  std::unique_ptr<MLIRContext> context = makeContext();
  bool isComplete = true;
  for (RegisteredOperationName name :
       context->getRegisteredOperationsByDialect("tp"))
    if (!getGenerators().count(name.getStringRef().str()) &&
        name.getStringRef() != tp::YieldOp::getOperationName()) {
      llvm::errs() << name << " has no generator in test/Fuzz\n";
      isComplete = false;
    }
  return isComplete;
}

int runSeeds() {
  std::map<Verdict, uint64_t> verdicts;
  std::map<std::string, uint64_t> refusals;
  std::map<std::string, std::pair<uint64_t, uint64_t>> ops;
  auto makeTrial = []() -> Trial {
    std::shared_ptr<MLIRContext> context = makeContext();
    return [context](uint64_t trial) {
      std::string text = print(*writeProgram(*context, trial));
      return encode(check(*context, text, trial, getExecution()));
    };
  };
  auto take = [&](const Outcome &outcome) {
    Finding finding = decode(outcome);
    ++verdicts[finding.verdict];
    if (finding.verdict == Verdict::Refused)
      ++refusals[finding.code];
    for (auto &[op, counts] : finding.coverage) {
      ops[op].first += counts.first;
      ops[op].second += counts.second;
    }
    if (!isFailure(finding))
      return false;
    std::string name = "fuzz-" + std::to_string(outcome.seed);
    std::string text = writeText(outcome.seed);
    options.write(name + ".mlir", text);
    report(name, text, outcome.seed, finding);
    return true;
  };
  return options.run("programs", makeTrial, take, [&] {
    for (auto &[verdict, times] : verdicts)
      llvm::outs() << "  " << stringify(verdict) << ": " << times << '\n';
    for (auto &[code, times] : refusals)
      llvm::outs() << "  refused with " << code << ": " << times << '\n';
    llvm::outs() << "ops of the local programs, and those with a cut operand "
                    "or result:\n";
    for (auto &[op, counts] : ops)
      llvm::outs() << llvm::format("  %-28s %9llu %9llu\n", op.c_str(),
                                   (unsigned long long)counts.first,
                                   (unsigned long long)counts.second);
  });
}

} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv,
                              "random programs, whole and sharded\n");
  if (!checkGenerators())
    return 1;
  if (!inputFile.empty())
    return runFile();
  if (compares)
    return runSpellings();
  if (prints) {
    llvm::outs() << writeText(options.seed);
    return 0;
  }
  return runSeeds();
}
