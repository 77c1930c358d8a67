// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Whole programs on GPUs that are none: alone, three with NCCL between them,
// and three ranks on one. The same programs run on the CPU.

#include "Surroundings.h"
#include "TestProgram.h"
#include "runtime/CUDA/NcclWorld.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Session.h"
#include "tprt/tprt.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <thread>

using namespace tprt;
using namespace tprt::test;

namespace {

/// A folder of this process: others run tests of their own meanwhile.
const std::string &getFolder() {
  static const TempFolder folder;
  return folder.get();
}

std::string getRecordPath() { return getFolder() + "/record"; }

/// Before the fakes are asked for anything.
const bool hasEnvironment = [] {
  setenv("TPRT_FAKE_DEVICES", "3", 1);
  setenv("TPRT_EMULATED_KERNELS", TPRT_TEST_GPU_KERNELS, 1);
  setenv("TPRT_RECORD", getRecordPath().c_str(), 1);
  setenv("XDG_CACHE_HOME", getFolder().c_str(), 1);
  return true;
}();

/// The lines that the fakes have recorded since it was made.
class Record {
public:
  Record() : begin(read().size()) {}
  std::string get() const { return read().substr(begin); }
  int count(const std::string &what) const {
    std::string text = get();
    int found = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at)
      ++found;
    return found;
  }

private:
  static std::string read() {
    std::ifstream file(getRecordPath());
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  size_t begin;
};

absl::StatusOr<std::unique_ptr<Session>>
open(TestProgram &program, const std::string &backend,
     absl::Duration timeout = absl::Seconds(60)) {
  SessionOptions options;
  options.backend = backend;
  options.timeout = timeout;
  program.target = backend == "cpu" ? kCpuTarget : kCudaTarget;
  TPRT_ASSIGN_OR_RETURN(std::shared_ptr<const Artifact> artifact,
                        Artifact::fromBytes(program.finish()));
  return Session::open(options, std::move(artifact));
}

ErrorCode openingFails(TestProgram &program, const std::string &backend) {
  auto session = open(program, backend);
  return getErrorCode(session.status());
}

template <typename T> std::string toBytes(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

std::string iota(int64_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return toBytes(values);
}

/// The kernels of a program's image, by symbol.
class Kernels {
public:
  explicit Kernels(TestProgram &program) : program(program) {}

  uint32_t add(const std::string &symbol, int parameters,
               uint32_t sharedBytes = 0) {
    ptx += ".visible .entry " + symbol + "(\n";
    for (int i = 0; i < parameters; ++i)
      ptx += "  .param .u64 " + symbol + "_" + std::to_string(i) + ",\n";
    ptx += ")\n{\n  ret;\n}\n";
    program.writer.add(LaunchRow{1, 32, sharedBytes});
    return program.writer.add(KernelRow{program.writer.text(symbol)});
  }

  void addStep(uint32_t kernel, const std::vector<BufferRow> &buffers,
               uint32_t firstWritten, const std::vector<ScalarRow> &scalars,
               const std::string &name) {
    KernelCallRow call = {};
    call.kernel = kernel;
    call.buffers =
        program.writer.addAll<BufferRow>(absl::MakeConstSpan(buffers));
    call.firstWritten = firstWritten;
    call.scalars =
        program.writer.addAll<ScalarRow>(absl::MakeConstSpan(scalars));
    call.rowEnd = 1;
    program.addStep(StepKind::Kernel, program.writer.add(call), name);
  }

  void finish(uint32_t chip = 80) {
    GpuImageRow image = {};
    image.chip = chip;
    image.name = program.writer.text("sm_" + std::to_string(chip));
    image.size = ptx.size();
    program.writer.add(image);
    program.writer.setBytes(SectionKind::GpuCode, ptx);
  }

private:
  TestProgram &program;
  std::string ptx = ".version 8.0\n.target sm_80\n";
};

/// Not EXPECT_EQ, which would print all of both.
bool areSame(const std::string &a, const std::string &b) { return a == b; }

ScalarRow constant(int64_t value) { return {ScalarKind::Constant, 0, value}; }

absl::Status bindFloats(Session &session, const std::string &name,
                        const std::string &bytes) {
  return session.bind(name, DType::F32,
                      {static_cast<int64_t>(bytes.size()) / 4}, bytes);
}

/// Kernels, copies and fills in a loop: the same from the run that is issued,
/// the one that is captured, and those of the graph.
TEST(CudaSession, RunsCapturesAndRepeats) {
  TestProgram program;
  program.counters = 1;
  program.arena = 256;
  Kernels kernels(program);
  uint32_t x = program.addInput("x", DType::F32, {{12, {}}});
  uint32_t y = program.addOutput("y", DType::F32, {{12, {}}});
  uint32_t z = program.addOutput("z", DType::I64, {{3, {}}});
  ControlRow loop = {};
  loop.kind = ControlKind::Loop;
  loop.trips = 3;
  loop.first = 2;
  program.addStep(StepKind::Control, program.writer.add(loop));
  BufferRow from = program.buffer(Space::Input, x, 16);
  from.counter = 0;
  from.step = 16;
  BufferRow middle = program.buffer(Space::Arena, 0, 16, 64);
  kernels.addStep(kernels.add("add_scalar", 4), {from, middle}, 1,
                  {{ScalarKind::Counter, 0, 0}, constant(4)}, "add");
  CopyRow copy = {};
  copy.rank = 1;
  copy.dtype = DType::F32;
  copy.sizes[0] = 4;
  copy.source = middle;
  copy.from.strides[0] = copy.to.strides[0] = 1;
  copy.destination = program.buffer(Space::Output, y, 16);
  copy.destination.counter = 0;
  copy.destination.step = 16;
  program.addStep(StepKind::Copy, program.writer.add(copy), "copy");
  FillRow fill = {};
  fill.rank = 1;
  fill.dtype = DType::I64;
  fill.sizes[0] = 3;
  fill.destination = program.buffer(Space::Output, z, 24);
  fill.to.strides[0] = 1;
  fill.pattern = 0x0000000700000007;
  program.addStep(StepKind::Fill, program.writer.add(fill), "fill");
  kernels.finish();
  auto session = open(program, "cuda");
  ASSERT_TRUE(session.ok()) << session.status();
  for (int run = 0; run < 4; ++run) {
    float first = static_cast<float>(100 * run);
    ASSERT_TRUE(bindFloats(**session, "x", iota(12, first)).ok());
    Record record;
    absl::Status status = (*session)->run("main");
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(record.count("launch add_scalar"), run < 2 ? 3 : 0);
    EXPECT_EQ(record.count("launch graph of 7"), run < 1 ? 0 : 1);
    std::vector<float> wanted(12);
    for (int i = 0; i < 12; ++i)
      wanted[i] = first + static_cast<float>(i + i / 4);
    EXPECT_TRUE(areSame(*(*session)->read("y"), toBytes(wanted)));
    EXPECT_TRUE(areSame(*(*session)->read("z"),
                        toBytes(std::vector<int64_t>(3, 0x0000000700000007))));
  }
  // Timed, it is issued again, and each execution of a step has a time.
  (*session)->recordTimes(true);
  ASSERT_TRUE((*session)->run("main").ok());
  std::vector<Session::RankTimes> times = (*session)->takeTimes();
  ASSERT_EQ(times.size(), 1u);
  ASSERT_EQ(times[0].steps.size(), 7u);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_LE(times[0].steps[i].begin, times[0].steps[i].end);
    if (i > 0)
      EXPECT_LE(times[0].steps[i - 1].end, times[0].steps[i].begin);
  }
}

/// The host decides about a While and an If by a byte that it reads back; a
/// bound that is passed ends the run.
TEST(CudaSession, DecidesOnTheHost) {
  for (int trips : {5, 3}) {
    TestProgram program;
    program.counters = 1;
    program.arena = 256;
    Kernels kernels(program);
    uint32_t n = program.addInput("n", DType::I32, {{1, {}}});
    uint32_t x = program.addInput("x", DType::F32, {{4, {}}});
    program.addOutput("n.out", DType::I32, {{1, {}}}, n);
    program.addOutput("x.out", DType::F32, {{4, {}}}, x);
    BufferRow predicate = program.buffer(Space::Arena, 0, 1);
    ControlRow loop = {};
    loop.kind = ControlKind::While;
    loop.trips = trips;
    loop.first = loop.second = 1;
    loop.predicate = predicate;
    program.addStep(StepKind::Control, program.writer.add(loop), "while");
    kernels.addStep(kernels.add("count_down", 2),
                    {program.buffer(Space::Input, n, 4), predicate}, 0, {},
                    "count");
    BufferRow buffer = program.buffer(Space::Input, x, 16);
    uint32_t add = kernels.add("add_scalar", 4);
    kernels.addStep(add, {buffer, buffer}, 1, {constant(10), constant(4)},
                    "body");
    ControlRow branch = {};
    branch.kind = ControlKind::If;
    branch.first = branch.second = 1;
    branch.predicate = predicate;
    program.addStep(StepKind::Control, program.writer.add(branch), "if");
    kernels.addStep(add, {buffer, buffer}, 1, {constant(1000), constant(4)},
                    "then");
    kernels.addStep(add, {buffer, buffer}, 1, {constant(1), constant(4)},
                    "else");
    kernels.finish();
    auto session = open(program, "cuda");
    ASSERT_TRUE(session.ok()) << session.status();
    for (int run = 0; run < 2; ++run) {
      ASSERT_TRUE(
          (*session)
              ->bind("n", DType::I32, {1}, toBytes(std::vector<int32_t>{3}))
              .ok());
      ASSERT_TRUE(bindFloats(**session, "x", iota(4)).ok());
      absl::Status status = (*session)->run("main");
      if (trips == 3) {
        EXPECT_EQ(getErrorCode(status), ErrorCode::TripLimit) << status;
        break;
      }
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_TRUE(areSame(*(*session)->read("x.out"), iota(4, 31)));
    }
  }
}

/// Weights longer than a piece of pinned memory, of blocks that differ by rank,
/// and state that is zero at first and again when it is cleared.
TEST(CudaSession, StorageIsFilledReadAndCleared) {
  constexpr int64_t kElements = 3 * ((8 << 20) / 4) + 5;
  TestProgram program({{"model", 3}});
  uint32_t w =
      program.addInput("w", DType::F32, {{kElements, {0}}}, Role::Parameter);
  uint32_t s = program.addInput("s", DType::F32, {{4, {}}}, Role::State);
  program.addOutput("w.out", DType::F32, {{kElements, {0}}}, w);
  program.addOutput("s.out", DType::F32, {{4, {}}}, s);
  FillRow fill = {};
  fill.rank = 1;
  fill.dtype = DType::F32;
  fill.sizes[0] = 4;
  fill.destination = program.buffer(Space::Input, s, 16);
  fill.to.strides[0] = 1;
  fill.pattern = 0x3f800000; // 1.0
  program.addStep(StepKind::Fill, program.writer.add(fill), "fill");
  program.endEntry("write");
  program.inputs = {w, s};
  program.addOutput("w.out", DType::F32, {{kElements, {0}}}, w);
  program.addOutput("s.out", DType::F32, {{4, {}}}, s);
  program.endEntry("look");
  auto session = open(program, "cuda");
  ASSERT_TRUE(session.ok()) << session.status();
  std::string weights = iota(kElements);
  ASSERT_TRUE(bindFloats(**session, "w", weights).ok());
  ASSERT_TRUE((*session)->run("look").ok());
  EXPECT_TRUE(areSame(*(*session)->read("w.out"), weights));
  std::string zero = toBytes(std::vector<float>(4));
  EXPECT_TRUE(areSame(*(*session)->read("s.out"), zero));
  ASSERT_TRUE((*session)->run("write").ok());
  EXPECT_TRUE(
      areSame(*(*session)->read("s.out"), toBytes(std::vector<float>(4, 1))));
  ASSERT_TRUE((*session)->resetState().ok());
  ASSERT_TRUE((*session)->run("look").ok());
  EXPECT_TRUE(areSame(*(*session)->read("s.out"), zero));
}

struct CollectiveCase {
  CollectiveKind kind;
  Reduction reduction;
  int64_t from, to; ///< Elements per rank of source and destination.
  int64_t count;
};

constexpr int64_t kCount = 100;
const CollectiveCase kCollectives[] = {
    {CollectiveKind::AllReduce, Reduction::Sum, kCount, kCount, kCount},
    {CollectiveKind::AllGather, Reduction::None, kCount, 3 * kCount, kCount},
    {CollectiveKind::ReduceScatter, Reduction::Sum, 3 * kCount, kCount, kCount},
    {CollectiveKind::AllToAll, Reduction::None, 3 * kCount, 3 * kCount, kCount},
    {CollectiveKind::CollectivePermute, Reduction::None, kCount, kCount,
     kCount},
};

/// Random numbers are made by a kernel, and by nothing else.
TEST(CudaSession, RandomNumbersTakeAKernel) {
  TestProgram program;
  uint32_t x = program.addInput("x", DType::F32, {{4, {}}});
  uint32_t y = program.addOutput("y", DType::F32, {{4, {}}});
  CopyRow row = {};
  row.dtype = DType::F32;
  row.source = program.buffer(Space::Input, x, 16);
  row.destination = program.buffer(Space::Output, y, 16);
  row.rank = 1;
  row.sizes[0] = 4;
  row.from.strides[0] = row.to.strides[0] = 1;
  program.addStep(StepKind::Copy, program.writer.add(row), "copy");
  auto session = open(program, "cuda");
  ASSERT_TRUE(session.ok()) << session.status();
  absl::Status status = (*session)->bindRandom("x", 1);
  EXPECT_EQ(getErrorCode(status), ErrorCode::GpuStep);
  EXPECT_TRUE(
      absl::StrContains(status.message(), "no kernel that makes random f32"))
      << status;
}

/// What must be there to reduce in the ranks of one GPU.
void addCombine(TestProgram &program, uint32_t ranks) {
  Kernels kernels(program);
  uint32_t kernel = kernels.add("combine" + std::to_string(ranks),
                                static_cast<int>(ranks) + 2);
  program.writer.add(CombineRow{kernel, DType::F32, Reduction::Sum, ranks});
  kernels.finish();
}

/// Two collectives that start together, on a mesh of 3.
std::string runCollective(const CollectiveCase &test,
                          const std::string &backend, int runs) {
  TestProgram program({{"model", 3}});
  if (backend != "cpu")
    addCombine(program, 3);
  uint32_t x = program.addInput("x", DType::F32, {{3 * test.from, {0}}});
  uint32_t y = program.addOutput("y", DType::F32, {{3 * test.to, {0}}});
  uint32_t z = program.addOutput("z", DType::F32, {{3 * test.to, {0}}});
  CollectiveRow row = {};
  row.kind = test.kind;
  row.communicator = program.writer.add(CommunicatorRow{program.axes({0})});
  row.dtype = DType::F32;
  row.reduction = test.reduction;
  row.count = test.count;
  row.source = program.buffer(Space::Input, x, test.from * 4);
  row.destination = program.buffer(Space::Output, y, test.to * 4);
  std::vector<int64_t> permutation = {2, -1, 0};
  if (test.kind == CollectiveKind::CollectivePermute)
    row.permutation =
        program.writer.addAll<int64_t>(absl::MakeConstSpan(permutation));
  uint32_t first = program.writer.add(row);
  row.destination.index = z;
  uint32_t second = program.writer.add(row);
  for (uint32_t index : {first, second})
    program.addStep(StepKind::CollectiveStart, index, "sum");
  for (uint32_t index : {first, second})
    program.addStep(StepKind::CollectiveDone, index, "sum");
  auto session = open(program, backend);
  EXPECT_TRUE(session.ok()) << session.status();
  if (!session.ok())
    return "";
  std::string result;
  for (int run = 0; run < runs; ++run) {
    float at = 0.1f * static_cast<float>(run + 1);
    EXPECT_TRUE(bindFloats(**session, "x", iota(3 * test.from, at)).ok());
    absl::Status status = (*session)->run("main");
    EXPECT_TRUE(status.ok()) << status;
    result += *(*session)->read("y");
    result += *(*session)->read("z");
  }
  return result;
}

/// Between GPUs and between ranks of one: the same bits as on the CPU, run for
/// run, issued and from a graph.
TEST(CudaSession, EveryCollective) {
  for (const CollectiveCase &test : kCollectives) {
    SCOPED_TRACE(static_cast<int>(test.kind));
    std::string wanted = runCollective(test, "cpu", 3);
    Record record;
    EXPECT_TRUE(areSame(runCollective(test, "cuda", 3), wanted));
    // In run 1 and in the capture, but for a rank that has no part in it.
    EXPECT_GE(record.count("group of"), 4);
    EXPECT_EQ(record.count("launch graph"), 6);
    EXPECT_TRUE(areSame(runCollective(test, "virtual", 3), wanted));
  }
}

/// Groups along an axis of a mesh, each with a sum of its own: in place, and of
/// fewer elements than make whole parts.
TEST(CudaSession, GroupsOfAMesh) {
  std::string results[2];
  for (int i = 0; i < 2; ++i) {
    TestProgram program({{"data", 2}, {"model", 2}});
    if (i == 1)
      addCombine(program, 2);
    uint32_t x = program.addInput("x", DType::F32, {{4 * 37, {0, 1}}});
    program.addOutput("y", DType::F32, {{4 * 37, {0, 1}}}, x);
    CollectiveRow row = {};
    row.dtype = DType::F32;
    row.reduction = Reduction::Sum;
    row.count = 37;
    row.source = row.destination = program.buffer(Space::Input, x, 37 * 4);
    for (uint32_t axis : {0, 1}) {
      row.communicator =
          program.writer.add(CommunicatorRow{program.axes({axis})});
      program.addCollective(row, "sum");
    }
    auto session = open(program, i == 0 ? "cpu" : "virtual");
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(bindFloats(**session, "x", iota(4 * 37, 0.3f)).ok());
    absl::Status status = (*session)->run("main");
    ASSERT_TRUE(status.ok()) << status;
    results[i] = *(*session)->read("y");
  }
  EXPECT_TRUE(areSame(results[0], results[1]));
}

/// A matmul, an all-reduce of its result and what is added to that: streams
/// that wait for each other.
TEST(CudaSession, ComputesBetweenCollectives) {
  for (const char *backend : {"cuda", "virtual"}) {
    TestProgram program({{"model", 3}});
    program.arena = 1024;
    Kernels kernels(program);
    uint32_t combine = kernels.add("combine3", 5);
    program.writer.add(CombineRow{combine, DType::F32, Reduction::Sum, 3});
    uint32_t x = program.addInput("x", DType::F32, {{2, {}}, {6, {0}}});
    uint32_t w =
        program.addInput("w", DType::F32, {{6, {0}}, {2, {}}}, Role::Parameter);
    uint32_t y = program.addOutput("y", DType::F32, {{2, {}}, {2, {}}});
    MatmulRow matmul = {};
    matmul.m = matmul.n = matmul.k = 2;
    std::fill_n(matmul.batch, kMaxBatch, 1);
    auto operand = [](BufferRow buffer) {
      MatmulOperand result = {buffer, DType::F32, 0, {}};
      result.strides[kMaxBatch] = 2;
      result.strides[kMaxBatch + 1] = 1;
      return result;
    };
    BufferRow partial = program.buffer(Space::Arena, 0, 16, 256);
    matmul.a = operand(program.buffer(Space::Input, x, 16));
    matmul.b = operand(program.buffer(Space::Input, w, 16));
    matmul.c = operand(partial);
    program.addStep(StepKind::Matmul, program.writer.add(matmul), "mlp");
    CollectiveRow sum = {};
    sum.communicator = program.writer.add(CommunicatorRow{program.axes({0})});
    sum.dtype = DType::F32;
    sum.reduction = Reduction::Sum;
    sum.count = 4;
    sum.source = sum.destination = partial;
    program.addCollective(sum, "mlp.out");
    kernels.addStep(kernels.add("add_scalar", 4),
                    {partial, program.buffer(Space::Output, y, 16)}, 1,
                    {constant(1), constant(4)}, "add");
    kernels.finish();
    auto session = open(program, backend);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE((*session)->bind("x", DType::F32, {2, 6}, iota(12)).ok());
    ASSERT_TRUE((*session)->bind("w", DType::F32, {6, 2}, iota(12)).ok());
    for (int run = 0; run < 3; ++run) {
      absl::Status status = (*session)->run("main");
      ASSERT_TRUE(status.ok()) << status;
      // [0..5; 6..11] times [0 1; 2 3; ..], plus one.
      EXPECT_TRUE(areSame(*(*session)->read("y"),
                          toBytes(std::vector<float>{111, 126, 291, 342})));
    }
    (*session)->recordTimes(true);
    ASSERT_TRUE((*session)->run("main").ok());
    for (const Session::RankTimes &times : (*session)->takeTimes())
      EXPECT_EQ(times.steps.size(), 4u);
  }
}

/// The C interface lets f32 be rounded where it is asked to.
TEST(CudaSession, RoundsToTF32WhereAsked) {
  TestProgram program({{"model", 1}});
  uint32_t x = program.addInput("x", DType::F32, {{4, {}}});
  uint32_t y = program.addOutput("y", DType::F32, {{4, {}}});
  MatmulRow row = {};
  row.m = row.n = row.k = 2;
  std::fill_n(row.batch, kMaxBatch, 1);
  row.a = {program.buffer(Space::Input, x, 16), DType::F32, 0, {}};
  row.a.strides[kMaxBatch] = 2;
  row.a.strides[kMaxBatch + 1] = 1;
  row.b = row.c = row.a;
  row.c.buffer = program.buffer(Space::Output, y, 16);
  program.addStep(StepKind::Matmul, program.writer.add(row), "mlp");
  program.target = kCudaTarget;
  std::string bytes = program.finish();
  tprt_options options = {};
  options.size = sizeof(options);
  options.backend = "cuda";
  for (int32_t tf32 : {0, 1, 2}) {
    options.tf32 = tf32;
    Record record;
    tprt_session *session = nullptr;
    tprt_status status =
        tprt_open_bytes(bytes.data(), bytes.size(), &options, &session);
    EXPECT_EQ(status, tf32 == 2 ? 881 : 0) << tprt_error(session);
    if (status == 0) {
      const int64_t shape[] = {4};
      const float data[] = {1, 2, 3, 4};
      tprt_tensor value = {sizeof(value), TPRT_F32, 1,
                           shape,         data,     sizeof(data)};
      EXPECT_EQ(tprt_bind(session, "x", &value), 0);
      EXPECT_EQ(tprt_run(session, "main"), 0);
      EXPECT_EQ(tprt_sync(session, -1), 0);
    }
    EXPECT_EQ(record.count("matmul ") > 0, tf32 != 2);
    EXPECT_EQ(record.count(" tf32 "), tf32 == 1 ? record.count("matmul ") : 0);
    tprt_close(session);
  }
}

/// Ranks without MPI tell each other by their GPUs: bytes of different lengths,
/// none among them, and again.
TEST(CudaWorld, ExchangesByGpus) {
  MeetingPlace place("here:1");
  std::vector<std::thread> threads;
  std::vector<absl::Status> results(3, absl::UnknownError(""));
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&results, rank] {
      results[rank] = [&]() -> absl::Status {
        TPRT_ASSIGN_OR_RETURN(
            std::unique_ptr<World> world,
            createNcclWorld({rank, 3, "here:1"}, rank, absl::Seconds(60)));
        for (int turn = 0; turn < 2; ++turn) {
          std::string mine(static_cast<size_t>(rank * 1000), 'a' + rank + turn);
          TPRT_ASSIGN_OR_RETURN(std::vector<std::string> all,
                                world->exchange(mine, "trying"));
          for (int peer = 0; peer < 3; ++peer)
            if (all[peer] != std::string(static_cast<size_t>(peer * 1000),
                                         'a' + peer + turn))
              return absl::InternalError("wrong bytes");
        }
        return world->split({0, 1, 2}).ok() ? absl::InternalError("a split")
                                            : absl::OkStatus();
      }();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const absl::Status &result : results)
    EXPECT_TRUE(result.ok()) << result;
}

