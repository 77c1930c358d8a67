// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file tp-run as a user starts it: alone and under mpirun, with good
/// programs, wrong ones, and ranks that fail in each way a rank can.

#include "Surroundings.h"
#include "TestKernels.h"
#include "runtime/Core/Safetensors.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tprt;
using namespace tprt::test;

namespace {

struct Outcome {
  int code;
  std::string out, err;
  absl::Duration time;
};

/// In a container, on fewer cores than ranks. Open MPI itself leaks, which a
/// build with sanitizers would take for an error of ours.
constexpr char kMpiRun[] = "env ASAN_OPTIONS=detect_leaks=0 mpirun "
                           "--allow-run-as-root --oversubscribe";

std::string slurp(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class Tool : public testing::Test {
protected:
  std::string write(const std::string &name, const std::string &bytes) {
    std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  Outcome shell(const std::string &command) {
    absl::Time begin = absl::Now();
    int status = std::system(absl::StrCat("timeout 30 ", command, " >", folder,
                                          "/out 2>", folder, "/err")
                                 .c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            slurp(folder + "/out"), slurp(folder + "/err"),
            absl::Now() - begin};
  }
  Outcome run(const std::string &arguments) {
    return shell(absl::StrCat(TPRT_TEST_TP_RUN, " ", arguments));
  }
  Outcome runMpi(int ranks, const std::string &arguments) {
    return shell(absl::StrFormat("%s -n %d %s %s", kMpiRun, ranks,
                                 TPRT_TEST_TP_RUN, arguments));
  }

  const TempFolder temporary;
  const std::string &folder = temporary.get();
};

/// Every collective in three types, of random numbers.
std::string makeCollectives(int64_t ranks) {
  TestProgram program({{"model", ranks}});
  uint32_t group = program.writer.add(CommunicatorRow{program.axes({0})});
  constexpr int64_t chunk = 5;
  for (DType dtype : {DType::F32, DType::BF16, DType::I32}) {
    int64_t size = getSize(dtype);
    std::string type(getName(dtype));
    uint32_t x =
        program.addInput("x." + type, dtype, {{ranks * ranks * chunk, {0}}});
    for (uint32_t kind = 0; kind < kNumCollectives; ++kind) {
      CollectiveRow row = {};
      row.kind = CollectiveKind(kind);
      row.communicator = group;
      row.dtype = dtype;
      bool reduces = row.kind == CollectiveKind::AllReduce ||
                     row.kind == CollectiveKind::ReduceScatter;
      bool many = row.kind == CollectiveKind::AllGather ||
                  row.kind == CollectiveKind::AllToAll;
      row.reduction = reduces ? Reduction::Sum : Reduction::None;
      row.count =
          row.kind == CollectiveKind::AllReduce ? ranks * chunk - 1 : chunk;
      int64_t result = many ? ranks * row.count : row.count;
      uint32_t y = program.addOutput(absl::StrCat("y", kind, ".", type), dtype,
                                     {{ranks * result, {0}}});
      row.source = program.buffer(Space::Input, x, ranks * chunk * size);
      row.destination = program.buffer(Space::Output, y, result * size);
      if (row.kind == CollectiveKind::CollectivePermute) {
        std::vector<int64_t> from(ranks);
        for (int64_t i = 0; i < ranks; ++i)
          from[i] = i - 1;
        row.permutation =
            program.writer.addAll<int64_t>(absl::MakeConstSpan(from));
      }
      program.addCollective(row, absl::StrCat("collective ", kind));
    }
  }
  return program.finish();
}

TEST_F(Tool, ThreadsAndProcessesGiveTheSameBits) {
  for (int ranks : {2, 3}) {
    std::string path = write("c.tpx", makeCollectives(ranks));
    Outcome threads = run(path + " --print --seed=7");
    EXPECT_EQ(threads.code, 0) << threads.err;
    Outcome processes = runMpi(ranks, path + " --print --seed=7");
    EXPECT_EQ(processes.code, 0) << processes.err;
    EXPECT_EQ(threads.out, processes.out);
    EXPECT_GT(std::count(threads.out.begin(), threads.out.end(), ' '), 100);
  }
}

/// y = x + 100 over two devices.
std::string makeAdd() {
  TestProgram program({{"model", 2}});
  addObjectCode(program);
  uint32_t x = program.addInput("x", DType::F32, {{2, {}}, {5, {0}}});
  uint32_t y = program.addOutput("y", DType::F32, {{2, {}}, {5, {0}}});
  addKernel(program, "add_scalar",
            {program.buffer(Space::Input, x, 24),
             program.buffer(Space::Output, y, 24)},
            1, {constant(100)}, 6);
  return program.finish();
}

TEST_F(Tool, PrintsOutputsOfGivenInputs) {
  std::string path = write("add.tpx", makeAdd());
  const char *wanted = "y: f32[2, 5]\n100 101 102 103 104\n105 106 107 108 "
                       "109.5\n";
  Outcome numbers = run(path + " --print --input x=0,1,2,3,4,5,6,7,8,9.5");
  EXPECT_EQ(numbers.code, 0) << numbers.err;
  EXPECT_EQ(numbers.out, wanted);
  EXPECT_EQ(numbers.err, "");
  float values[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9.5};
  write("x.safetensors",
        writeSafetensors(
            {{"x",
              {DType::F32,
               {2, 5},
               {reinterpret_cast<const char *>(values), sizeof(values)}}}}));
  Outcome file = run(absl::StrCat(path, " --print --ranks=2 --input=x=", folder,
                                  "/x.safetensors"));
  EXPECT_EQ(file.code, 0) << file.err;
  EXPECT_EQ(file.out, wanted);
}

TEST_F(Tool, NotesRandomInputsAndRepeatsThem) {
  std::string path = write("add.tpx", makeAdd());
  Outcome first = run(path + " --print");
  EXPECT_EQ(first.err, "note: random values for x\n");
  EXPECT_EQ(first.out, run(path + " --print").out);
  EXPECT_NE(first.out, run(path + " --print --seed=2").out);
}

TEST_F(Tool, LoadsWeights) {
  TestProgram program({{"model", 2}});
  SourceRow source = {};
  source.tensor = program.writer.text("stored.w");
  source.stored = source.view = source.size =
      program.writer.addAll<int64_t>({2, 3});
  source.start = program.writer.addAll<int64_t>({0, 0});
  source.step = program.writer.addAll<int64_t>({1, 1});
  source.permutation = program.writer.addAll<int64_t>({1, 0});
  uint32_t w = program.addInput("w", DType::F32, {{3, {0}}, {2, {}}},
                                Role::Parameter, program.writer.add(source));
  uint32_t y = program.addOutput("y", DType::F32, {{3, {0}}, {2, {}}});
  CopyRow copy = {};
  copy.rank = 1;
  copy.dtype = DType::F32;
  copy.sizes[0] = 4;
  copy.from.strides[0] = copy.to.strides[0] = 1;
  copy.source = program.buffer(Space::Input, w, 16);
  copy.destination = program.buffer(Space::Output, y, 16);
  program.addStep(StepKind::Copy, program.writer.add(copy));
  std::string path = write("w.tpx", program.finish());
  uint16_t stored[6];
  for (int i = 0; i < 6; ++i)
    stored[i] = BFloat16(static_cast<float>(i)).bits;
  write("model.safetensors",
        writeSafetensors(
            {{"stored.w",
              {DType::BF16,
               {2, 3},
               {reinterpret_cast<const char *>(stored), sizeof(stored)}}}}));
  Outcome good = run(absl::StrCat(path, " --print --weights=", folder));
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out, "y: f32[3, 2]\n0 3\n1 4\n2 5\n");
  EXPECT_EQ(good.err, "");
  Outcome bad = run(path + " --weights=/nowhere");
  EXPECT_EQ(bad.code, 1);
  EXPECT_TRUE(absl::StartsWith(bad.err, "error: [TP0850] ")) << bad.err;
}

TEST_F(Tool, SaysWhatIsWrongAndEndsWithItsCode) {
  std::string add = write("add.tpx", makeAdd());
  std::string text = write("text.tpx", "hello");
  const std::tuple<std::string, int, const char *> cases[] = {
      {"", 1, "[TP0863]"},
      {"/nowhere.tpx", 1, "[TP0840]"},
      {text, 1, "[TP0841]"},
      {add + " --input z=1", 1, "[TP0860]"},
      {add + " --input x=1", 1, "[TP0861]"},
      {add + " --input x=a", 1, "[TP0863]"},
      {add + " --input x", 1, "[TP0863]"},
      {add + " --entry=other", 1, "[TP0860]"},
      {add + " --shard=x", 1, "[TP0863]"},
      {add + " --timeout=0", 1, "[TP0863]"},
      {add + " --no_such_flag", 1, "no_such_flag"},
      {add + " --generate=1", 1, "[TP0860]"},
      {add + " --generate=/nowhere", 1, "[TP0840]"},
      {add + " --trace=/nowhere/trace", 1, "[TP0892]"},
      {add + " --ranks=3", 1, "[TP0873]"},
      {add + " --backend=abacus", 1, "[TP0888]"},
  };
  for (const auto &[arguments, code, message] : cases) {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code) << arguments << ": " << outcome.err;
    EXPECT_TRUE(absl::StrContains(outcome.err, message))
        << arguments << ": " << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
  Outcome help = run("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(absl::StartsWith(help.out, "usage: tp-run"));
}

TEST_F(Tool, TimesAndTraces) {
  std::string path = write("c.tpx", makeCollectives(2));
  std::string trace = folder + "/trace.json";
  Outcome outcome = run(absl::StrCat(path, " --bench=5 --trace=", trace));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(absl::StrContains(outcome.out, "main on 2 ranks, 5 runs: min"))
      << outcome.out;
  EXPECT_TRUE(absl::StrContains(outcome.out, "collective    30 steps"))
      << outcome.out;
  std::string json = slurp(trace);
  EXPECT_TRUE(absl::StartsWith(json, "{\"traceEvents\":["));
  for (const char *piece : {"\"rank 1\"", "\"collective 4\"", "\"ph\":\"X\""})
    EXPECT_TRUE(absl::StrContains(json, piece)) << piece;
}

/// The toy model of kernels.c: a vocabulary of 50 and a cache of 12 positions.
std::string makeGenerator() {
  TestProgram program;
  addObjectCode(program);
  program.positions = 12;
  constexpr int64_t vocabulary = 50;
  uint32_t tokens = program.addInput("tokens", DType::I32, {{1, {}}, {8, {}}});
  uint32_t length = program.addInput("length", DType::I32, {});
  uint32_t cache =
      program.addInput("cache", DType::I32, {{2, {}}}, Role::State);
  auto addModel = [&](uint32_t ids, uint64_t bytes, uint32_t place,
                      bool isNew) {
    program.addOutput("cache.out", DType::I32, {{2, {}}}, cache);
    uint32_t logits =
        program.addOutput("logits", DType::F32, {{1, {}}, {vocabulary, {}}});
    addKernel(program, "toy_model",
              {program.buffer(Space::Input, ids, bytes),
               program.buffer(Space::Input, place, 4),
               program.buffer(Space::Input, cache, 8),
               program.buffer(Space::Output, logits, vocabulary * 4)},
              2, {constant(isNew), constant(vocabulary)}, 0);
  };
  addModel(tokens, 32, length, true);
  program.endEntry("prefill");
  program.inputs = {cache};
  uint32_t token = program.addInput("token", DType::I32, {{1, {}}, {1, {}}});
  uint32_t position = program.addInput("position", DType::I32, {});
  addModel(token, 4, position, false);
  program.endEntry("decode");
  return program.finish();
}

TEST_F(Tool, GeneratesGreedily) {
  std::string path = write("g.tpx", makeGenerator());
  std::vector<int64_t> sequence = {3, 1, 4}, fresh;
  for (int i = 0; i < 6; ++i) {
    int64_t sum = 0;
    for (int64_t token : sequence)
      sum += token;
    fresh.push_back((sequence.back() + 1 + sum) % 50);
    sequence.push_back(fresh.back());
  }
  std::string wanted = absl::StrJoin(fresh, ",") + "\n";
  Outcome list = run(path + " --generate=3,1,4 --max_tokens=6");
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_EQ(list.out, wanted);
  EXPECT_TRUE(absl::StartsWith(list.err, "prefill ")) << list.err;
  std::string prompt = write("prompt", "3 1\n4\n");
  EXPECT_EQ(run(path + " --max_tokens=6 --generate=" + prompt).out, wanted);
  EXPECT_EQ(runMpi(1, path + " --generate=3,1,4 --max_tokens=6").out, wanted);
  Outcome stopped = run(absl::StrCat(
      path, " --generate=3,1,4 --max_tokens=6 --end_token=", fresh[2]));
  EXPECT_EQ(stopped.out,
            absl::StrJoin(fresh.begin(), fresh.begin() + 3, ",") + "\n");
}

// What a checkpoint says of its end, unless the command line does.
TEST_F(Tool, EndsWhereTheCheckpointSays) {
  std::string path = write("g.tpx", makeGenerator());
  std::string weights =
      write("none.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  std::string command =
      path + " --generate=3,1,4 --max_tokens=6 --weights=" + weights;
  std::vector<std::string> all =
      absl::StrSplit(absl::StripSuffix(run(command).out, "\n"), ',');
  ASSERT_EQ(all.size(), 6u);
  auto getFirst = [&](int count) {
    return absl::StrJoin(all.begin(), all.begin() + count, ",") + "\n";
  };
  write("config.json", absl::StrCat("{\"eos_token_id\": ", all[3], "}"));
  Outcome ended = run(command);
  EXPECT_EQ(ended.out, getFirst(4)) << ended.err;
  EXPECT_TRUE(absl::StrContains(
      ended.err, absl::StrCat("; ended by token ", all[3], " of config.json")))
      << ended.err;
  write("generation_config.json",
        absl::StrCat("{\"eos_token_id\": [49, ", all[1], "]}"));
  EXPECT_EQ(run(command).out, getFirst(2));
  EXPECT_EQ(run(command + " --end_token=none").out, getFirst(6));
  EXPECT_EQ(run(absl::StrCat(command, " --end_token=49,", all[2])).out,
            getFirst(3));
  Outcome bad = run(command + " --end_token=2,x");
  EXPECT_EQ(bad.code, 1);
  EXPECT_TRUE(absl::StrContains(
      bad.err,
      "--end_token expects none or token ids, such as 2 or 2,7; got '2,x'"))
      << bad.err;
  write("generation_config.json", "{\"eos_token_id\": \"</s>\"}");
  bad = run(command);
  EXPECT_EQ(bad.code, 1);
  EXPECT_TRUE(
      absl::StrContains(bad.err, "expects a token id or a list of them"))
      << bad.err;
  write("generation_config.json", "[");
  EXPECT_TRUE(absl::StrContains(run(command).err, "is not a JSON object"));
}

TEST_F(Tool, SamplesRepeatably) {
  std::string path = write("g.tpx", makeGenerator());
  auto draw = [&](const char *options) {
    return run(absl::StrCat(path, " --generate=3,1,4 --max_tokens=10 ",
                            options))
        .out;
  };
  std::string hot = draw("--temperature=100 --seed=5");
  EXPECT_EQ(hot, draw("--temperature=100 --seed=5"));
  EXPECT_NE(hot, draw("--temperature=100 --seed=6"));
  EXPECT_EQ(draw("--temperature=0.01"), draw(""));
}

TEST_F(Tool, RefusesSequencesThatDoNotFit) {
  std::string path = write("g.tpx", makeGenerator());
  EXPECT_EQ(run(path + " --generate=1,2,3 --max_tokens=10").code, 0);
  for (const char *arguments :
       {" --generate=1,2,3 --max_tokens=11", " --generate=1,2,3,4,5,6,7,8,9"}) {
    Outcome outcome = run(path + arguments);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(absl::StrContains(outcome.err, "[TP0864]")) << outcome.err;
  }
}

/// A copy of the tool in a folder of its own, with whatever tp-opt a test puts
/// there.
class Compiler : public Tool {
protected:
  Compiler() {
    EXPECT_EQ(
        std::system(absl::StrCat("cp ", TPRT_TEST_TP_RUN, " ", folder).c_str()),
        0);
    write("add.tpx", makeAdd());
    program = write("add.mlir", "func.func @main()");
  }

  void writeCompiler(const std::string &script) {
    std::string path = write("tp-opt", "#!/bin/sh\n" + script);
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  }

  Outcome compile(const std::string &arguments = "") {
    return shell(absl::StrFormat(
        "env LD_LIBRARY_PATH=%s XDG_CACHE_HOME=%s/cache %s/tp-run %s "
        "--input x=1,1,1,1,1,1,1,1,1,1 --print %s",
        TPRT_TEST_LIBRARIES, folder, folder, program, arguments));
  }

  std::string program;
};

TEST_F(Compiler, IsMissed) {
  Outcome outcome = compile();
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(absl::StrContains(outcome.err, "[TP0866]")) << outcome.err;
}

TEST_F(Compiler, IsCalledOncePerProgram) {
  // Records its arguments and hands out the artifact.
  writeCompiler(absl::StrFormat(
      "echo \"$1 $2\" >> %s/calls\n"
      "for a in \"$@\"; do case \"$a\" in\n"
      "--tp-artifact=*) cp %s/add.tpx \"${a#--tp-artifact=}\";; esac; done\n",
      folder, folder));
  for (int round = 0; round < 2; ++round) {
    Outcome outcome = compile("--shard='mesh=model=2'");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(absl::StrContains(outcome.out, "101 101")) << outcome.out;
  }
  std::string call = absl::StrCat(
      program, " --tp-compile=target=cpu default-mesh=true mesh=model=2\n");
  EXPECT_EQ(slurp(folder + "/calls"), call);
  write("add.mlir", "func.func @main() // changed");
  EXPECT_EQ(compile("--shard='mesh=model=2'").code, 0);
  EXPECT_EQ(slurp(folder + "/calls"), call + call);
}

TEST_F(Compiler, PassesItsFailureOn) {
  writeCompiler("echo 'add.mlir:1:1: error: [TP0101] what' >&2; exit 1\n");
  Outcome refused = compile();
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(absl::StrContains(refused.err, "[TP0101]")) << refused.err;
  EXPECT_TRUE(absl::StrContains(refused.err, "[TP0867]")) << refused.err;
  writeCompiler("kill -SEGV $$\n");
  Outcome crashed = compile();
  EXPECT_EQ(crashed.code, 2);
  EXPECT_TRUE(absl::StrContains(crashed.err, "[TP0868]")) << crashed.err;
}

/// How processes end when one of them does not do its part.
class MpiFaults : public Tool {
protected:
  /// Until a job is over that does not wait for the deadline of 300 s. Most of
  /// it is what the launcher takes on a busy machine.
  static constexpr absl::Duration kSoon = absl::Seconds(20);

  std::string writeFault(const std::string &kernel, int64_t how,
                         bool beside = false) {
    TestProgram program({{"model", 2}});
    buildFault(program, kernel, 1, how, beside);
    return write(kernel + ".tpx", program.finish());
  }
  /// The lines of stderr that are errors of ours.
  static std::vector<std::string> getErrors(const Outcome &outcome) {
    std::vector<std::string> errors;
    for (absl::string_view line : absl::StrSplit(outcome.err, '\n'))
      if (absl::StartsWith(line, "error: "))
        errors.emplace_back(line);
    return errors;
  }
};

TEST_F(MpiFaults, AKilledRankEndsTheOthers) {
  std::string mark = folder + "/mark";
  Variable variable("TPRT_TEST_MARK", mark.c_str());
  Outcome outcome = runMpi(2, writeFault("die_at", 0));
  absl::Time end = absl::Now();
  EXPECT_NE(outcome.code, 0);
  // From the death on: how long a busy machine takes to start a job does not
  // count.
  struct stat info = {};
  ASSERT_EQ(::stat(mark.c_str(), &info), 0) << outcome.err;
  EXPECT_LT(end - absl::TimeFromTimespec(info.st_mtim), absl::Seconds(5));
  std::vector<std::string> errors = getErrors(outcome);
  ASSERT_EQ(errors.size(), 1u) << outcome.err;
  EXPECT_TRUE(absl::StartsWith(
      errors[0], "error: [TP0870] rank 0, all_reduce 'attn.out': "))
      << errors[0];
}

TEST_F(MpiFaults, AFailedRankTellsTheOthers) {
  Outcome outcome = runMpi(2, writeFault("fail_at", 42));
  EXPECT_NE(outcome.code, 0);
  std::vector<std::string> errors = getErrors(outcome);
  ASSERT_EQ(errors.size(), 2u) << outcome.err;
  std::sort(errors.begin(), errors.end());
  // It hears of it before the all_reduce or inside.
  EXPECT_TRUE(absl::StartsWith(errors[0], "error: [TP0870] rank 0"))
      << errors[0];
  EXPECT_TRUE(absl::StrContains(errors[0], ": rank 1 failed: ")) << errors[0];
  EXPECT_TRUE(absl::StrContains(errors[0], "'fail_at' returned error 42"))
      << errors[0];
  EXPECT_TRUE(absl::StrContains(errors[1], "[TP0879] rank 1")) << errors[1];
}

/// The collective goes on for 20 s on both ranks when one of them fails.
TEST_F(MpiFaults, AFailedRankTellsThoseWithACollectiveUnderWay) {
  Outcome outcome =
      runMpi(2, writeFault("fail_at", 42, true) + " --link_us=20e6");
  EXPECT_NE(outcome.code, 0);
  EXPECT_LT(outcome.time, absl::Seconds(15));
  std::vector<std::string> errors = getErrors(outcome);
  ASSERT_EQ(errors.size(), 2u) << outcome.err;
  std::sort(errors.begin(), errors.end());
  EXPECT_TRUE(absl::StartsWith(errors[0], "error: [TP0870] rank 0"))
      << errors[0];
  EXPECT_TRUE(absl::StrContains(errors[0], ": rank 1 failed: ")) << errors[0];
  EXPECT_TRUE(absl::StrContains(errors[1], "'fail_at' returned error 42"))
      << errors[1];
}

/// A second of computing and a link of a second, as threads and as processes.
TEST_F(MpiFaults, ComputingHidesTheLink) {
  for (bool mpi : {false, true}) {
    std::string arguments =
        writeFault("sleep_at", 1000, true) + " --bench=1 --link_us=1e6";
    Outcome outcome = mpi ? runMpi(2, arguments) : run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    double micros = 0;
    size_t begin = outcome.out.find("min ");
    ASSERT_NE(begin, std::string::npos) << outcome.out;
    ASSERT_EQ(std::sscanf(&outcome.out[begin], "min %lf", &micros), 1);
    EXPECT_GE(micros, 1e6);
    EXPECT_LT(micros, 1.8e6) << outcome.out;
    EXPECT_TRUE(absl::StrContains(outcome.out, "us, exposed ")) << outcome.out;
  }
}

TEST_F(MpiFaults, AWrongInputOnOneRankEndsTheOthers) {
  std::string program = writeFault("fail_at", 0);
  Outcome outcome = shell(
      absl::StrFormat("%s -n 1 %s %s : -n 1 %s %s --input z=1", kMpiRun,
                      TPRT_TEST_TP_RUN, program, TPRT_TEST_TP_RUN, program));
  EXPECT_NE(outcome.code, 0);
  std::vector<std::string> errors = getErrors(outcome);
  ASSERT_EQ(errors.size(), 2u) << outcome.err;
  std::sort(errors.begin(), errors.end());
  EXPECT_TRUE(absl::StartsWith(errors[0], "error: [TP0860] ")) << errors[0];
  EXPECT_TRUE(absl::StartsWith(errors[1], "error: [TP0870] rank 0"))
      << errors[1];
}

TEST_F(MpiFaults, ASlowRankIsNamedAfterTheDeadline) {
  Outcome outcome = runMpi(2, writeFault("sleep_at", 1500) + " --timeout=0.5");
  EXPECT_NE(outcome.code, 0);
  EXPECT_LT(outcome.time, kSoon);
  EXPECT_TRUE(absl::StrContains(outcome.err, "[TP0871] rank 0, all_reduce "
                                             "'attn.out': rank 1 did not"))
      << outcome.err;
}

TEST_F(MpiFaults, DifferentProgramsAreSeenAtOnce) {
  std::string fail = writeFault("fail_at", 0);
  std::string sleep = writeFault("sleep_at", 0);
  Outcome outcome =
      shell(absl::StrFormat("%s -n 1 %s %s : -n 1 %s %s", kMpiRun,
                            TPRT_TEST_TP_RUN, fail, TPRT_TEST_TP_RUN, sleep));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_LT(outcome.time, kSoon);
  std::vector<std::string> errors = getErrors(outcome);
  ASSERT_EQ(errors.size(), 2u) << outcome.err;
  for (const std::string &error : errors)
    EXPECT_TRUE(absl::StrContains(error, "[TP0872] rank ")) << error;
}

TEST_F(MpiFaults, AnotherNumberOfRanksIsSeenAtOnce) {
  Outcome outcome = runMpi(3, writeFault("fail_at", 0));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_LT(outcome.time, kSoon);
  EXPECT_TRUE(absl::StrContains(outcome.err, "[TP0873] rank ")) << outcome.err;
}

} // namespace
