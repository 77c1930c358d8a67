// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Session.h"
#include "TestKernels.h"
#include "runtime/Core/Errors.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

using namespace tprt;
using namespace tprt::test;

namespace {

absl::StatusOr<std::unique_ptr<Session>> open(TestProgram &program,
                                              SessionOptions options = {}) {
  TPRT_ASSIGN_OR_RETURN(std::shared_ptr<const Artifact> artifact,
                        Artifact::fromBytes(program.finish()));
  return Session::open(options, std::move(artifact));
}

template <typename T> absl::string_view asBytes(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

template <typename T>
std::vector<T> readAs(Session &session, absl::string_view name) {
  auto bytes = session.read(name);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  std::vector<T> values(bytes.ok() ? bytes->size() / sizeof(T) : 0);
  if (!values.empty())
    std::memcpy(values.data(), bytes->data(), values.size() * sizeof(T));
  return values;
}

std::vector<float> iota(int64_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(Session, RunsKernelsWithScalarsAndBlocks) {
  TestProgram program({{"data", 2}, {"model", 2}});
  addObjectCode(program);
  uint32_t x = program.addInput("x", DType::F32, {{10, {1}}});
  uint32_t y = program.addOutput("y", DType::F32, {{10, {1}}});
  uint32_t s = program.addOutput("s", DType::I64, {{4 * 3, {0, 1}}});
  uint32_t data = program.axes({0}).first, model = program.axes({1}).first;
  addKernel(program, "add_scalar",
            {program.buffer(Space::Input, x, 20),
             program.buffer(Space::Output, y, 20)},
            1, {constant(100)}, 5);
  addKernel(program, "record_scalars", {program.buffer(Space::Output, s, 24)},
            0,
            {constant(-7),
             {ScalarKind::Coordinate, data, 0},
             {ScalarKind::Coordinate, model, 0}},
            3);
  auto session = open(program);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->bind("x", DType::F32, {10}, asBytes(iota(10))).ok());
  ASSERT_TRUE((*session)->run("main").ok());
  EXPECT_EQ(readAs<float>(**session, "y"), iota(10, 100));
  EXPECT_EQ(readAs<int64_t>(**session, "s"),
            (std::vector<int64_t>{-7, 0, 0, -7, 0, 1, -7, 1, 0, -7, 1, 1}));
}

extern "C" int useTheRuntime(const void *artifact, size_t size);

TEST(CApi, WorksFromC) {
  TestProgram program({{"model", 2}});
  addObjectCode(program);
  uint32_t x = program.addInput("x", DType::F32, {{10, {0}}});
  uint32_t y = program.addOutput("y", DType::F32, {{10, {0}}});
  addKernel(program, "add_scalar",
            {program.buffer(Space::Input, x, 20),
             program.buffer(Space::Output, y, 20)},
            1, {constant(100)}, 5);
  std::string bytes = program.finish();
  EXPECT_EQ(useTheRuntime(bytes.data(), bytes.size()), 0) << "line of capi.c";
}

/// A loop over the layers of a stacked input, each trip in its own slice.
TEST(Session, LoopsOverStackedSlices) {
  TestProgram program;
  addObjectCode(program);
  program.counters = 1;
  uint32_t x = program.addInput("x", DType::F32, {{3, {}}, {4, {}}});
  uint32_t y = program.addOutput("y", DType::F32, {{3, {}}, {4, {}}});
  ControlRow loop = {};
  loop.kind = ControlKind::Loop;
  loop.counter = 0;
  loop.trips = 3;
  loop.first = 1;
  program.addStep(StepKind::Control, program.writer.add(loop));
  BufferRow from = program.buffer(Space::Input, x, 16);
  BufferRow to = program.buffer(Space::Output, y, 16);
  from.counter = to.counter = 0;
  from.step = to.step = 16;
  addKernel(program, "add_scalar", {from, to}, 1, {{ScalarKind::Counter, 0, 0}},
            4);
  auto session = open(program);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(
      (*session)->bind("x", DType::F32, {3, 4}, asBytes(iota(12))).ok());
  ASSERT_TRUE((*session)->run("main").ok());
  std::vector<float> wanted = iota(12);
  for (int i = 0; i < 12; ++i)
    wanted[i] += static_cast<float>(i / 4);
  EXPECT_EQ(readAs<float>(**session, "y"), wanted);
}

/// Scatters and sorts that are large enough for several threads to share give
/// what one thread gives, and what a loop over their definition does.
TEST(Session, ScattersAndSortsOnAnyNumberOfThreads) {
  constexpr int64_t kUpdates = 400, kColumns = 64, kRows = 30, kKept = 7;
  std::vector<float> updates(kUpdates * kColumns), keys(kUpdates * kColumns);
  std::vector<int64_t> places(kUpdates);
  for (int64_t i = 0; i < kUpdates; ++i)
    places[i] = i * 31 % (kRows + 4) - 2; // some are outside
  for (size_t i = 0; i < updates.size(); ++i) {
    updates[i] = 1.0f / static_cast<float>(i + 1);
    keys[i] = i % 97 == 0 ? NAN : static_cast<float>(i * 7919 % 50);
  }
  std::vector<float> sums(kRows * kColumns);
  for (int64_t i = 0; i < kUpdates; ++i)
    for (int64_t j = 0; j < kColumns && places[i] >= 0 && places[i] < kRows;
         ++j)
      sums[places[i] * kColumns + j] += updates[i * kColumns + j];
  std::vector<int32_t> order;
  for (int64_t row = 0; row < kUpdates; ++row) {
    std::vector<int32_t> all(kColumns);
    std::iota(all.begin(), all.end(), 0);
    auto getRank = [&](int32_t i) { // NaN is the largest
      float key = keys[row * kColumns + i];
      return std::make_pair(std::isnan(key) ? -INFINITY : -key, i);
    };
    std::sort(all.begin(), all.end(),
              [&](int32_t a, int32_t b) { return getRank(a) < getRank(b); });
    order.insert(order.end(), all.begin(), all.begin() + kKept);
  }
  for (int threads : {1, 3}) {
    TestProgram program;
    uint32_t u =
        program.addInput("u", DType::F32, {{kUpdates, {}}, {kColumns, {}}});
    uint32_t p = program.addInput("p", DType::I64, {{kUpdates, {}}});
    uint32_t k =
        program.addInput("k", DType::F32, {{kUpdates, {}}, {kColumns, {}}});
    uint32_t y =
        program.addOutput("y", DType::F32, {{kRows, {}}, {kColumns, {}}});
    uint32_t v =
        program.addOutput("v", DType::F32, {{kUpdates, {}}, {kKept, {}}});
    uint32_t i =
        program.addOutput("i", DType::I32, {{kUpdates, {}}, {kKept, {}}});
    FillRow zero = {};
    zero.rank = 1;
    zero.dtype = DType::F32;
    zero.sizes[0] = kRows * kColumns;
    zero.destination = program.buffer(Space::Output, y, sums.size() * 4);
    zero.to.strides[0] = 1;
    program.addStep(StepKind::Fill, program.writer.add(zero));
    ScatterRow scatter = {};
    scatter.kind = ScatterKind::Add;
    scatter.dtype = DType::F32;
    scatter.batch = scatter.outer = 1;
    scatter.count = kUpdates, scatter.inner = kColumns, scatter.axis = kRows;
    scatter.updates = program.buffer(Space::Input, u, updates.size() * 4);
    scatter.updateStrides[2] = kColumns, scatter.updateStrides[3] = 1;
    scatter.indices = program.buffer(Space::Input, p, kUpdates * 8);
    scatter.indexStrides[1] = 1;
    scatter.destination = zero.destination;
    scatter.strides[2] = kColumns, scatter.strides[3] = 1;
    program.addStep(StepKind::Scatter, program.writer.add(scatter));
    SortRow sort = {};
    sort.dtype = DType::F32;
    sort.descending = 1;
    sort.rows = kUpdates, sort.columns = kColumns, sort.kept = kKept;
    sort.source = program.buffer(Space::Input, k, keys.size() * 4);
    sort.sourceStrides[0] = kColumns, sort.sourceStrides[1] = 1;
    sort.values = program.buffer(Space::Output, v, kUpdates * kKept * 4);
    sort.indices = program.buffer(Space::Output, i, kUpdates * kKept * 4);
    sort.valueStrides[0] = sort.indexStrides[0] = kKept;
    sort.valueStrides[1] = sort.indexStrides[1] = 1;
    program.addStep(StepKind::Sort, program.writer.add(sort));
    SessionOptions options;
    options.threads = threads;
    program.writer.setBytes(SectionKind::CpuFeatures, "x86_64:");
    auto session = open(program, options);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(
        (*session)
            ->bind("u", DType::F32, {kUpdates, kColumns}, asBytes(updates))
            .ok());
    ASSERT_TRUE(
        (*session)->bind("p", DType::I64, {kUpdates}, asBytes(places)).ok());
    ASSERT_TRUE((*session)
                    ->bind("k", DType::F32, {kUpdates, kColumns}, asBytes(keys))
                    .ok());
    ASSERT_TRUE((*session)->run("main").ok());
    EXPECT_EQ(readAs<float>(**session, "y"), sums);
    EXPECT_EQ(readAs<int32_t>(**session, "i"), order);
    std::vector<float> values = readAs<float>(**session, "v");
    for (size_t j = 0; j < order.size(); ++j) {
      float wanted =
          keys[static_cast<int64_t>(j) / kKept * kColumns + order[j]];
      EXPECT_TRUE(values[j] == wanted ||
                  (std::isnan(values[j]) && std::isnan(wanted)))
          << j;
    }
  }
}

/// While: the condition counts an input down; the body adds to the output.
class Conditional : public testing::Test {
protected:
  std::unique_ptr<Session> make(ControlKind kind, int64_t trips) {
    TestProgram program;
    addObjectCode(program);
    program.counters = 1;
    program.arena = 128;
    uint32_t n = program.addInput("n", DType::I32, {{1, {}}}, Role::State);
    program.addOutput("n.out", DType::I32, {{1, {}}}, n);
    uint32_t y = program.addOutput("y", DType::F32, {{2, {}}});
    BufferRow predicate = program.buffer(Space::Arena, 0, 1);
    BufferRow result = program.buffer(Space::Output, y, 8);
    FillRow zero = {};
    zero.rank = 1;
    zero.dtype = DType::F32;
    zero.sizes[0] = 2;
    zero.destination = result;
    zero.to.strides[0] = 1;
    program.addStep(StepKind::Fill, program.writer.add(zero));
    auto count = [&] {
      addKernel(program, "count_down",
                {program.buffer(Space::Input, n, 4), predicate}, 0, {}, 0);
    };
    auto add = [&](int64_t value) {
      addKernel(program, "add_scalar", {result, result}, 0, {constant(value)},
                2);
    };
    ControlRow control = {};
    control.kind = kind;
    control.trips = trips;
    control.first = control.second = 1;
    control.predicate = predicate;
    if (kind == ControlKind::If)
      count();
    program.addStep(StepKind::Control, program.writer.add(control), "while");
    if (kind == ControlKind::While)
      count();
    else
      add(1000);
    add(1);
    auto session = open(program);
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  float run(Session &session, int32_t n) {
    EXPECT_TRUE(
        session.bind("n", DType::I32, {1}, asBytes(std::vector<int32_t>{n}))
            .ok());
    absl::Status status = session.run("main");
    return status.ok() ? readAs<float>(session, "y")[1] : -1;
  }
};

TEST_F(Conditional, WhileStopsAtItsPredicate) {
  auto session = make(ControlKind::While, 10);
  EXPECT_EQ(run(*session, 0), 0);
  EXPECT_EQ(run(*session, 7), 7);
  EXPECT_EQ(readAs<int32_t>(*session, "n.out")[0], -1);
  EXPECT_EQ(run(*session, 9), 9);
}

TEST_F(Conditional, WhilePastItsBoundIsAnError) {
  auto session = make(ControlKind::While, 10);
  EXPECT_EQ(run(*session, 10), -1);
  EXPECT_EQ(getErrorCode(session->run("main")), ErrorCode::TripLimit);
}

TEST_F(Conditional, IfTakesOneSide) {
  auto session = make(ControlKind::If, 0);
  EXPECT_EQ(run(*session, 0), 1);
  EXPECT_EQ(run(*session, 1), 1000);
}

/// A CPU does not time the ways of a choice.
TEST_F(Conditional, ChoiceTakesTheFirstSide) {
  auto session = make(ControlKind::Choice, 0);
  EXPECT_EQ(run(*session, 0), 1000);
}

/// y = relu(x w1) w2 with w1 cut by columns, w2 by rows, and one all-reduce.
class MLP : public testing::TestWithParam<int> {
protected:
  static constexpr int64_t kTokens = 4, kModel = 6, kHidden = 24;

  static void build(TestProgram &program, int ranks) {
    int64_t hidden = kHidden / ranks;
    uint32_t x =
        program.addInput("x", DType::F32, {{kTokens, {}}, {kModel, {}}});
    uint32_t w1 = program.addInput(
        "w1", DType::F32, {{kModel, {}}, {kHidden, {0}}}, Role::Parameter);
    uint32_t w2 = program.addInput(
        "w2", DType::F32, {{kHidden, {0}}, {kModel, {}}}, Role::Parameter);
    uint32_t y =
        program.addOutput("y", DType::F32, {{kTokens, {}}, {kModel, {}}});
    uint64_t hiddenBytes = kTokens * hidden * 4,
             outBytes = kTokens * kModel * 4;
    program.arena = 4096;
    auto matmul = [&](BufferRow a, BufferRow b, BufferRow c, int64_t n,
                      int64_t k) {
      MatmulRow row = {};
      row.m = kTokens, row.n = n, row.k = k;
      std::fill_n(row.batch, kMaxBatch, 1);
      row.constantB = 1;
      row.a = {a, DType::F32, 0, {0, 0, 0, k, 1}};
      row.b = {b, DType::F32, 0, {0, 0, 0, n, 1}};
      row.c = {c, DType::F32, 0, {0, 0, 0, n, 1}};
      return row;
    };
    MatmulRow up =
        matmul(program.buffer(Space::Input, x, outBytes),
               program.buffer(Space::Input, w1, kModel * hidden * 4),
               program.buffer(Space::Arena, 0, hiddenBytes), hidden, kModel);
    PostOpRow relu = {};
    relu.kind = PostOpKind::Relu;
    up.postOps = program.writer.addAll<PostOpRow>({relu});
    program.addStep(StepKind::Matmul, program.writer.add(up), "up");
    MatmulRow down =
        matmul(program.buffer(Space::Arena, 0, hiddenBytes),
               program.buffer(Space::Input, w2, kModel * hidden * 4),
               program.buffer(Space::Arena, 0, outBytes, 2048), kModel, hidden);
    program.addStep(StepKind::Matmul, program.writer.add(down), "down");
    CollectiveRow sum = {};
    sum.kind = CollectiveKind::AllReduce;
    sum.communicator = program.writer.add(CommunicatorRow{program.axes({0})});
    sum.dtype = DType::F32;
    sum.reduction = Reduction::Sum;
    sum.count = kTokens * kModel;
    sum.source = program.buffer(Space::Arena, 0, outBytes, 2048);
    sum.destination = program.buffer(Space::Output, y, outBytes);
    program.addCollective(sum, "mlp.out");
  }

  /// Integers, so that the sharded and the whole result are equal.
  static std::vector<float> makeInts(int64_t count, int seed) {
    std::vector<float> values(count);
    for (int64_t i = 0; i < count; ++i)
      values[i] = static_cast<float>((i * 7 + seed) % 9 - 4);
    return values;
  }

  static std::vector<float> multiply(const std::vector<float> &a,
                                     const std::vector<float> &b, int64_t m,
                                     int64_t n, int64_t k) {
    std::vector<float> c(m * n);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          c[i * n + j] += a[i * k + l] * b[l * n + j];
    return c;
  }

  static std::vector<float> getWanted(int seed) {
    std::vector<float> hidden =
        multiply(makeInts(kTokens * kModel, 1),
                 makeInts(kModel * kHidden, seed), kTokens, kHidden, kModel);
    for (float &value : hidden)
      value = std::max(value, 0.0f);
    return multiply(hidden, makeInts(kHidden * kModel, 3), kTokens, kModel,
                    kHidden);
  }

  static absl::Status bindAll(Session &session, int seed) {
    TPRT_RETURN_IF_ERROR(session.bind("x", DType::F32, {kTokens, kModel},
                                      asBytes(makeInts(kTokens * kModel, 1))));
    TPRT_RETURN_IF_ERROR(
        session.bind("w1", DType::F32, {kModel, kHidden},
                     asBytes(makeInts(kModel * kHidden, seed))));
    return session.bind("w2", DType::F32, {kHidden, kModel},
                        asBytes(makeInts(kHidden * kModel, 3)));
  }
};

TEST_P(MLP, IsTheWholeProgram) {
  TestProgram program({{"model", GetParam()}});
  build(program, GetParam());
  auto session = open(program);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->getNumRanks(), GetParam());
  EXPECT_EQ(getErrorCode((*session)->run("main")), ErrorCode::InputUnbound);
  // A new weight must not meet the old one's repacked form.
  for (int seed : {2, 5, 2}) {
    ASSERT_TRUE(bindAll(**session, seed).ok());
    for (int round = 0; round < 3; ++round) {
      absl::Status status = (*session)->run("main");
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(readAs<float>(**session, "y"), getWanted(seed));
    }
  }
}

TEST_P(MLP, RecordsTimes) {
  TestProgram program({{"model", GetParam()}});
  build(program, GetParam());
  auto session = open(program);
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE(bindAll(**session, 2).ok());
  (*session)->recordTimes(true);
  ASSERT_TRUE((*session)->run("main").ok());
  std::vector<Session::RankTimes> times = (*session)->takeTimes();
  ASSERT_EQ(times.size(), static_cast<size_t>(GetParam()));
  for (const auto &[rank, steps] : times) {
    ASSERT_EQ(steps.size(), 4u);
    for (size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(steps[i].step, i);
      EXPECT_LE(steps[i].begin, steps[i].end);
    }
  }
}

/// Rows are read as ranks want them, and inputs are whole when they are read.
TEST_P(MLP, TakesRowsAndShowsInputs) {
  TestProgram program({{"model", GetParam()}});
  build(program, GetParam());
  auto session = open(program);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(bindAll(**session, 2).ok());
  for (const InputRow &input : (*session)->getArtifact().rows<InputRow>()) {
    std::string name((*session)->getArtifact().text(input.name));
    std::vector<int64_t> shape =
        (*session)->getArtifact().getGlobalShape(input.dims);
    auto before = (*session)->readInput(name);
    ASSERT_TRUE(before.ok()) << before.status();
    std::string other(before->rbegin(), before->rend());
    auto read = [&](uint64_t begin, uint64_t size, char *to) {
      other.copy(to, size, begin);
      return absl::OkStatus();
    };
    absl::Status status =
        (*session)->bindRows(name, {input.dtype, shape, read});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(*(*session)->readInput(name), other) << name;
    shape.push_back(1);
    EXPECT_EQ(
        getErrorCode((*session)->bindRows(name, {input.dtype, shape, read})),
        ErrorCode::InputMismatch);
  }
  EXPECT_EQ(getErrorCode((*session)->readInput("none").status()),
            ErrorCode::UnknownName);
}

INSTANTIATE_TEST_SUITE_P(Ranks, MLP, testing::Values(1, 2, 3, 4));

/// What is kept between runs is bound from the start, whatever it is called;
/// the same roles are given by the caller where no entry overwrites them.
TEST(Session, DonatedRolesAreKept) {
  for (Role role : {Role::State, Role::KVCache, Role::Gradient,
                    Role::OptimizerState, Role::Parameter, Role::Input})
    for (bool isDonated : {true, false}) {
      TestProgram program;
      uint32_t x = program.addInput("x", DType::F32, {{4, {}}}, role);
      program.addOutput("y", DType::F32, {{4, {}}}, isDonated ? x : kNone);
      program.endEntry();
      auto session = open(program);
      ASSERT_TRUE(session.ok()) << session.status();
      bool isKept = isDonated && role != Role::Parameter && role != Role::Input;
      EXPECT_EQ((*session)->run("main").ok(), isKept);
      ASSERT_TRUE((*session)
                      ->bind("x", DType::F32, {4},
                             asBytes(std::vector<float>{1, 2, 3, 4}))
                      .ok());
      ASSERT_TRUE((*session)->run("main").ok());
      ASSERT_TRUE((*session)->resetState().ok());
      if (isDonated) {
        ASSERT_TRUE((*session)->run("main").ok());
        EXPECT_EQ(readAs<float>(**session, "y"),
                  isKept ? std::vector<float>(4)
                         : std::vector<float>({1, 2, 3, 4}));
      }
    }
}

/// Two entries share the cache; the second reads what the first wrote.
TEST(Session, EntriesShareState) {
  TestProgram program;
  addObjectCode(program);
  uint32_t x = program.addInput("x", DType::F32, {{4, {}}});
  uint32_t cache =
      program.addInput("cache", DType::F32, {{4, {}}}, Role::State);
  program.addOutput("cache.out", DType::F32, {{4, {}}}, cache);
  addKernel(program, "add_scalar",
            {program.buffer(Space::Input, x, 16),
             program.buffer(Space::Input, cache, 16)},
            1, {constant(1)}, 4);
  program.endEntry("write");
  program.inputs = {cache};
  uint32_t y = program.addOutput("y", DType::F32, {{4, {}}});
  addKernel(program, "add_scalar",
            {program.buffer(Space::Input, cache, 16),
             program.buffer(Space::Output, y, 16)},
            1, {constant(0)}, 4);
  program.endEntry("read");
  auto session = open(program);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->run("read").ok());
  EXPECT_EQ(readAs<float>(**session, "y"), std::vector<float>(4));
  ASSERT_TRUE((*session)->bind("x", DType::F32, {4}, asBytes(iota(4))).ok());
  ASSERT_TRUE((*session)->run("write").ok());
  EXPECT_EQ(readAs<float>(**session, "cache.out"), iota(4, 1));
  EXPECT_EQ(getErrorCode((*session)->read("y").status()),
            ErrorCode::UnknownName);
  ASSERT_TRUE((*session)->run("read").ok());
  EXPECT_EQ(readAs<float>(**session, "y"), iota(4, 1));
  ASSERT_TRUE((*session)->resetState().ok());
  ASSERT_TRUE((*session)->run("read").ok());
  EXPECT_EQ(readAs<float>(**session, "y"), std::vector<float>(4));
}

TEST(Session, RefusesWhatDoesNotFit) {
  TestProgram program({{"model", 2}});
  uint32_t x = program.addInput("x", DType::F32, {{4, {0}}});
  program.addOutput("x.out", DType::F32, {{4, {0}}}, x);
  auto session = open(program);
  ASSERT_TRUE(session.ok()) << session.status();
  Session &s = **session;
  std::vector<float> four(4);
  EXPECT_EQ(getErrorCode(s.bind("z", DType::F32, {4}, asBytes(four))),
            ErrorCode::UnknownName);
  EXPECT_EQ(getErrorCode(s.bind("x", DType::F64, {4}, asBytes(four))),
            ErrorCode::InputMismatch);
  EXPECT_EQ(getErrorCode(s.bind("x", DType::F32, {2, 2}, asBytes(four))),
            ErrorCode::InputMismatch);
  EXPECT_EQ(getErrorCode(s.bind("x", DType::F32, {4}, "short")),
            ErrorCode::InputMismatch);
  EXPECT_EQ(getErrorCode(s.read("x.out").status()), ErrorCode::WrongState);
  EXPECT_EQ(getErrorCode(s.run("other")), ErrorCode::UnknownName);
  EXPECT_EQ(getErrorCode(s.run("main")), ErrorCode::InputUnbound);
  // None of this spoils the session.
  ASSERT_TRUE(s.bindRandom("x", 1).ok());
  EXPECT_TRUE(s.run("main").ok());
}

TEST(Session, RefusesMachinesAndMeshesThatDoNotFit) {
  auto openWith = [](const char *cpu, const char *symbol,
                     SessionOptions options = {}) {
    TestProgram program({{"model", 2}});
    addObjectCode(program);
    program.writer.setBytes(SectionKind::CpuFeatures, cpu);
    addKernel(program, symbol, {}, 0, {}, 0);
    return getErrorCode(open(program, options).status());
  };
  std::string host = getHostCpu();
  EXPECT_EQ(openWith(host.c_str(), "fail_at"), ErrorCode(0));
  EXPECT_EQ(openWith("pdp11:", "fail_at"), ErrorCode::CpuMismatch);
  EXPECT_EQ(openWith("", "fail_at"), ErrorCode::CpuMismatch);
  EXPECT_EQ(openWith((host + ",quantum").c_str(), "fail_at"),
            ErrorCode::CpuMismatch);
  EXPECT_EQ(openWith(host.c_str(), "no_such_kernel"), ErrorCode::ObjectCode);
  SessionOptions options;
  options.ranks = 3;
  EXPECT_EQ(openWith(host.c_str(), "fail_at", options),
            ErrorCode::MeshMismatch);
  options = {};
  options.backend = "abacus";
  EXPECT_EQ(openWith(host.c_str(), "fail_at", options),
            ErrorCode::UnknownBackend);
  options = {};
  options.backend = "mpi";
  EXPECT_EQ(openWith(host.c_str(), "fail_at", options),
            ErrorCode::UnknownBackend);
  options = {};
  options.transport = "cpu";
  EXPECT_EQ(openWith(host.c_str(), "fail_at", options),
            ErrorCode::UnknownBackend);

  TestProgram program;
  program.writer.setBytes(SectionKind::ObjectCode, "not ELF");
  program.writer.setBytes(SectionKind::CpuFeatures, host);
  addKernel(program, "fail_at", {}, 0, {}, 0);
  EXPECT_EQ(getErrorCode(open(program).status()), ErrorCode::ObjectCode);

  TestProgram huge;
  huge.arena = uint64_t{1} << 60;
  huge.endEntry();
  EXPECT_EQ(getErrorCode(open(huge).status()), ErrorCode::OutOfMemory);
}

bool contains(const absl::Status &status, absl::string_view text) {
  return status.message().find(text) != absl::string_view::npos;
}

TEST(SessionFaults, AKernelsErrorEndsAllRanks) {
  TestProgram program({{"model", 3}});
  buildFault(program, "fail_at", 1, 42);
  auto session = open(program);
  ASSERT_TRUE(session.ok()) << session.status();
  absl::Time begin = absl::Now();
  absl::Status status = (*session)->run("main");
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
  EXPECT_EQ(getErrorCode(status), ErrorCode::KernelFailed);
  EXPECT_TRUE(contains(status, "rank 1")) << status;
  EXPECT_TRUE(contains(status, "'fail_at' returned error 42")) << status;
  std::vector<absl::Status> errors = (*session)->getRankErrors();
  ASSERT_EQ(errors.size(), 3u);
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(getErrorCode(errors[i]), ErrorCode::PeerFailed);
    EXPECT_TRUE(contains(errors[i], "'fail_at' returned error 42"))
        << errors[i];
  }
  // The first error stays.
  EXPECT_EQ((*session)->run("main"), status);
}

