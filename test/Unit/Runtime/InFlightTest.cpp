// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestProgram.h"
#include "runtime/Core/Errors.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>

using namespace tprt;
using namespace tprt::test;

namespace {

constexpr uint64_t kSource = 256, kDestination = 512; // 64 bytes each

/// Two ranks and an arena of 4096 bytes, in which an all_reduce of 16 floats
/// goes from kSource to kDestination.
class Flight : public TestProgram {
public:
  Flight() : TestProgram({{"x", 2}}) {
    arena = 4096;
    counters = 4;
    writer.add(CommunicatorRow{axes({0})});
    writer.add(KernelRow{writer.text("kernel")});
    writer.addConstant(std::string(64, 'c'));
    // A row for each counter.
    for (uint32_t i = 0; i < counters; ++i)
      loops.push_back(addLoop(i, 4, 1));
  }

  static BufferRow at(uint64_t offset, uint64_t size, int64_t step = 0,
                      uint32_t counter = kNone) {
    BufferRow row = buffer(Space::Arena, 0, size, offset);
    row.step = step;
    row.counter = counter;
    return row;
  }

  uint32_t addReduce(BufferRow source, BufferRow destination) {
    return writer.add(CollectiveRow{CollectiveKind::AllReduce,
                                    0,
                                    DType::F32,
                                    Reduction::Sum,
                                    16,
                                    source,
                                    destination,
                                    {}});
  }
  uint32_t addReduce() {
    return addReduce(at(kSource, 64), at(kDestination, 64));
  }
  void start(uint32_t row, const char *name = "") {
    addStep(StepKind::CollectiveStart, row, name);
  }
  void done(uint32_t row) { addStep(StepKind::CollectiveDone, row); }

  uint32_t addLoop(uint32_t counter, int64_t trips, uint32_t steps) {
    ControlRow row = {};
    row.kind = ControlKind::Loop;
    row.counter = counter;
    row.trips = trips;
    row.first = steps;
    return writer.add(row);
  }
  /// Around the next `steps`.
  void loop(uint32_t counter, int64_t trips, uint32_t steps) {
    addStep(StepKind::Control, addLoop(counter, trips, steps));
  }

  void fill(BufferRow to, int64_t size, int64_t stride = 1) {
    FillRow row = {};
    row.rank = 1;
    row.dtype = DType::F32;
    row.sizes[0] = size;
    row.destination = to;
    row.to.strides[0] = stride;
    addStep(StepKind::Fill, writer.add(row), "fill");
  }

  /// `size` floats of stride 1.
  void copy(BufferRow from, BufferRow to, int64_t size) {
    CopyRow row = {};
    row.rank = 1;
    row.dtype = DType::F32;
    row.sizes[0] = size;
    row.source = from;
    row.destination = to;
    row.from.strides[0] = row.to.strides[0] = 1;
    addStep(StepKind::Copy, writer.add(row), "copy");
  }