/// A rank that does not come is waited for as long as was said.
TEST(CudaWorld, MissingRankIsNoticed) {
  MeetingPlace place("here:2");
  auto world = createNcclWorld({0, 2, "here:2"}, 0, absl::Milliseconds(200));
  EXPECT_EQ(getErrorCode(world.status()), ErrorCode::CollectiveTimeout);
}

//===----------------------------------------------------------------------===//
// What goes wrong
//===----------------------------------------------------------------------===//

/// One kernel, of this much shared memory, for this chip.
TestProgram makeKernelProgram(uint32_t shared, uint32_t chip,
                              const std::string &symbol = "add_scalar") {
  TestProgram program;
  Kernels kernels(program);
  uint32_t y = program.addOutput("y", DType::F32, {{4, {}}});
  BufferRow buffer = program.buffer(Space::Output, y, 16);
  kernels.addStep(kernels.add(symbol, 4, shared), {buffer, buffer}, 0,
                  {constant(1), constant(4)}, "add");
  kernels.finish(chip);
  return program;
}

/// No code for the chip, code that the driver refuses, a kernel that is not in
/// it, more shared memory than there is.
TEST(CudaFaults, CodeThatDoesNotFit) {
  TestProgram newer = makeKernelProgram(0, 130);
  EXPECT_EQ(openingFails(newer, "cuda"), ErrorCode::GpuImage);
  TestProgram spoilt = makeKernelProgram(0, 80);
  spoilt.writer.setBytes(SectionKind::GpuCode, std::string(4096, 'x'));
  EXPECT_EQ(openingFails(spoilt, "cuda"), ErrorCode::GpuImage);
  TestProgram other = makeKernelProgram(0, 80);
  other.writer.add(KernelRow{other.writer.text("no_such_kernel")});
  other.writer.add(LaunchRow{1, 1, 0});
  EXPECT_EQ(openingFails(other, "cuda"), ErrorCode::GpuImage);
  TestProgram large = makeKernelProgram(1 << 20, 80);
  EXPECT_EQ(openingFails(large, "cuda"), ErrorCode::GpuFailed);
  TestProgram fits = makeKernelProgram(200 << 10, 80);
  EXPECT_EQ(openingFails(fits, "cuda"), ErrorCode(0));
}

