// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"

#include "runtime/Core/Errors.h"
#include "runtime/Core/File.h"

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"

#include <cmath>
#include <cstdio>

ABSL_FLAG(std::string, shard, "", "for .mlir: options of tp-opt --tp-compile");
ABSL_FLAG(bool, cache, true, "keep what a .mlir compiles to");
ABSL_FLAG(std::string, backend, "cpu", "what computes");
ABSL_FLAG(int, ranks, 0, "the mesh's number of devices, as a check");
ABSL_FLAG(int, threads, 0, "that each rank computes on");
ABSL_FLAG(double, timeout, 300, "seconds that a collective may take");
ABSL_FLAG(double, run_timeout, 0, "seconds that a run may take; 0: no limit");
ABSL_FLAG(double, link_us, 0, "emulated between ranks: of each collective");
ABSL_FLAG(double, link_gbps, 0, "emulated between ranks; 0: no limit");
ABSL_FLAG(std::string, weights, "", "safetensors file or folder");
ABSL_FLAG(std::string, entry, "", "the function to run");
ABSL_FLAG(uint64_t, seed, 1, "of random inputs, sampling, training");
ABSL_FLAG(bool, print, false, "print the outputs");
ABSL_FLAG(std::string, output, "", "safetensors file to write the outputs to");
ABSL_FLAG(bool, check, false, "compare with the whole program on one device");
ABSL_FLAG(bool, verify, false,
          "verify the program against the one it was made of");
ABSL_FLAG(int, bench, 0, "run so many times and print times");
ABSL_FLAG(double, warmup, 0, "seconds to run before times are taken");
ABSL_FLAG(std::string, train, "", "run a step of training on this data");
ABSL_FLAG(int64_t, steps, 0, "how many steps to train");
ABSL_FLAG(std::string, log, "", "file of JSON lines, one for each step");
ABSL_FLAG(bool, tf32, false, "let a GPU round f32 in matmuls to tf32");
ABSL_FLAG(std::string, trace, "", "write a Chrome trace of the runs");
ABSL_FLAG(std::string, generate, "", "prompt: token ids, or a file of them");
ABSL_FLAG(int, max_tokens, 16, "how many tokens to generate");
ABSL_FLAG(double, temperature, 0, "of sampling; 0 takes the likeliest");
ABSL_FLAG(std::string, end_token, "", "stop after one of these tokens");

using namespace tprt;

static constexpr char kHelp[] =
    R"(usage: tp-run PROGRAM.tpx|PROGRAM.mlir [options]

Runs a program that tp-opt compiled; a .mlir is compiled first by the tp-opt
beside this tool, and kept for the next time.

  --weights=DIR         load weights from safetensors files
  --input NAME=VALUE    an input: numbers "1,2,3", or a .safetensors file that
                        has a tensor of that name; may be repeated. Inputs that
                        are given no value get random ones
  --seed=N              of random inputs, of sampling and of training's order (1)
  --entry=NAME          the function to run (main, or the first)
  --print               print the outputs
  --output=FILE         write the outputs, whole tensors by their names, to a
                        .safetensors file, which --input reads
  --check               run the whole program on one device, too, and compare;
                        exit code 1 if the results differ
  --verify              of a .tpx: prove its local program against the whole one
                        it carries, and run it on data that shows errors
  --bench=K             run K times and print times; --warmup=S runs for S seconds
                        first (0), so that the clocks of a GPU have risen
  --trace=FILE          write when each step ran, for ui.perfetto.dev
  --generate=IDS|FILE   continue a prompt of token ids with the entries prefill
                        and decode; --max_tokens=N (16), --temperature=T (0, the
                        likeliest token), --end_token=ID,.. or none (what the
                        configuration beside the weights says)
  --train=DATA          run a step that tp-opt --tp-train made on rows of DATA,
                        tokens in a .bin file or safetensors; --steps=N times
                        (no default); --log=FILE takes a line of JSON for each.
                        --seed orders the rows, --output takes the parameters
  --shard="..."         for a .mlir: options of tp-opt --tp-compile
  --nocache             compile a .mlir anew, and do not keep what comes out
  --ranks=N             what the mesh must have
  --threads=N           that each rank computes on (its share of the cores)
  --backend=cpu         what computes: cpu, cuda, virtual (ranks that share one
                        GPU), interpreter (tp-opt's; slow, of a .mlir as it is)
  --tf32                let a GPU multiply f32 as tf32: faster, 10 bits
  --timeout=S           seconds that a collective may take, and that ranks wait
                        for each other to join and to leave (300)
  --run_timeout=S       seconds that a run may take (no limit)
  --link_us=US          emulate a link between ranks on CPUs: each collective
  --link_gbps=GBPS      lasts at least US microseconds and what a rank sends at
                        GBPS, 1e9 bytes a second (no latency, no limit)

A dash within an option's name is as good as an underscore: --link-us.
Ranks are threads; started by mpirun, each process is one rank.
Exit code: 0 fine, 1 the input is wrong, 2 a bug of tp-opt, 3 the environment
failed.
)";