TEST(SessionFaults, ASlowRankIsATimeout) {
  TestProgram program({{"model", 2}});
  buildFault(program, "sleep_at", 1, 1500);
  SessionOptions options;
  options.timeout = absl::Milliseconds(200);
  auto session = open(program, options);
  ASSERT_TRUE(session.ok()) << session.status();
  absl::Status status = (*session)->run("main");
  EXPECT_EQ(getErrorCode(status), ErrorCode::CollectiveTimeout);
  EXPECT_TRUE(contains(status, "rank 0, all_reduce 'attn.out'")) << status;
  EXPECT_TRUE(contains(status, "rank 1 did not arrive")) << status;
}

TEST(SessionFaults, AbortEndsARunFromOutside) {
  TestProgram program({{"model", 2}});
  buildFault(program, "sleep_at", 1, 600);
  auto session = open(program);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->start("main").ok());
  EXPECT_EQ(getErrorCode((*session)->wait(absl::Milliseconds(50))),
            ErrorCode::WrongState);
  EXPECT_EQ(getErrorCode((*session)->run("main")), ErrorCode::WrongState);
  (*session)->abort("the user has pressed a key");
  absl::Status status = (*session)->wait();
  EXPECT_EQ(getErrorCode(status), ErrorCode::Aborted);
  EXPECT_TRUE(contains(status, "pressed a key"));
}

/// One that ends soon after it is told to, and one whose step goes on: the
/// session can be closed all the same.
TEST(SessionFaults, ALateRunIsEnded) {
  for (int milliseconds : {600, 8000}) {
    TestProgram program({{"model", 2}});
    buildFault(program, "sleep_at", 1, milliseconds);
    SessionOptions options;
    options.runTimeout = absl::Milliseconds(50);
    options.timeout = absl::Seconds(1);
    auto session = open(program, options);
    ASSERT_TRUE(session.ok()) << session.status();
    absl::Time begin = absl::Now();
    absl::Status status = (*session)->run("main");
    EXPECT_EQ(getErrorCode(status), ErrorCode::RunTimeout) << status;
    EXPECT_TRUE(contains(status, "run of 'main' has not finished within 50ms"));
    for (const absl::Status &error : (*session)->getRankErrors())
      EXPECT_EQ(getErrorCode(error), ErrorCode::RunTimeout) << error;
    EXPECT_EQ((*session)->run("main"), status);
    EXPECT_EQ(getErrorCode((*session)->close()), ErrorCode::RunTimeout);
    EXPECT_LT(absl::Now() - begin, absl::Seconds(6));
  }
}

} // namespace