/// A program for a CPU, and steps that take a kernel.
TEST(CudaFaults, StepsThatNoGpuExecutes) {
  auto makeCopy = [](int64_t stride) {
    TestProgram program;
    uint32_t x = program.addInput("x", DType::F32, {{8, {}}});
    uint32_t y = program.addOutput("y", DType::F32, {{8, {}}});
    CopyRow copy = {};
    copy.rank = 1;
    copy.dtype = DType::F32;
    copy.sizes[0] = 4;
    copy.source = program.buffer(Space::Input, x, 32);
    copy.destination = program.buffer(Space::Output, y, 32);
    copy.from.strides[0] = stride;
    copy.to.strides[0] = 1;
    program.addStep(StepKind::Copy, program.writer.add(copy), "copy");
    return program;
  };
  TestProgram dense = makeCopy(1), strided = makeCopy(2);
  EXPECT_EQ(openingFails(dense, "cuda"), ErrorCode(0));
  EXPECT_EQ(openingFails(strided, "cuda"), ErrorCode::GpuStep);
  for (uint64_t pattern : {uint64_t{1}, uint64_t{0}}) {
    TestProgram program;
    uint32_t y = program.addOutput("y", DType::F64, {{8, {}}});
    FillRow fill = {};
    fill.rank = 1;
    fill.dtype = DType::F64;
    fill.sizes[0] = 4;
    fill.destination = program.buffer(Space::Output, y, 64);
    fill.to.strides[0] = 1;
    fill.pattern = pattern;
    program.addStep(StepKind::Fill, program.writer.add(fill), "fill");
    EXPECT_EQ(openingFails(program, "cuda"),
              pattern == 0 ? ErrorCode(0) : ErrorCode::GpuStep);
  }
}

