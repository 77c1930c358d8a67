// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How the fastest of several ways is found, and that of a product, on a GPU
// that is none.

#include "CudaSurroundings.h"
#include "runtime/CUDA/TuningBench.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <filesystem>

using namespace tprt;
using namespace tprt::test;

namespace {

/// Ways that fill memory so many times, which takes as many microseconds.
struct Fills {
  std::vector<int> counts;
  std::shared_ptr<Device> device = *Device::open(0);
  Owned<cuda::Pointer> memory;
  std::vector<int> runs;

  explicit Fills(std::vector<int> counts)
      : counts(std::move(counts)), runs(this->counts.size()) {
    EXPECT_TRUE(device->enter().ok());
    memory = *device->allocate(64);
  }

  absl::Status run(int way, cuda::Stream stream) {
    ++runs[way];
    for (int i = 0; i < counts[way]; ++i)
      TPRT_RETURN_IF_ERROR(device->check(
          device->driver.set8(memory.get(), 0, 64, stream), "filling"));
    return counts[way] < 0 ? absl::InternalError("it fails") : absl::OkStatus();
  }

  absl::StatusOr<TuningBench::Finding> findFastest() {
    TPRT_ASSIGN_OR_RETURN(TuningBench bench, TuningBench::create(*device));
    return bench.findFastest(
        static_cast<int>(counts.size()),
        [this](int way, cuda::Stream stream) { return run(way, stream); });
  }
};

/// The fastest is found of those that do not fail; each is issued once and
/// captured once, and what is timed are graphs, on a GPU that has worked for
/// some time.
TEST(CudaTuning, FindsTheFastestByGraphs) {
  Fills fills({5, -1, 2, 3});
  Record record;
  absl::Time begin = absl::Now();
  auto found = fills.findFastest();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(50));
  EXPECT_EQ(found->way, 2);
  EXPECT_TRUE(found->isCertain);
  EXPECT_EQ(fills.runs, std::vector<int>({2, 1, 2, 2}));
  EXPECT_EQ(record.count("launch graph of 5"), 8);
  EXPECT_EQ(record.count("launch graph of 2"), 8);
}

/// If there is none that does not fail, the first error is it.
TEST(CudaTuning, AllWaysFail) {
  Fills fills({-1, -1});
  EXPECT_EQ(fills.findFastest().status(), absl::InternalError("it fails"));
}

/// Where no graph can be made, ways are issued.
TEST(CudaTuning, IssuesWhatCannotBeCaptured) {
  Variable failing("TPRT_FAKE_FAIL", "cuGraphInstantiateWithFlags");
  Fills fills({3, 2});
  auto found = fills.findFastest();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->way, 1);
  EXPECT_EQ(fills.runs, std::vector<int>({10, 10}));
}

/// While another process has its turns, the best of the rounds is still that of
/// the fastest, but nobody can be certain.
TEST(CudaTuning, IsNotCertainOnASharedGpu) {
  Variable busy("TPRT_FAKE_BUSY", "7");
  Fills fills({5, 2});
  auto found = fills.findFastest();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->way, 1);
  EXPECT_FALSE(found->isCertain);
}

/// A product is computed by the fastest proposal of those that work. It is kept
/// for the next time unless somebody else used the GPU.
TEST(CudaTuning, KeepsWhatIsCertain) {
  for (const char *works : {"0", "5"}) {
    TempFolder folder;
    Variable cache("XDG_CACHE_HOME", folder.get().c_str());
    Variable busy("TPRT_FAKE_BUSY", works);
    TestProgram program = makeMlp();
    Record record;
    auto session = open(program, "cuda");
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(bindMlp(**session).ok());
    Record runs;
    ASSERT_TRUE((*session)->run("main").ok());
    EXPECT_EQ(runs.count("matmul"), 3);
    bool isKept = std::filesystem::exists(folder.get() +
                                          "/tp-opt/tuning-Fake_GPU-130100.txt");
    EXPECT_EQ(isKept, *works == '0');
    if (isKept)
      EXPECT_EQ(runs.count(" by 3"), 3);
  }
}