  std::vector<uint32_t> loops;
};

/// The error; empty where there is none.
std::string check(TestProgram &program) {
  absl::Status status = Artifact::fromBytes(program.finish()).status();
  if (!status.ok())
    EXPECT_EQ(getErrorCode(status), ErrorCode::ArtifactCorrupt);
  return std::string(status.message());
}

/// The error of steps between start and done.
std::string checkBetween(const std::function<void(Flight &)> &addSteps) {
  Flight program;
  uint32_t row = program.addReduce();
  program.start(row);
  addSteps(program);
  program.done(row);
  return check(program);
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

//===----------------------------------------------------------------------===//
// Each kind of step
//===----------------------------------------------------------------------===//

/// Adds a step that has one operand of 64 bytes at an offset, and its others
/// far away.
struct Operand {
  const char *name;
  bool isWritten;
  std::function<void(Flight &, uint64_t)> addStep;
};

void addMatmul(Flight &p, uint64_t a, uint64_t b, uint64_t c, uint64_t post) {
  auto matrix = [](uint64_t offset) {
    return MatmulOperand{
        Flight::at(offset, 64), DType::F32, 0, {0, 0, 0, 4, 1}};
  };
  PostOpRow postOp = {PostOpKind::Add, 0, matrix(post)};
  MatmulRow row = {};
  row.m = row.n = row.k = 4;
  std::fill_n(row.batch, kMaxBatch, 1);
  row.a = matrix(a), row.b = matrix(b), row.c = matrix(c);
  row.postOps = p.writer.addAll<PostOpRow>({postOp});
  p.addStep(StepKind::Matmul, p.writer.add(row));
}

void addScatter(Flight &p, uint64_t updates, uint64_t indices, uint64_t to) {
  ScatterRow row = {};
  row.kind = ScatterKind::Add;
  row.dtype = DType::F32;
  row.batch = row.outer = 1, row.count = 8, row.inner = 2, row.axis = 8;
  row.updates = p.at(updates, 64);
  row.indices = p.at(indices, 64);
  row.destination = p.at(to, 64);
  row.updateStrides[2] = row.strides[2] = 2;
  row.updateStrides[3] = row.strides[3] = row.indexStrides[1] = 1;
  p.addStep(StepKind::Scatter, p.writer.add(row));
}

void addSort(Flight &p, uint64_t from, uint64_t values, uint64_t indices) {
  SortRow row = {};
  row.dtype = DType::F32;
  row.rows = 1, row.columns = row.kept = 16;
  row.source = p.at(from, 64);
  row.values = p.at(values, 64);
  row.indices = p.at(indices, 64);
  row.sourceStrides[1] = row.valueStrides[1] = row.indexStrides[1] = 1;
  p.addStep(StepKind::Sort, p.writer.add(row));
}

void addKernel(Flight &p, uint64_t read, uint64_t written) {
  KernelCallRow row = {};
  row.firstWritten = 1;
  row.buffers = p.writer.addAll<BufferRow>({p.at(read, 64), p.at(written, 64)});
  row.rowEnd = 1;
  p.addStep(StepKind::Kernel, p.writer.add(row));
}

void addGather(Flight &p, uint64_t from, uint64_t to) {
  CollectiveRow row = {CollectiveKind::AllToAll,
                       0,
                       DType::F32,
                       Reduction::None,
                       8,
                       p.at(from, 64),
                       p.at(to, 64),
                       Range()};
  p.addCollective(row);
}

void addPredicate(Flight &p, ControlKind kind, uint64_t at) {
  ControlRow row = {};
  row.kind = kind;
  row.trips = 1;
  row.predicate = p.at(at + 63, 1);
  p.addStep(StepKind::Control, p.writer.add(row));
}

const Operand kOperands[] = {
    {"fill", true, [](Flight &p, uint64_t at) { p.fill(p.at(at, 64), 16); }},
    {"copy's source", false,
     [](Flight &p, uint64_t at) { p.copy(p.at(at, 64), p.at(2048, 64), 16); }},
    {"copy's destination", true,
     [](Flight &p, uint64_t at) { p.copy(p.at(2048, 64), p.at(at, 64), 16); }},
    {"matmul's a", false,
     [](Flight &p, uint64_t at) { addMatmul(p, at, 2048, 2112, 2176); }},
    {"matmul's b", false,
     [](Flight &p, uint64_t at) { addMatmul(p, 2048, at, 2112, 2176); }},
    {"matmul's c", true,
     [](Flight &p, uint64_t at) { addMatmul(p, 2048, 2112, at, 2176); }},
    {"post-op's operand", false,
     [](Flight &p, uint64_t at) { addMatmul(p, 2048, 2112, 2176, at); }},
    {"scatter's updates", false,
     [](Flight &p, uint64_t at) { addScatter(p, at, 2048, 2112); }},
    {"scatter's indices", false,
     [](Flight &p, uint64_t at) { addScatter(p, 2048, at, 2112); }},
    {"scatter's destination", true,
     [](Flight &p, uint64_t at) { addScatter(p, 2048, 2112, at); }},
    {"sort's source", false,
     [](Flight &p, uint64_t at) { addSort(p, at, 2048, 2112); }},
    {"sort's values", true,
     [](Flight &p, uint64_t at) { addSort(p, 2048, at, 2112); }},
    {"sort's indices", true,
     [](Flight &p, uint64_t at) { addSort(p, 2048, 2112, at); }},
    {"kernel's operand", false,
     [](Flight &p, uint64_t at) { addKernel(p, at, 2048); }},
    {"kernel's result", true,
     [](Flight &p, uint64_t at) { addKernel(p, 2048, at); }},
    {"collective's source", false,
     [](Flight &p, uint64_t at) { addGather(p, at, 2048); }},
    {"collective's destination", true,
     [](Flight &p, uint64_t at) { addGather(p, 2048, at); }},
    {"condition", false,
     [](Flight &p, uint64_t at) { addPredicate(p, ControlKind::If, at); }},
    {"loop's condition", false,
     [](Flight &p, uint64_t at) { addPredicate(p, ControlKind::While, at); }},
};

/// Whatever writes the source, or reads or writes the destination, is refused,
/// before as behind, and what only comes near is not.
TEST(InFlight, EachKindOfStep) {
  for (const Operand &operand : kOperands) {
    auto checkAt = [&](uint64_t offset) {
      return checkBetween([&](Flight &p) { operand.addStep(p, offset); });
    };
    for (uint64_t far :
         {kSource - 64, kSource + 64, kDestination - 64, kDestination + 64})
      EXPECT_EQ(checkAt(far), "") << operand.name << " at " << far;
    // The condition is the last of its 64 bytes.
    EXPECT_TRUE(contains(checkAt(kDestination), "the destination of"))
        << operand.name;
    EXPECT_EQ(contains(checkAt(kSource), "the source of"), operand.isWritten)
        << operand.name;
    EXPECT_EQ(checkAt(kSource).empty(), !operand.isWritten) << operand.name;
  }
}

TEST(InFlight, SaysWhatTouchesWhat) {
  Flight program;
  uint32_t row = program.addReduce();
  program.start(row, "sum");
  program.fill(program.at(kDestination + 60, 64), 16);
  program.done(row);
  EXPECT_EQ(
      check(program),
      "[TP0845] the artifact is damaged: step 1 (fill) writes bytes 572 to "
      "576 of the arena while they are the destination of the all_reduce "
      "that step 0 (sum) started; compile the program again");
}

/// Before the start and behind the done, nothing is held.
TEST(InFlight, EndsWithItsDone) {
  Flight program;
  uint32_t row = program.addReduce();
  program.fill(program.at(kSource, 64), 16);
  program.start(row);
  program.fill(program.at(0, 64), 16);
  program.done(row);
  program.copy(program.at(kDestination, 64), program.at(kSource, 64), 16);
  EXPECT_EQ(check(program), "");
}

/// An all_reduce in place writes what it reads.
TEST(InFlight, InPlace) {
  for (bool reads : {false, true}) {
    Flight program;
    uint32_t row =
        program.addReduce(program.at(kSource, 64), program.at(kSource, 64));
    program.start(row);
    program.copy(program.at(reads ? kSource : 0, 64), program.at(1024, 64), 16);
    program.done(row);
    EXPECT_EQ(contains(check(program), "the destination of"), reads);
  }
}

/// Several may be under way, share a source, and finish in any order.
TEST(InFlight, FinishInAnyOrder) {
  std::vector<unsigned> order = {0, 1, 2};
  do {
    // A fill of each destination, behind so many dones.
    for (unsigned numDone = 0; numDone <= 3; ++numDone)
      for (unsigned filled = 0; filled < 3; ++filled) {
        Flight program;
        std::vector<uint32_t> rows;
        for (unsigned i = 0; i < 3; ++i)
          rows.push_back(program.addReduce(program.at(kSource, 64),
                                           program.at(1024 + 64 * i, 64)));
        for (uint32_t row : rows)
          program.start(row);
        bool isDone = false;
        for (unsigned i = 0; i <= 3; ++i) {
          if (i == numDone)
            program.fill(program.at(1024 + 64 * filled, 64), 16);
          if (i < 3)
            program.done(rows[order[i]]);
          isDone |= i < numDone && order[i] == filled;
        }
        EXPECT_EQ(check(program).empty(), isDone);
      }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(InFlight, CollectivesKeepOutOfEachOther) {
  auto checkPair = [](uint64_t source, uint64_t destination) {
    Flight program;
    uint32_t first = program.addReduce();
    uint32_t second =
        program.addReduce(program.at(source, 64), program.at(destination, 64));
    program.start(first);
    program.start(second);
    program.done(first);
    program.done(second);
    return check(program);
  };
  EXPECT_EQ(checkPair(kSource, 1024), "");
  EXPECT_TRUE(contains(checkPair(kDestination, 1024), "reads"));
  EXPECT_TRUE(contains(checkPair(1024, kSource + 32), "the source of"));
  EXPECT_TRUE(contains(checkPair(1024, kDestination - 32), "writes"));
}

/// Which memory it is makes no difference: here the input that a result
/// overwrites, and a result of its own.
TEST(InFlight, InputsThatAreOverwritten) {
  for (bool isOutput : {false, true})
    for (uint64_t offset : {0, 60, 64}) {
      Flight program;
      uint32_t input = program.addInput("state", DType::F32, {{32, {}}});
      program.addOutput("next", DType::F32, {{32, {}}}, input);
      uint32_t output = program.addOutput("y", DType::F32, {{32, {}}});
      Space space = isOutput ? Space::Output : Space::Input;
      uint32_t index = isOutput ? output : input;
      uint32_t row = program.addReduce(program.buffer(space, index, 64),
                                       program.at(kDestination, 64));
      program.start(row);
      program.fill(program.buffer(space, index, 64, offset), 16);
      program.done(row);
      EXPECT_EQ(contains(check(program),
                         isOutput ? "of output 'y'" : "of input 'state'"),
                offset < 64)
          << offset;
    }
}

/// What has strides may lie on both sides.
TEST(InFlight, StridesGoAround) {
  for (int64_t begin = 0; begin < 64; ++begin) {
    // Floats begin, begin + 128, .. The source is floats 64 to 79, the
    // destination 128 to 143.
    std::string error = checkBetween([&](Flight &p) {
      p.fill(p.at(begin * 4, 4 * (1 + 128 * 4)), 5, /*stride=*/128);
    });
    EXPECT_EQ(error.empty(), begin >= 16) << begin;
  }
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

TEST(InFlight, LoopsBetweenStartAndDone) {
  // On the last trip, at 256 + 3 * 64: not yet the destination.
  auto checkFill = [](uint64_t offset, int64_t step, int64_t trips) {
    return checkBetween([=](Flight &p) {
      p.loop(0, trips, 1);
      p.fill(p.at(offset, 64, step, 0), 16);
    });
  };
  EXPECT_EQ(checkFill(kSource + 64, 64, 3), "");
  EXPECT_TRUE(contains(checkFill(kSource + 64, 64, 4), "the destination of"));
  EXPECT_TRUE(contains(checkFill(kSource + 128, -64, 3), "the source of"));
  EXPECT_EQ(checkFill(kSource + 128, -64, 2), "");
  // Around both: 192, 320, 448, 576.
  EXPECT_EQ(checkFill(kSource - 64, 128, 4), "");
  EXPECT_TRUE(contains(checkFill(kSource - 64, 64, 2), "the source of"));
}

/// Layer i's weights are gathered while those of i - 1 are read: trip by trip,
/// buffers that move with the loop around all of them do not meet.
TEST(InFlight, MoveWithOneLoop) {
  auto checkCopy = [](uint64_t offset, int64_t step, int64_t trips = 8) {
    Flight program;
    uint32_t row =
        program.addReduce(program.at(kSource, 64), program.at(1024, 64, 64, 0));
    program.loop(0, trips, 3);
    program.start(row);
    program.copy(program.at(offset, 64, step, 0), program.at(0, 64), 16);
    program.done(row);
    return check(program);
  };
  EXPECT_EQ(checkCopy(1024 + 64, 64), "");
  EXPECT_EQ(checkCopy(1024 - 64, 64), "");
  EXPECT_FALSE(checkCopy(1024, 64).empty());
  EXPECT_FALSE(checkCopy(1024 + 32, 64).empty());
  // One that moves the other way meets it: 1024 + 64 i and 1216 - 64 i do so
  // between trips 1 and 2, 1088 and 1152.
  EXPECT_EQ(checkCopy(1024 + 3 * 64, -64), "");
  EXPECT_FALSE(checkCopy(1024 + 2 * 64, -64).empty());
  EXPECT_EQ(checkCopy(1024 + 2 * 64, -64, /*trips=*/1), "");
  // One that stands still is met on some trip.
  EXPECT_FALSE(checkCopy(1024 + 5 * 64, 0).empty());
  EXPECT_EQ(checkCopy(1024 + 8 * 64, 0), "");
}

/// A loop between start and done that counts on its own meets all places.
TEST(InFlight, MoveWithTwoLoops) {
  auto checkFill = [](uint64_t offset, int64_t step) {
    Flight program;
    uint32_t row =
        program.addReduce(program.at(kSource, 64), program.at(1024, 64, 64, 0));
    program.loop(0, 4, 4);
    program.start(row);
    program.loop(1, 4, 1);
    program.fill(program.at(offset, 64, step, 1), 16);
    program.done(row);
    return check(program);
  };
  EXPECT_FALSE(checkFill(1024 + 64, 64).empty());
  EXPECT_FALSE(checkFill(1024 - 64, 64).empty());
  EXPECT_EQ(checkFill(1024 + 4 * 64, 64), "");
  EXPECT_EQ(checkFill(1024 + 4 * 64, 128), "");
}

/// Two loops, of which the inner one may stand between start and done, and
/// buffers that move with either: against all bytes on all trips.
TEST(InFlight, MoveAtRandom) {
  std::mt19937 random(1);
  auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % (most - least + 1));
  };
  int numRefused = 0;
  for (int round = 0; round < 4000; ++round) {
    int64_t trips[] = {draw(0, 4), draw(0, 4)};
    auto drawBuffer = [&](uint32_t numCounters) {
      uint32_t counter = draw(0, numCounters);
      return Flight::at(1024 + 32 * draw(0, 20), 512, 32 * draw(-4, 4),
                        counter == numCounters ? kNone : counter);
    };
    BufferRow source = Flight::at(0, 64), held = drawBuffer(1);
    held.size = 64;
    int64_t size = draw(0, 4), stride = draw(1, 30);
    BufferRow filled = drawBuffer(2);

    Flight program;
    uint32_t row = program.addReduce(source, held);
    program.loop(0, trips[0], 4);
    program.start(row);
    program.loop(1, trips[1], 1);
    program.fill(filled, size, stride);
    program.done(row);
    std::string error = check(program);

    bool touches = false;
    for (int64_t outer = 0; outer < trips[0]; ++outer)
      for (int64_t inner = 0; inner < trips[1]; ++inner)
        for (int64_t i = 0; i < size; ++i) {
          auto place = [&](const BufferRow &buffer) {
            int64_t by = buffer.counter == 0   ? outer
                         : buffer.counter == 1 ? inner
                                               : 0;
            return int64_t(buffer.offset) + by * buffer.step;
          };
          int64_t from = place(filled) + 4 * stride * i - place(held);
          touches |= from > -4 && from < 64;
        }
    // A loop of no trips is taken for one.
    if (trips[0] > 0 && trips[1] > 0)
      ASSERT_EQ(error.empty(), !touches) << round << ": " << error;
    else
      ASSERT_TRUE(error.empty() || contains(error, "the destination of"));
    numRefused += touches;
  }
  EXPECT_GT(numRefused, 400);
  EXPECT_LT(numRefused, 3000);
}

/// Buffers that lie at a rank's place, along one axis or the other of a mesh,
/// against all bytes on all ranks.
TEST(InFlight, PlacesAtRandom) {
  std::mt19937 random(2);
  auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % (most - least + 1));
  };
  int numRefused = 0;
  for (int round = 0; round < 2000; ++round) {
    TestProgram program({{"x", 2}, {"y", 3}});
    program.arena = 4096;
    program.writer.add(CommunicatorRow{program.axes({0})});
    std::vector<PlaceRow> places;
    for (uint32_t axis : {0u, 1u})
      for (int64_t plus = 0; plus < (axis == 0 ? 2 : 3); ++plus)
        places.push_back({program.axes({axis}), plus});
    program.writer.addAll<PlaceRow>(absl::MakeConstSpan(places));
    auto drawBuffer = [&] {
      BufferRow row = Flight::at(1024 + 32 * draw(0, 8), 64, 32 * draw(-4, 4));
      row.place = draw(0, 5);
      if (row.place == 5)
        row.place = kNone, row.step = 0;
      return row;
    };
    CollectiveRow reduce = {CollectiveKind::AllReduce,
                            0,
                            DType::F32,
                            Reduction::Sum,
                            16,
                            Flight::at(0, 64),
                            drawBuffer(),
                            {}};
    FillRow fill = {};
    fill.rank = 1;
    fill.dtype = DType::F32;
    fill.sizes[0] = 16;
    fill.to.strides[0] = 1;
    fill.destination = drawBuffer();
    uint32_t row = program.writer.add(reduce);
    program.addStep(StepKind::CollectiveStart, row);
    program.addStep(StepKind::Fill, program.writer.add(fill));
    program.addStep(StepKind::CollectiveDone, row);
    std::string error = check(program);

    bool touches = false;
    for (int64_t x : {0, 1})
      for (int64_t y : {0, 1, 2}) {
        auto begin = [&](const BufferRow &buffer) {
          int64_t position = buffer.place == kNone ? 0
                             : buffer.place < 2    ? (x + buffer.place) % 2
                                                   : (y + buffer.place - 2) % 3;
          return int64_t(buffer.offset) + position * buffer.step;
        };
        int64_t from = begin(fill.destination) - begin(reduce.destination);
        touches |= from > -64 && from < 64;
      }
    ASSERT_EQ(error.empty(), !touches) << round << ": " << error;
    numRefused += touches;
  }
  EXPECT_GT(numRefused, 200);
  EXPECT_LT(numRefused, 1800);
}

/// Branches between start and done are looked into, both of them.
TEST(InFlight, BranchesBetweenStartAndDone) {
  for (uint64_t then : {uint64_t{0}, kSource})
    for (uint64_t otherwise : {uint64_t{0}, kDestination}) {
      std::string error = checkBetween([&](Flight &p) {
        ControlRow row = {};
        row.kind = ControlKind::If;
        row.first = row.second = 1;
        row.predicate = p.at(0, 1);
        p.addStep(StepKind::Control, p.writer.add(row));
        p.fill(p.at(then, 64), 16);
        p.fill(p.at(otherwise, 64), 16);
      });
      EXPECT_EQ(error.empty(), then == 0 && otherwise == 0);
    }
}

/// A body finishes what it starts, and nothing else.
TEST(InFlight, StaysInItsRegion) {
  for (bool startsInside : {false, true}) {
    Flight program;
    uint32_t row = program.addReduce();
    if (startsInside)
      program.loop(0, 2, 1);
    program.start(row);
    if (!startsInside)
      program.loop(0, 2, 1);
    program.done(row);
    EXPECT_TRUE(contains(check(program), startsInside
                                             ? "not waited for in the region"
                                             : "in the same region"));
  }
  Flight twice;
  uint32_t row = twice.addReduce();
  twice.start(row);
  twice.loop(0, 2, 2);
  twice.start(row);
  twice.done(row);
  twice.done(row);
  EXPECT_TRUE(
      contains(check(twice), "starts a collective that is already running"));
}

/// How long 10,000 steps take to verify while 300 collectives are under way is
/// a property of the test. Ten times as many of both take about that much
/// longer, not a hundred times.
TEST(InFlight, IsFast) {
  auto measure = [](uint64_t numFlights, uint64_t numSteps) {
    Flight program;
    program.arena = 1 << 20;
    std::vector<uint32_t> rows;
    for (uint64_t i = 0; i < numFlights; ++i) {
      rows.push_back(program.addReduce(program.at(256 * i, 64),
                                       program.at(256 * i + 64, 64)));
      program.start(rows.back());
    }
    for (uint64_t i = 0; i < numSteps; ++i)
      program.copy(program.at(256 * (i % numFlights) + 128, 64),
                   program.at(256 * (i % numFlights) + 192, 64), 16);
    for (uint32_t row : rows)
      program.done(row);
    std::string bytes = program.finish();
    auto best = std::chrono::steady_clock::duration::max();
    for (int round = 0; round < 5; ++round) {
      auto begin = std::chrono::steady_clock::now();
      EXPECT_TRUE(Artifact::fromBytes(bytes).ok());
      best = std::min(best, std::chrono::steady_clock::now() - begin);
    }
    return std::chrono::duration<double, std::milli>(best).count();
  };
  double few = measure(300, 10000), many = measure(3000, 100000);
  RecordProperty("milliseconds", std::to_string(few));
  RecordProperty("milliseconds_of_ten_times_as_many", std::to_string(many));
  EXPECT_LT(many, 40 * few);
}

} // namespace