TestProgram makeMatmul(DType dtype = DType::F32) {
  TestProgram program({{"model", 3}});
  auto bytes = static_cast<uint64_t>(1024 * getSize(dtype));
  uint32_t x = program.addInput("x", dtype, {{1024, {}}});
  uint32_t y = program.addOutput("y", DType::F32, {{1024, {}}});
  MatmulRow row = {};
  row.m = row.n = row.k = 32;
  std::fill_n(row.batch, kMaxBatch, 1);
  row.a = {program.buffer(Space::Input, x, bytes), dtype, 0, {}};
  row.a.strides[kMaxBatch] = 32;
  row.a.strides[kMaxBatch + 1] = 1;
  row.b = row.c = row.a;
  std::swap(row.b.strides[kMaxBatch], row.b.strides[kMaxBatch + 1]);
  row.c.dtype = DType::F32;
  row.c.buffer = program.buffer(Space::Output, y, 4096);
  program.addStep(StepKind::Matmul, program.writer.add(row), "mlp");
  return program;
}

/// 8-bit floats are for GPUs that multiply them, and the error says which does
/// not.
TEST(CudaFaults, Float8OnAnEarlierGpu) {
  for (auto [chip, isEarlier] : {std::make_pair("86", true), {"89", false}}) {
    Variable variable("TPRT_FAKE_CHIP", chip);
    TestProgram wide = makeMatmul(), narrow = makeMatmul(DType::F8E4M3FN);
    EXPECT_EQ(openingFails(wide, "cuda"), ErrorCode(0));
    absl::Status status = open(narrow, "cuda").status();
    EXPECT_EQ(getErrorCode(status),
              isEarlier ? ErrorCode::GpuImage : ErrorCode(0))
        << status;
    if (isEarlier)
      EXPECT_NE(status.message().find("Fake GPU of sm_86"), std::string::npos)
          << status;
  }
}