/// Reads `--link-us` as `--link_us`: the flags library knows underscores alone.
static void spellWithUnderscores(absl::Span<char *const> arguments) {
  for (char *argument : arguments)
    if (absl::StartsWith(argument, "--"))
      for (char *c = argument + 2; *c != '\0' && *c != '='; ++c)
        if (*c == '-')
          *c = '_';
}

/// Takes every --input out of the arguments: the flags library keeps only the
/// last of a repeated flag.
static absl::Status takeInputs(std::vector<char *> &arguments,
                               tprun::Options &options) {
  std::vector<char *> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    absl::string_view flag = "--input";
    std::string value;
    if (argument == flag)
      value = i + 1 < arguments.size() ? arguments[++i] : "";
    else if (absl::StartsWith(argument, "--input="))
      value = std::string(argument.substr(flag.size() + 1));
    else {
      rest.push_back(arguments[i]);
      continue;
    }
    std::pair<std::string, std::string> input =
        absl::StrSplit(value, absl::MaxSplits('=', 1));
    if (input.first.empty() || input.second.empty())
      return makeError(ErrorCode::BadOption, "--input '", value,
                       "' is no NAME=VALUE; write --input x=1,2,3 or "
                       "--input x=FILE.safetensors");
    options.inputs.push_back(input);
  }
  arguments = std::move(rest);
  return absl::OkStatus();
}

/// Refuses flags without a value, which a shell makes of a variable that is not
/// set: they would mean the same as no flag.
static absl::Status refuseEmpty(absl::Span<char *const> arguments) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    if (!absl::ConsumePrefix(&argument, "-"))
      continue;
    absl::ConsumePrefix(&argument, "-");
    bool isEmpty = absl::ConsumeSuffix(&argument, "=") ||
                   (i + 1 < arguments.size() && *arguments[i + 1] == '\0');
    for (absl::string_view flag : {"backend", "weights", "entry", "output",
                                   "trace", "generate", "train", "log"})
      if (isEmpty && argument == flag)
        return makeError(ErrorCode::BadOption, "--", flag,
                         " has no value; give it one, or leave it out");
  }
  return absl::OkStatus();
}

static absl::Status checkLink(const tprun::Options &options) {
  for (double value : {options.link.us, options.link.gbps})
    if (!std::isfinite(value) || value < 0)
      return makeError(ErrorCode::BadOption,
                       "--link_us and --link_gbps are numbers that are not "
                       "negative, microseconds and 1e9 bytes a second; leave "
                       "out what the link does not limit");
  if (options.link.isEmulated() && options.backend != "cpu")
    return makeError(ErrorCode::BadOption,
                     "--link_us and --link_gbps emulate a link between ranks "
                     "on CPUs: leave them out, or --backend=",
                     options.backend);
  return absl::OkStatus();
}

/// --train is a loop of its own.
static absl::Status checkTraining(const tprun::Options &options) {
  if (options.train.empty()) {
    if (options.steps != 0 || !options.log.empty())
      return makeError(ErrorCode::BadOption,
                       "--steps and --log are of training: give --train=DATA");
    return absl::OkStatus();
  }
  if (options.steps < 1)
    return makeError(ErrorCode::BadOption,
                     "--train wants to know how many steps to run: write "
                     "--steps=N, 1 or more");
  if (options.check || options.print || options.bench > 0 ||
      !options.generate.empty() || !options.trace.empty() ||
      options.backend == tprun::kInterpreter)
    return makeError(ErrorCode::BadOption,
                     "--train prints a line for each step: leave out --print, "
                     "--check, --bench, --trace, --generate and "
                     "--backend=interpreter, which are for single runs");
  return absl::OkStatus();
}

/// Refuses options that do not go together.
static absl::Status checkTogether(const tprun::Options &options) {
  if (options.backend == tprun::kInterpreter &&
      (options.check || options.bench > 0 || !options.trace.empty()))
    return makeError(ErrorCode::BadOption,
                     "--check, --bench and --trace are for compiled programs: "
                     "leave out --backend=interpreter");
  if (options.verify && (options.check || options.print || options.bench > 0 ||
                         !options.weights.empty() || !options.inputs.empty() ||
                         !options.output.empty() || !options.trace.empty() ||
                         !options.generate.empty() || !options.train.empty() ||
                         options.backend == tprun::kInterpreter))
    return makeError(ErrorCode::BadOption,
                     "--verify chooses the inputs and prints its findings: of "
                     "the other options it takes --entry, --seed, --ranks, "
                     "--threads, --timeout, --shard and a --backend that "
                     "compiles");
  if (!options.output.empty() &&
      !absl::EndsWith(options.output, ".safetensors"))
    return makeError(ErrorCode::BadOption, "--output=", options.output,
                     ": outputs are written as safetensors; write "
                     "--output=FILE.safetensors");
  if (!options.output.empty() && !options.generate.empty())
    return makeError(ErrorCode::BadOption,
                     "--output is for the outputs of one run: leave out "
                     "--generate, which prints tokens");
  return absl::OkStatus();
}

