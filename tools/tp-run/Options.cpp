// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Options.h"

#include "Arguments.h"
#include "Help.h"
#include "runtime/Core/ArtifactFormat.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/File.h"

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

#include <cmath>
#include <cstdio>

ABSL_FLAG(std::string, shard, "", "for .mlir: options of tp-opt --tp-compile");
ABSL_FLAG(bool, cache, true, "keep compiled .mlir programs");
ABSL_FLAG(std::string, backend, "cpu", "the backend that computes");
ABSL_FLAG(int, ranks, 0, "the mesh's number of devices, as a check");
ABSL_FLAG(int, threads, 0, "threads of each rank");
ABSL_FLAG(double, timeout, 300, "seconds that a collective may take");
ABSL_FLAG(double, run_timeout, 0,
          "seconds that a run may take; 0 sets no limit");
ABSL_FLAG(double, link_us, 0, "emulated latency of each launch, in us");
ABSL_FLAG(double, link_gbps, 0, "emulated bandwidth of a rank; 0: no limit");
ABSL_FLAG(std::vector<std::string>, axis_link, {},
          "AXIS:US:GBPS, the emulated link of the collectives along an axis");
ABSL_FLAG(std::string, weights, "", "safetensors file or folder");
ABSL_FLAG(std::string, entry, "", "the function to run");
ABSL_FLAG(uint64_t, seed, 1, "seed for random inputs, sampling, training");
ABSL_FLAG(bool, info, false, "describe a .tpx file");
ABSL_FLAG(bool, print, false, "print the outputs");
ABSL_FLAG(std::string, output, "", "safetensors file to write the outputs to");
ABSL_FLAG(bool, check, false, "compare with the whole program on one device");
ABSL_FLAG(bool, verify, false,
          "verify the program against the one that it was compiled from");
ABSL_FLAG(int, bench, 0, "run this many times and print times");
ABSL_FLAG(double, warmup, 0, "seconds to run before times are taken");
ABSL_FLAG(std::string, train, "", "run a step of training on this data");
ABSL_FLAG(int64_t, steps, 0, "how many steps to train");
ABSL_FLAG(std::string, log, "", "file of JSON lines, one for each step");
ABSL_FLAG(bool, tf32, false, "allow GPUs to round f32 to tf32 in matmuls");
ABSL_FLAG(std::string, trace, "", "write a Chrome trace of the runs");
ABSL_FLAG(std::string, generate, "", "prompt: token ids, or a file of them");
ABSL_FLAG(int, max_tokens, 16, "how many tokens to generate");
ABSL_FLAG(double, temperature, 0, "for sampling; 0 takes the likeliest token");
ABSL_FLAG(std::string, end_token, "", "stop after one of these tokens");

using namespace tprt;

static bool isLink(const Link &link) {
  return std::isfinite(link.us) && link.us >= 0 && std::isfinite(link.gbps) &&
         link.gbps >= 0;
}

/// Reads the options about emulated links.
static absl::Status readNetwork(tprun::Options &options) {
  Network &network = options.network;
  network.link = {absl::GetFlag(FLAGS_link_us), absl::GetFlag(FLAGS_link_gbps)};
  if (!isLink(network.link))
    return makeError(
        ErrorCode::BadOption,
        "--link_us (microseconds) and --link_gbps (1e9 bytes a second) must "
        "not be negative; leave an option out to set no limit");
  for (const std::string &text : absl::GetFlag(FLAGS_axis_link)) {
    std::vector<std::string> parts = absl::StrSplit(text, ':');
    Network::AxisLink own;
    if (parts.size() != 3 || parts[0].empty() ||
        !absl::SimpleAtod(parts[1], &own.link.us) ||
        !absl::SimpleAtod(parts[2], &own.link.gbps) || !isLink(own.link))
      return makeError(ErrorCode::BadOption,
                       "--axis_link expects AXIS:US:GBPS, an axis of the mesh "
                       "and two numbers that are not negative, got '",
                       text, "'; write --axis_link=data:100:1.25");
    own.axis = parts[0];
    network.axes.push_back(std::move(own));
  }
  if (network.isEmulated() && options.backend != "cpu")
    return makeError(ErrorCode::BadOption,
                     "--link_us, --link_gbps and --axis_link emulate links "
                     "between ranks on CPUs: leave them out, or leave out "
                     "--backend=",
                     options.backend);
  return absl::OkStatus();
}