/// More ranks than GPUs, GPUs of two kinds, a GPU that is too small.
TEST(CudaFaults, MachinesThatDoNotFit) {
  TestProgram four({{"model", 4}});
  four.addInput("x", DType::F32, {{4, {}}});
  four.endEntry();
  EXPECT_EQ(openingFails(four, "cuda"), ErrorCode::GpuMissing);
  {
    Variable odd("TPRT_FAKE_ODD", "1");
    TestProgram program = makeMatmul();
    EXPECT_EQ(openingFails(program, "cuda"), ErrorCode::GpuMismatch);
  }
  {
    Variable memory("TPRT_FAKE_MEMORY", "40000000");
    TestProgram program = makeMatmul();
    EXPECT_EQ(openingFails(program, "cuda"), ErrorCode(0));
  }
  Variable memory("TPRT_FAKE_MEMORY", "20000000");
  TestProgram program = makeMatmul();
  EXPECT_EQ(openingFails(program, "cuda"), ErrorCode::OutOfMemory);
}

TestProgram makeSum(DType dtype = DType::F32) {
  TestProgram program({{"model", 3}});
  uint32_t x = program.addInput("x", dtype, {{3 * 77, {0}}});
  program.addOutput("y", dtype, {{3 * 77, {0}}}, x);
  CollectiveRow sum = {};
  sum.communicator = program.writer.add(CommunicatorRow{program.axes({0})});
  sum.dtype = dtype;
  sum.reduction = Reduction::Sum;
  sum.count = 77;
  sum.source = sum.destination =
      program.buffer(Space::Input, x, 77 * getSize(dtype));
  program.addCollective(sum, "attn.out");
  return program;
}

