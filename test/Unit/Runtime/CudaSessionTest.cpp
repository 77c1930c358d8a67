// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Whole programs on GPUs that are none: alone, three with NCCL between them,
// and three ranks on one. The same programs run on the CPU.

#include "CudaSurroundings.h"
#include "runtime/CUDA/NcclWorld.h"
#include "tprt/tprt.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"

#include <thread>

using namespace tprt;
using namespace tprt::test;

namespace {

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
  EXPECT_TRUE(absl::StrContains(
      status.message(), "no kernel that generates random numbers of type f32"))
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

/// A gather and a sum, each too large to share a launch unless it is joined.
TEST(CudaSession, JoinedCollectivesAreOneGroup) {
  constexpr int64_t count = 300000;
  std::string results[2];
  for (uint32_t joined : {0, 1}) {
    TestProgram program({{"data", 2}});
    uint32_t x = program.addInput("x", DType::F32, {{2 * count, {0}}});
    uint32_t y = program.addOutput("y", DType::F32, {{2 * count, {}}});
    uint32_t z = program.addOutput("z", DType::F32, {{count, {}}});
    CollectiveRow gather = {};
    gather.kind = CollectiveKind::AllGather;
    gather.communicator =
        program.writer.add(CommunicatorRow{program.axes({0})});
    gather.dtype = DType::F32;
    gather.count = count;
    gather.source = program.buffer(Space::Input, x, count * 4);
    gather.destination = program.buffer(Space::Output, y, 2 * count * 4);
    CollectiveRow sum = gather;
    sum.kind = CollectiveKind::AllReduce;
    sum.reduction = Reduction::Sum;
    sum.destination = program.buffer(Space::Output, z, count * 4);
    sum.joined = joined;
    uint32_t rows[] = {program.writer.add(gather), program.writer.add(sum)};
    for (uint32_t row : rows)
      program.addStep(StepKind::CollectiveStart, row, "both");
    for (uint32_t row : rows)
      program.addStep(StepKind::CollectiveDone, row, "both");
    auto session = open(program, "cuda");
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(bindFloats(**session, "x", iota(2 * count, 0.5f)).ok());
    Record record;
    absl::Status status = (*session)->run("main");
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(record.count("group of 2"), joined ? 2 : 0);
    results[joined] = *(*session)->read("y") + *(*session)->read("z");
  }
  EXPECT_TRUE(areSame(results[0], results[1]));
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
    TestProgram program = makeMlp();
    auto session = open(program, backend);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(bindMlp(**session).ok());
    for (int run = 0; run < 3; ++run) {
      absl::Status status = (*session)->run("main");
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_TRUE(areSame(*(*session)->read("y"), getMlpResult()));
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