/// Checks the options for training. With --train, refuses options that are for
/// single runs.
static absl::Status checkTraining(const tprun::Options &options) {
  if (options.train.empty()) {
    if (options.steps != 0 || !options.log.empty())
      return makeError(
          ErrorCode::BadOption,
          "--steps and --log are only for training: give --train=DATA, too");
    return absl::OkStatus();
  }
  if (options.steps < 1)
    return makeError(ErrorCode::BadOption,
                     "--train expects the number of steps to run: write "
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

/// Refuses options that cannot be combined.
static absl::Status checkTogether(const tprun::Options &options) {
  if (options.backend == tprun::kInterpreter &&
      (options.check || options.bench > 0 || !options.trace.empty()))
    return makeError(ErrorCode::BadOption,
                     "--check, --bench and --trace are only for compiled "
                     "programs: leave out --backend=interpreter");
  if (options.verify && (options.check || options.print || options.bench > 0 ||
                         !options.weights.empty() || !options.inputs.empty() ||
                         !options.output.empty() || !options.trace.empty() ||
                         !options.generate.empty() || !options.train.empty() ||
                         options.backend == tprun::kInterpreter))
    return makeError(ErrorCode::BadOption,
                     "--verify chooses its own inputs: it can only be combined "
                     "with --entry, --seed, --ranks, --threads, --timeout, "
                     "--shard and a --backend that compiles");
  if (!options.output.empty() &&
      !absl::EndsWith(options.output, ".safetensors"))
    return makeError(ErrorCode::BadOption, "--output=", options.output,
                     ": outputs are written as safetensors; write "
                     "--output=FILE.safetensors");
  if (!options.output.empty() && !options.generate.empty())
    return makeError(ErrorCode::BadOption,
                     "--output writes the outputs of one run: leave out "
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
    } else if (argument == "--version") {
      std::printf("tp-run " TPOPT_VERSION " (" TPOPT_BUILD_TYPE
                  " build)\nruns artifacts of format %u\n",
                  kFormatVersion);
      *done = true;
      return options;
    }
  TPRT_ASSIGN_OR_RETURN(options.inputs, takeInputs(arguments));
  TPRT_RETURN_IF_ERROR(refuseUnknown(arguments));
  spellWithUnderscores(arguments);
  TPRT_RETURN_IF_ERROR(refuseEmpty(arguments));
  // If a flag has an invalid value, this ends the process with code 1.
  arguments = absl::ParseCommandLine(static_cast<int>(arguments.size()),
                                     arguments.data());
  if (arguments.size() != 2)
    return makeError(ErrorCode::BadOption,
                     "expects exactly one program: tp-run "
                     "PROGRAM.tpx|PROGRAM.mlir; --help lists the options");
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
  options.weights = absl::GetFlag(FLAGS_weights);
  options.entry = absl::GetFlag(FLAGS_entry);
  options.seed = absl::GetFlag(FLAGS_seed);
  options.info = absl::GetFlag(FLAGS_info);
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
  // The comparisons are negated so that NaN is refused.
  if (!(timeout > 0) || !(runTimeout >= 0) || options.ranks < 0 ||
      options.threads < 0 || options.bench < 0 || options.maxTokens < 1 ||
      !(options.temperature >= 0) || !(warmUp >= 0))
    return makeError(ErrorCode::BadOption,
                     "--timeout and --max_tokens must be positive; --ranks, "
                     "--threads, --bench, --warmup, --run_timeout and "
                     "--temperature must not be negative");
  TPRT_RETURN_IF_ERROR(readNetwork(options));
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
                       "' is neither a list of token ids nor a file with one; "
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
                       "' is not a token id; write --generate=1,2,3");
    tokens.push_back(token);
  }
  if (tokens.empty())
    return makeError(
        ErrorCode::BadOption,
        "--generate: the prompt has no tokens; write --generate=1,2,3");
  return tokens;
}