/// Adds steps that fill a buffer with ones, `count` times.
void addFills(TestProgram &program, int count, BufferRow to) {
  FillRow fill = {};
  fill.rank = 1;
  fill.dtype = DType::F32;
  fill.sizes[0] = static_cast<int64_t>(to.size) / 4;
  fill.destination = to;
  fill.to.strides[0] = 1;
  fill.pattern = 0x3f800000;
  for (int i = 0; i < count; ++i)
    program.addStep(StepKind::Fill, program.writer.add(fill));
}

/// The faster steps are executed, one by one and from a graph, by all ranks; of
/// a choice within a choice, the fastest of all three. Equal ones are timed
/// once, and what was found is found again.
TEST(CudaTuning, TakesTheFasterSteps) {
  TempFolder folder;
  Variable cache("XDG_CACHE_HOME", folder.get().c_str());
  Variable devices("TPRT_FAKE_DEVICES", "2");
  for (bool isKnown : {false, true}) {
    TestProgram program({{"x", 2}});
    BufferRow y = TestProgram::buffer(
        Space::Output, program.addOutput("y", DType::F32, {{4, {}}}), 16);
    for (int i = 0; i < 2; ++i) {
      program.addChoice(3, 1 + 4 + 2);
      addFills(program, 3, y);
      program.addChoice(4, 2);
      addFills(program, 4, y);
      addFills(program, 2, y);
    }
    Record record;
    auto session = open(program, "cuda");
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_EQ(record.count("launch graph"), isKnown ? 0 : 4 * 8);
    EXPECT_EQ(record.count("launch graph of 4"), isKnown ? 0 : 8);
    for (int run = 0; run < 3; ++run) {
      Record runs;
      ASSERT_TRUE((*session)->run("main").ok());
      EXPECT_EQ(runs.count("set "), run < 2 ? 2 * 4 : 0);
      EXPECT_EQ(runs.count("launch graph of 4"), run > 0 ? 2 : 0);
    }
    auto read = (*session)->read("y");
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, toBytes(std::vector<float>(4, 1)));
  }
}

/// Ranks that would not choose alike do not start.
TEST(CudaTuning, ChoosesOnOneKindOfGpu) {
  TempFolder folder;
  Variable cache("XDG_CACHE_HOME", folder.get().c_str());
  Variable devices("TPRT_FAKE_DEVICES", "2");
  Variable odd("TPRT_FAKE_ODD", "1");
  TestProgram program({{"x", 2}});
  BufferRow y = TestProgram::buffer(
      Space::Output, program.addOutput("y", DType::F32, {{4, {}}}), 16);
  program.addChoice(1, 1);
  addFills(program, 2, y);
  EXPECT_EQ(openingFails(program, "cuda"), ErrorCode::GpuMismatch);
}

/// While steps are timed, they write into memory of their own. Where there is
/// none, the first ones are taken.
TEST(CudaTuning, TimesInMemoryOfItsOwn) {
  for (bool hasMemory : {true, false}) {
    TempFolder folder;
    Variable cache("XDG_CACHE_HOME", folder.get().c_str());
    TestProgram program;
    constexpr int64_t elements = 1 << 18;
    Variable memory("TPRT_FAKE_MEMORY", hasMemory ? "8000000" : "1500000");
    uint32_t s =
        program.addInput("s", DType::F32, {{elements, {}}}, Role::State);
    program.addOutput("s.out", DType::F32, {{elements, {}}}, s);
    BufferRow buffer = TestProgram::buffer(Space::Input, s, 4 * elements);
    program.addChoice(2, 1);
    addFills(program, 3, buffer);
    auto session = open(program, "cuda");
    ASSERT_TRUE(session.ok()) << session.status();
    auto zeros = (*session)->readInput("s");
    ASSERT_TRUE(zeros.ok()) << zeros.status();
    EXPECT_TRUE(areSame(*zeros, std::string(4 * elements, '\0')));
    Record runs;
    ASSERT_TRUE((*session)->run("main").ok());
    EXPECT_EQ(runs.count("set "), hasMemory ? 1 : 2);
  }
}

} // namespace