absl::StatusOr<tprun::Options> tprun::parseOptions(int argc, char **argv,
                                                   bool *done) {
  Options options;
  std::vector<char *> arguments(argv, argv + argc);
  for (absl::string_view argument : arguments)
    if (argument == "--help" || argument == "-h") {
      std::fputs(kHelp, stdout);
      *done = true;
      return options;
    }
  spellWithUnderscores(arguments);
  TPRT_RETURN_IF_ERROR(takeInputs(arguments, options));
  TPRT_RETURN_IF_ERROR(refuseEmpty(arguments));
  // Ends the process with code 1 on a flag it does not know.
  arguments = absl::ParseCommandLine(static_cast<int>(arguments.size()),
                                     arguments.data());
  if (arguments.size() != 2)
    return makeError(ErrorCode::BadOption,
                     "one program is wanted: tp-run PROGRAM.tpx|PROGRAM.mlir; "
                     "--help lists the options");
  options.program = arguments[1];
  options.shard = absl::GetFlag(FLAGS_shard);
  options.cache = absl::GetFlag(FLAGS_cache);
  options.backend = absl::GetFlag(FLAGS_backend);
  options.ranks = absl::GetFlag(FLAGS_ranks);
  options.threads = absl::GetFlag(FLAGS_threads);
  double timeout = absl::GetFlag(FLAGS_timeout);
  options.timeout = absl::Seconds(timeout);
  double runTimeout = absl::GetFlag(FLAGS_run_timeout);
  options.runTimeout =
      runTimeout == 0 ? absl::InfiniteDuration() : absl::Seconds(runTimeout);
  options.link = {absl::GetFlag(FLAGS_link_us), absl::GetFlag(FLAGS_link_gbps)};
  options.weights = absl::GetFlag(FLAGS_weights);
  options.entry = absl::GetFlag(FLAGS_entry);
  options.seed = absl::GetFlag(FLAGS_seed);
  options.print = absl::GetFlag(FLAGS_print);
  options.output = absl::GetFlag(FLAGS_output);
  options.check = absl::GetFlag(FLAGS_check);
  options.verify = absl::GetFlag(FLAGS_verify);
  options.bench = absl::GetFlag(FLAGS_bench);
  double warmUp = absl::GetFlag(FLAGS_warmup);
  options.warmUp = absl::Seconds(warmUp);
  options.train = absl::GetFlag(FLAGS_train);
  options.steps = absl::GetFlag(FLAGS_steps);
  options.log = absl::GetFlag(FLAGS_log);
  options.allowTF32 = absl::GetFlag(FLAGS_tf32);
  options.trace = absl::GetFlag(FLAGS_trace);
  options.generate = absl::GetFlag(FLAGS_generate);
  options.maxTokens = absl::GetFlag(FLAGS_max_tokens);
  options.temperature = absl::GetFlag(FLAGS_temperature);
  if (!options.generate.empty()) {
    TPRT_ASSIGN_OR_RETURN(
        options.endTokens,
        readEndTokens(absl::GetFlag(FLAGS_end_token), options.weights));
  }
  // NaN is none of these.
  if (!(timeout > 0) || !(runTimeout >= 0) || options.ranks < 0 ||
      options.threads < 0 || options.bench < 0 || options.maxTokens < 1 ||
      !(options.temperature >= 0) || !(warmUp >= 0))
    return makeError(ErrorCode::BadOption,
                     "--timeout and --max_tokens are positive; --ranks, "
                     "--threads, --bench, --warmup, --run_timeout and "
                     "--temperature are not negative");
  TPRT_RETURN_IF_ERROR(checkLink(options));
  TPRT_RETURN_IF_ERROR(checkTraining(options));
  TPRT_RETURN_IF_ERROR(checkTogether(options));
  return options;
}

absl::StatusOr<std::vector<int64_t>>
tprun::parseTokens(const std::string &text) {
  std::string list = text;
  if (list.find_first_not_of("0123456789,") != std::string::npos) {
    absl::StatusOr<File> file = File::open(text);
    if (!file.ok())
      return makeError(getErrorCode(file.status()), "--generate: '", text,
                       "' is neither a list of token ids nor a file of one; "
                       "write --generate=1,2,3");
    TPRT_ASSIGN_OR_RETURN(AlignedBuffer bytes, file->readAll());
    list = std::string(bytes.view());
  }
  std::vector<int64_t> tokens;
  for (absl::string_view piece :
       absl::StrSplit(list, absl::ByAnyChar(", \t\r\n"), absl::SkipEmpty())) {
    int64_t token;
    if (!absl::SimpleAtoi(piece, &token) || token < 0)
      return makeError(ErrorCode::BadOption, "--generate: '", piece,
                       "' is no token id; write --generate=1,2,3");
    tokens.push_back(token);
  }
  if (tokens.empty())
    return makeError(ErrorCode::BadOption,
                     "--generate: the prompt has no token; write "
                     "--generate=1,2,3");
  return tokens;
}