/// What NCCL has no type for, and what no kernel of the artifact reduces.
TEST(CudaFaults, ReductionsThatNobodyDoes) {
  TestProgram words = makeSum(DType::I16);
  EXPECT_EQ(openingFails(words, "cuda"), ErrorCode::GpuStep);
  TestProgram floats = makeSum();
  EXPECT_EQ(openingFails(floats, "virtual"), ErrorCode::GpuStep);
}

/// A collective that never ends is named when its time is over, issued or in a
/// graph, every rank ends, and NCCL is told to stop.
TEST(CudaFaults, CollectiveThatIsStuck) {
  for (bool isCaptured : {false, true}) {
    TestProgram program = makeSum();
    auto session = open(program, "cuda", absl::Seconds(1));
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(bindFloats(**session, "x", iota(3 * 77)).ok());
    if (isCaptured)
      ASSERT_TRUE((*session)->run("main").ok());
    Variable stuck("TPRT_FAKE_STUCK", "77");
    Record record;
    absl::Status status = (*session)->run("main");
    EXPECT_EQ(getErrorCode(status), ErrorCode::CollectiveTimeout) << status;
    EXPECT_NE(status.message().find(isCaptured ? "graph of 'main'"
                                               : "all_reduce 'attn.out'"),
              std::string::npos)
        << status;
    EXPECT_EQ((*session)->getRankErrors().size(), 3u);
    EXPECT_EQ(record.count("abort c0.0"), 3);
  }
}

/// Stopped from outside, ranks that wait for the GPU end.
TEST(CudaFaults, AbortEndsAWait) {
  TestProgram program = makeSum();
  auto session = open(program, "cuda");
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(bindFloats(**session, "x", iota(3 * 77)).ok());
  Variable stuck("TPRT_FAKE_STUCK", "77");
  ASSERT_TRUE((*session)->start("main").ok());
  EXPECT_FALSE((*session)->wait(absl::Milliseconds(50)).ok());
  (*session)->abort("enough");
  absl::Status status = (*session)->wait(absl::Seconds(20));
  EXPECT_EQ(getErrorCode(status), ErrorCode::Aborted) << status;
}

/// Whatever this process tested, nothing that the backend did was misuse, or
/// left on the GPU.
class Aftermath : public ::testing::Environment {
  void TearDown() override {
    std::ifstream file(getRecordPath());
    for (std::string line; std::getline(file, line);) {
      EXPECT_NE(line.rfind("misuse", 0), 0u) << line;
      EXPECT_NE(line.rfind("leak", 0), 0u) << line;
    }
  }
};
[[maybe_unused]] ::testing::Environment *const aftermath =
    ::testing::AddGlobalTestEnvironment(new Aftermath);

} // namespace
