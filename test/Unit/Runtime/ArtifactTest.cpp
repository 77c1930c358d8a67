// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Surroundings.h"
#include "TestProgram.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Hash.h"

#include "gtest/gtest.h"

#include <fstream>
#include <functional>

using namespace tprt;
using namespace tprt::test;

namespace {

/// A program with a row in every table.
class Everything : public TestProgram {
public:
  explicit Everything(uint32_t lastDevice = 7)
      : TestProgram({{"data", 2}, {"model", 4}}) {
    arena = 4096;
    counters = 1;
    writer.addAll<DeviceRow>({{0}, {4}, {1}, {5}, {2}, {6}, {3}, {lastDevice}});
    source.tensor = writer.text("stored.w");
    source.stored = writer.addAll<int64_t>({12, 8});
    source.view = writer.addAll<int64_t>({3, 4, 8});
    source.start = writer.addAll<int64_t>({1, 0, 0});
    source.size = writer.addAll<int64_t>({1, 4, 8});
    source.step = writer.addAll<int64_t>({1, 1, 1});
    source.permutation = writer.addAll<int64_t>({2, 0, 1});
    addInput("x", DType::F32, {{4, {0}}, {8, {}}});
    addInput("w", DType::F32, {{8, {}}, {4, {}}}, Role::Parameter,
             writer.add(source));
    addInput("cache", DType::F32, {{6, {}}}, Role::State);
    source.extent = 4;
    addParts("pair", {source, source}, 1);
    addOutput("y", DType::F32, {{4, {}}, {4, {}}});
    addOutput("cache.out", DType::F32, {{6, {}}}, 2);
    addPart("gradient", {2, 4}, 0, 5);
    addPart("gradient", {3, 4}, 2, 5);
    writer.add(CommunicatorRow{axes({1})});
    writer.addConstant(std::string(64, 'c'));

    matmul.m = 2, matmul.n = 4, matmul.k = 8;
    std::fill_n(matmul.batch, kMaxBatch, 1);
    matmul.constantB = 1;
    matmul.a = {buffer(Space::Input, 0, 64), DType::F32, 0, {0, 0, 0, 8, 1}};
    matmul.b = {buffer(Space::Input, 1, 128), DType::F32, 0, {0, 0, 0, 4, 1}};
    matmul.c = {buffer(Space::Arena, 0, 32), DType::F32, 0, {0, 0, 0, 4, 1}};
    postOp.kind = PostOpKind::Add;
    postOp.operand = {
        buffer(Space::Constant, 0, 16), DType::F32, 0, {0, 0, 0, 0, 1}};

    collective = {CollectiveKind::AllGather,
                  0,
                  DType::F32,
                  Reduction::None,
                  4,
                  buffer(Space::Arena, 0, 16),
                  buffer(Space::Output, 0, 64),
                  {}};

    copy.rank = 2;
    copy.dtype = DType::F32;
    copy.sizes[0] = 2, copy.sizes[1] = 3;
    copy.source = buffer(Space::Arena, 0, 64);
    copy.source.step = 64;
    copy.source.place = 0;
    place = {axes({1}), 3};
    copy.from.strides[0] = 4, copy.from.strides[1] = 1;
    copy.destination = buffer(Space::Input, 2, 24);
    copy.to.strides[0] = 3, copy.to.strides[1] = 1;

    fill.rank = 1;
    fill.dtype = DType::F32;
    fill.sizes[0] = 4;
    fill.destination = buffer(Space::Arena, 0, 16, 64);
    fill.destination.step = 16;
    fill.destination.counter = 0;
    fill.to.strides[0] = 1;

    loop.kind = ControlKind::Loop;
    loop.counter = 0;
    loop.trips = 5;
    loop.first = 2;

    scatter.kind = ScatterKind::Add;
    scatter.dtype = DType::F32;
    scatter.batch = 1, scatter.outer = 2, scatter.count = 3, scatter.inner = 4;
    scatter.axis = 5;
    scatter.updates = buffer(Space::Arena, 0, 96, 1024);
    scatter.updateStrides[1] = 12, scatter.updateStrides[2] = 4;
    scatter.updateStrides[3] = 1;
    scatter.indices = buffer(Space::Arena, 0, 24, 1152);
    scatter.indexStrides[1] = 1;
    scatter.destination = buffer(Space::Arena, 0, 160, 1280);
    scatter.strides[1] = 20, scatter.strides[2] = 4, scatter.strides[3] = 1;

    sort.dtype = DType::F32;
    sort.rows = 2, sort.columns = 6, sort.kept = 3;
    sort.source = buffer(Space::Arena, 0, 48, 2048);
    sort.sourceStrides[0] = 6, sort.sourceStrides[1] = 1;
    sort.values = buffer(Space::Arena, 0, 24, 2112);
    sort.valueStrides[0] = 3, sort.valueStrides[1] = 1;
    sort.indices = buffer(Space::Arena, 0, 24, 2176);
    sort.indexStrides[0] = 3, sort.indexStrides[1] = 1;

    call.firstWritten = 1;
    call.rowEnd = 8;
    callBuffers = {buffer(Space::Constant, 0, 64), buffer(Space::Arena, 0, 64)};
    callScalars = {{ScalarKind::Constant, 0, 7},
                   {ScalarKind::Coordinate, 0, 0},
                   {ScalarKind::Counter, 0, 0}};
  }

  void addBundle(const std::vector<int64_t> &members, int64_t rows) {
    writer.add(
        BundleRow{writer.addAll<int64_t>(absl::MakeConstSpan(members)), rows});
  }

  /// An input of [8, 8] along `joined`.
  void addParts(const std::string &name, const std::vector<SourceRow> &parts,
                uint32_t joined) {
    addJoined(name, DType::F32, {{8, {}}, {8, {0}}}, Role::Parameter,
              writer.addAll<SourceRow>(absl::MakeConstSpan(parts)), joined);
  }

  std::string write() {
    writer.add(place);
    matmul.postOps = writer.addAll<PostOpRow>({postOp});
    call.kernel = writer.add(KernelRow{writer.text("kernel")});
    call.buffers = writer.addAll<BufferRow>(absl::MakeConstSpan(callBuffers));
    call.scalars = writer.addAll<ScalarRow>(absl::MakeConstSpan(callScalars));
    addStep(StepKind::Control, writer.add(loop), "layers");
    addStep(StepKind::Fill, writer.add(fill));
    addStep(StepKind::Kernel, writer.add(call));
    addStep(StepKind::Matmul, writer.add(matmul));
    addStep(StepKind::Copy, writer.add(copy));
    addStep(StepKind::Scatter, writer.add(scatter));
    uint32_t gather = writer.add(collective);
    addStep(StepKind::CollectiveStart, gather);
    addStep(StepKind::Sort, writer.add(sort));
    addStep(StepKind::CollectiveDone, gather);
    writer.setBytes(SectionKind::CpuFeatures, "x86_64:");
    writer.setBytes(SectionKind::LocalProgram, "ML\xefR");
    return finish();
  }

  SourceRow source = {}; ///< [8, 4]
  MatmulRow matmul = {};
  PostOpRow postOp = {};
  CollectiveRow collective = {};
  CopyRow copy = {};
  FillRow fill = {};
  PlaceRow place = {};
  ScatterRow scatter = {};
  SortRow sort = {};
  ControlRow loop = {};
  KernelCallRow call = {};
  std::vector<BufferRow> callBuffers;
  std::vector<ScalarRow> callScalars;
};

ErrorCode read(const std::string &bytes) {
  return getErrorCode(Artifact::fromBytes(bytes).status());
}

/// Repairs the checksums, so that damage reaches the verifier.
void seal(std::string &bytes) {
  auto *header = reinterpret_cast<FileHeader *>(&bytes[0]);
  auto *rows = reinterpret_cast<SectionRow *>(&bytes[sizeof(FileHeader)]);
  for (uint32_t i = 0; i < header->sectionCount; ++i)
    rows[i].checksum = hashBytes(
        absl::string_view(bytes).substr(rows[i].offset, rows[i].size));
  header->checksum = hashBytes(absl::string_view(bytes).substr(
      sizeof(FileHeader), header->sectionCount * sizeof(SectionRow)));
}

TEST(Artifact, ReadsWhatWasWritten) {
  auto artifact = Artifact::fromBytes(Everything().write());
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const Artifact &a = **artifact;
  EXPECT_EQ(a.getNumDevices(), 8);
  ASSERT_EQ(a.rows<EntryRow>().size(), 1u);
  EXPECT_EQ(a.text(a.rows<EntryRow>()[0].name), "main");
  EXPECT_EQ(a.findEntry("main"), 0u);
  EXPECT_EQ(a.findEntry("nothing"), absl::nullopt);
  EXPECT_EQ(a.findInput("cache"), 2u);
  EXPECT_EQ(a.bytes(SectionKind::LocalProgram), "ML\xefR");
  EXPECT_EQ(a.bytes(SectionKind::GlobalProgram), "");
  EXPECT_EQ(a.getLocalShape(a.rows<InputRow>()[0].dims),
            (std::vector<int64_t>{2, 8}));
  EXPECT_EQ(a.rows<StepRow>().size(), 9u);
}

/// Whoever writes to the file of a program that runs, or cuts it, changes
/// nothing of it: neither tables that were verified nor constants.
TEST(Artifact, DoesNotChangeWithItsFile) {
  TempFolder temporary;
  std::string path = temporary.get() + "/p.tpx", bytes = Everything().write();
  for (bool isCut : {false, true}) {
    std::ofstream(path, std::ios::binary) << bytes;
    auto artifact = Artifact::open(path);
    ASSERT_TRUE(artifact.ok()) << artifact.status();
    // In place, as `cp` does it.
    std::ofstream(path, std::ios::binary)
        << std::string(isCut ? 0 : bytes.size(), '\xff');
    const Artifact &a = **artifact;
    EXPECT_EQ(a.text(a.rows<EntryRow>()[0].name), "main");
    EXPECT_EQ(a.bytes(SectionKind::Constants), std::string(64, 'c'));
    EXPECT_EQ(a.getHash(), (*Artifact::fromBytes(bytes))->getHash());
  }
}

TEST(Artifact, SameProgramSameBytes) {
  EXPECT_EQ(Everything().write(), Everything().write());
}

/// GPUs multiply 8-bit floats of one kind, and give wider ones.
TEST(Artifact, MatmulsOf8BitFloats) {
  auto readWith = [](DType factors, DType result) {
    Everything program;
    program.target = kCudaTarget;
    program.writer.add(GpuImageRow{});
    program.writer.add(LaunchRow{1, 32, 0});
    program.matmul.a.dtype = program.matmul.b.dtype = factors;
    program.matmul.c.dtype = program.postOp.operand.dtype = result;
    return read(program.write());
  };
  for (DType result : {DType::F32, DType::BF16, DType::F16})
    EXPECT_EQ(readWith(DType::F8E4M3FN, result), ErrorCode(0));
  EXPECT_EQ(readWith(DType::F8E4M3FN, DType::F8E4M3FN),
            ErrorCode::ArtifactCorrupt);
  EXPECT_EQ(readWith(DType::F8E5M2, DType::F32), ErrorCode::ArtifactCorrupt);
  EXPECT_EQ(readWith(DType::BF16, DType::F16), ErrorCode::ArtifactCorrupt);
}

/// Both ways of a choice are steps that are timed by themselves, and write the
/// same bytes but for the arena's.
TEST(Artifact, ChoicesWriteTheSame) {
  auto readWith = [](const std::function<void(ControlRow &, FillRow &)> &change,
                     bool isLoop = false) {
    TestProgram program;
    program.arena = 64;
    program.counters = 1;
    uint32_t y = program.addOutput("y", DType::F32, {{4, {}}});
    FillRow first = {};
    first.rank = 1;
    first.dtype = DType::F32;
    first.sizes[0] = 4;
    first.destination = TestProgram::buffer(Space::Output, y, 16);
    first.to.strides[0] = 1;
    FillRow second = first, scratch = first;
    scratch.destination = TestProgram::buffer(Space::Arena, 0, 16);
    ControlRow choice = {};
    choice.kind = ControlKind::Choice;
    choice.first = 1;
    choice.second = 2;
    change(choice, second);
    program.addStep(StepKind::Control, program.writer.add(choice));
    program.addStep(StepKind::Fill, program.writer.add(first));
    ControlRow loop = {};
    if (isLoop)
      program.addStep(StepKind::Control, program.writer.add(loop));
    else
      program.addStep(StepKind::Fill, program.writer.add(scratch));
    program.addStep(StepKind::Fill, program.writer.add(second));
    return read(program.finish());
  };
  EXPECT_EQ(readWith([](auto &, auto &) {}), ErrorCode(0));
  EXPECT_EQ(readWith([](auto &choice, auto &) { choice.second = 0; }),
            ErrorCode::ArtifactCorrupt);
  EXPECT_EQ(readWith([](auto &choice, auto &) { choice.second = 1; }),
            ErrorCode::ArtifactCorrupt);
  EXPECT_EQ(readWith([](auto &choice, auto &) { choice.second = 3; }),
            ErrorCode::ArtifactCorrupt);
  EXPECT_EQ(readWith([](auto &, auto &fill) {
              fill.sizes[0] = 2;
              fill.destination.size = 8;
            }),
            ErrorCode::ArtifactCorrupt);
  EXPECT_EQ(readWith([](auto &, auto &) {}, /*isLoop=*/true),
            ErrorCode::ArtifactCorrupt);
}

TEST(Artifact, GroupsFollowTheAxes) {
  TestProgram program({{"data", 2}, {"model", 4}});
  program.writer.add(CommunicatorRow{program.axes({0})});
  program.writer.add(CommunicatorRow{program.axes({1, 0})});
  // The least significant half of model: model:(2)2.
  program.writer.add(
      CommunicatorRow{program.writer.addAll<AxisRefRow>({{1, 0, 2, 2}})});
  auto artifact = Artifact::fromBytes(program.finish());
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  auto rows = (*artifact)->rows<CommunicatorRow>();
  EXPECT_EQ((*artifact)->getGroup(rows[0], 6), (std::vector<int>{2, 6}));
  EXPECT_EQ((*artifact)->getGroup(rows[1], 3),
            (std::vector<int>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ((*artifact)->getPosition(rows[1].axes, 6), 5);
  EXPECT_EQ((*artifact)->getGroup(rows[2], 7), (std::vector<int>{6, 7}));
  EXPECT_EQ((*artifact)->getGroup(rows[2], 1), (std::vector<int>{0, 1}));
}

/// Rank 3 is at place 0, and so on: groups follow places, and name ranks.
TEST(Artifact, GroupsFollowTheDevices) {
  TestProgram program({{"x", 2}, {"y", 2}});
  program.writer.addAll<DeviceRow>({{3}, {1}, {2}, {0}});
  program.writer.add(CommunicatorRow{program.axes({0})});
  program.writer.add(CommunicatorRow{program.axes({1})});
  auto artifact = Artifact::fromBytes(program.finish());
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const Artifact &a = **artifact;
  auto rows = a.rows<CommunicatorRow>();
  EXPECT_EQ(a.getGroup(rows[0], 3), (std::vector<int>{3, 2}));
  EXPECT_EQ(a.getGroup(rows[0], 0), (std::vector<int>{1, 0}));
  EXPECT_EQ(a.getGroup(rows[1], 3), (std::vector<int>{3, 1}));
  EXPECT_EQ(a.getGroup(rows[1], 0), (std::vector<int>{2, 0}));
  const int64_t places[] = {3, 1, 2, 0};
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(a.getPlace(rank), places[rank]);
    EXPECT_EQ(a.getPosition(rows[0].axes, rank), places[rank] / 2);
    EXPECT_EQ(a.getPosition(rows[1].axes, rank), places[rank] % 2);
  }
}

TEST(Artifact, NamesWhatIsWrongWithTheFile) {
  std::string bytes = Everything().write();
  EXPECT_EQ(read("func.func @main()"), ErrorCode::NotAnArtifact);
  EXPECT_EQ(read(""), ErrorCode::NotAnArtifact);
  std::string version = bytes;
  version[8] = 9;
  EXPECT_EQ(read(version), ErrorCode::ArtifactVersion);
  std::string damaged = bytes;
  damaged[damaged.find("stored.w")] ^= 1;
  EXPECT_EQ(read(damaged), ErrorCode::ArtifactChecksum);
}

TEST(Artifact, SkipsSectionsOfLaterCompilers) {
  Everything program;
  program.writer.setBytes(static_cast<SectionKind>(4711), "news");
  EXPECT_EQ(read(program.write()), ErrorCode(0));
}

TEST(Artifact, EveryTruncationIsAnError) {
  std::string bytes = Everything().write();
  for (size_t size = 0; size < bytes.size(); ++size) {
    ErrorCode code = read(bytes.substr(0, size));
    EXPECT_EQ(code, size < sizeof(kMagic) ? ErrorCode::NotAnArtifact
                                          : ErrorCode::ArtifactTruncated)
        << size;
  }
}

TEST(Artifact, EveryFlippedByteOfASectionIsAnError) {
  std::string bytes = Everything().write();
  auto artifact = Artifact::fromBytes(bytes);
  ASSERT_TRUE(artifact.ok());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 1 << i % 8;
    auto result = Artifact::fromBytes(damaged);
    // Reserved bytes and the gaps between sections mean nothing.
    if (!result.ok()) {
      EXPECT_GE(static_cast<int>(getErrorCode(result.status())), 841) << i;
      EXPECT_LE(static_cast<int>(getErrorCode(result.status())), 845) << i;
    } else {
      EXPECT_EQ((*result)->getHash(), (*artifact)->getHash());
    }
  }
}

TEST(Artifact, SealedDamageNeverCrashes) {
  std::string bytes = Everything().write();
  uint64_t state = 1;
  auto random = [&] {
    return state = state * 6364136223846793005 + 1442695040888963407,
           state >> 33;
  };
  size_t tables =
      sizeof(FileHeader) +
      reinterpret_cast<const FileHeader *>(bytes.data())->sectionCount *
          sizeof(SectionRow);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes;
    for (int flips = 1 + random() % 3; flips > 0; --flips) {
      size_t at = tables + random() % (damaged.size() - tables);
      damaged[at] = random() % 4 ? random() : (random() % 2 ? 0xff : 0x7f);
    }
    seal(damaged);
    auto result = Artifact::fromBytes(damaged);
    accepted += result.ok();
    if (!result.ok())
      EXPECT_EQ(getErrorCode(result.status()), ErrorCode::ArtifactCorrupt);
  }
  // Constants, names and gaps may change freely; rows may not.
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 18000);
}

/// One change per promise of the verifier, each refused.
TEST(Artifact, RefusesRowsThatContradict) {
  using Change = std::function<void(Everything &)>;
  const std::pair<const char *, Change> changes[] = {
      {"matmul beyond its operand", [](auto &p) { p.matmul.m = 3; }},
      {"matmul of nothing", [](auto &p) { p.matmul.k = 0; }},
      {"matmul without unit stride",
       [](auto &p) { p.matmul.c.strides[4] = 2; }},
      {"matmul of a repeated row", [](auto &p) { p.matmul.a.strides[3] = 0; }},
      {"matmul of a repeated number",
       [](auto &p) {
         p.matmul.m = 1, p.matmul.k = int64_t{1} << 32;
         p.matmul.a.strides[3] = 1, p.matmul.a.strides[4] = 0;
         p.matmul.b.strides[3] = 0;
       }},
      {"matmul whose A has 2^64 elements",
       [](auto &p) {
         p.matmul.m = 1, p.matmul.k = int64_t{1} << 32;
         p.matmul.batch[0] = int64_t{1} << 32;
         p.matmul.a.strides[3] = 1, p.matmul.a.strides[4] = 0;
         p.matmul.b.strides[3] = 0;
       }},
      {"matmul whose batches write one result",
       [](auto &p) { p.matmul.batch[0] = 2; }},
      {"more counters than loops", [](auto &p) { p.counters = UINT32_MAX; }},
      {"copy that writes an element twice",
       [](auto &p) { p.copy.to.strides[0] = 2; }},
      {"fill that writes an element twice",
       [](auto &p) { p.fill.to.strides[0] = 0; }},
      {"matmul of integers", [](auto &p) { p.matmul.a.dtype = DType::I32; }},
      {"matmul of 8-bit floats on a CPU",
       [](auto &p) { p.matmul.a.dtype = p.matmul.b.dtype = DType::F8E4M3FN; }},
      {"activation as constant weight",
       [](auto &p) {
         p.matmul.b = p.matmul.a, p.matmul.k = 4, p.matmul.n = 2;
       }},
      {"unknown post-op", [](auto &p) { p.postOp.kind = PostOpKind(9); }},
      {"post-op beyond its operand",
       [](auto &p) { p.postOp.operand.strides[3] = 4000; }},
      {"gather beyond its output", [](auto &p) { p.collective.count = 5; }},
      {"gather that reduces",
       [](auto &p) { p.collective.reduction = Reduction::Sum; }},
      {"collective that joins none",
       [](auto &p) { p.collective.joined = 1; }},
      {"collective that joins another communicator",
       [](auto &p) {
         uint32_t alone = p.writer.add(p.collective);
         p.addStep(StepKind::CollectiveStart, alone);
         CollectiveRow row = p.collective;
         row.communicator = p.writer.add(CommunicatorRow{p.axes({0})});
         row.count = 0;
         row.source.size = row.destination.size = 0;
         row.joined = 1;
         uint32_t joined = p.writer.add(row);
         p.addStep(StepKind::CollectiveStart, joined);
         p.addStep(StepKind::CollectiveDone, alone);
         p.addStep(StepKind::CollectiveDone, joined);
       }},
      {"collective that is joined twice",
       [](auto &p) { p.collective.joined = 2; }},
      {"unknown communicator", [](auto &p) { p.collective.communicator = 1; }},
      {"overlapping collective",
       [](auto &p) {
         p.collective.destination = p.buffer(Space::Arena, 0, 64);
       }},
      {"permutation of nobody",
       [](auto &p) {
         p.collective.kind = CollectiveKind::CollectivePermute;
         p.collective.permutation =
             p.writer.template addAll<int64_t>({1, 2, 3, 4});
       }},
      {"sum of 8-bit floats",
       [](auto &p) {
         p.collective.kind = CollectiveKind::AllReduce;
         p.collective.reduction = Reduction::Sum;
         p.collective.dtype = DType::F8E5M2;
       }},
      {"copy beyond its source", [](auto &p) { p.copy.from.strides[0] = 14; }},
      {"copy with a negative stride",
       [](auto &p) { p.copy.from.strides[0] = -4; }},
      {"copy of nine dimensions", [](auto &p) { p.copy.rank = 9; }},
      {"write to a weight",
       [](auto &p) { p.copy.destination = p.buffer(Space::Input, 1, 24); }},
      {"write to a constant",
       [](auto &p) { p.copy.destination = p.buffer(Space::Constant, 0, 24); }},
      {"bundle of one input", [](auto &p) { p.addBundle({3}, 1); }},
      {"bundle of an input twice", [](auto &p) { p.addBundle({3, 3}, 1); }},
      {"bundle of no input", [](auto &p) { p.addBundle({3, 9}, 1); }},
      {"bundle without rows", [](auto &p) { p.addBundle({1, 3}, 0); }},
      {"bundle of broken rows", [](auto &p) { p.addBundle({1, 3}, 5); }},
      {"bundle of what is overwritten",
       [](auto &p) { p.addBundle({2, 3}, 1); }},
      {"step that reads a member of a bundle",
       [](auto &p) { p.addBundle({1, 3}, 1); }},
      {"matmul of a missing bundle",
       [](auto &p) { p.matmul.b.buffer = p.buffer(Space::Bundle, 0, 128); }},
      {"matmul beyond a bundle",
       [](auto &p) {
         p.addBundle({1, 3}, 1);
         p.matmul.b.buffer = p.buffer(Space::Bundle, 0, 128, 256);
       }},
      {"write to a bundle",
       [](auto &p) {
         p.addBundle({1, 3}, 1);
         p.matmul.b.buffer = p.buffer(Space::Bundle, 0, 128);
         p.copy.destination = p.buffer(Space::Bundle, 0, 24, 128);
       }},
      {"buffer in an unknown space",
       [](auto &p) { p.copy.source.space = Space(5); }},
      {"kernel that writes a constant",
       [](auto &p) { p.call.firstWritten = 0; }},
      {"kernel with reversed rows", [](auto &p) { p.call.rowBegin = 9; }},
      {"misaligned fill", [](auto &p) { p.fill.destination.offset = 2; }},
      {"last trip beyond the arena",
       [](auto &p) { p.fill.destination.step = 1024; }},
      {"last trip before the arena",
       [](auto &p) { p.fill.destination.step = -64; }},
      {"step that overflows",
       [](auto &p) { p.fill.destination.step = INT64_MIN; }},
      {"scatter of an unknown kind",
       [](auto &p) { p.scatter.kind = ScatterKind(5); }},
      {"scatter that adds halves",
       [](auto &p) { p.scatter.dtype = DType::F16; }},
      {"scatter beyond its updates", [](auto &p) { p.scatter.outer = 3; }},
      {"scatter beyond its indices",
       [](auto &p) { p.scatter.indexStrides[1] = 2; }},
      {"scatter beyond its destination", [](auto &p) { p.scatter.axis = 6; }},
      {"scatter into what it reads",
       [](auto &p) { p.scatter.updates = p.scatter.destination; }},
      {"scatter of too much",
       [](auto &p) {
         p.scatter.batch = p.scatter.outer = int64_t{1} << 40;
         p.scatter.count = p.scatter.inner = 0;
       }},
      {"sort of more rows than there are", [](auto &p) { p.sort.rows = 3; }},
      {"sort that keeps more than it has", [](auto &p) { p.sort.kept = 7; }},
      {"sort of a negative number", [](auto &p) { p.sort.kept = -1; }},
      {"sort in place", [](auto &p) { p.sort.values = p.sort.source; }},
      {"sort of 8-bit floats", [](auto &p) { p.sort.dtype = DType::F8E4M3FN; }},
      {"counter of no loop", [](auto &p) { p.fill.destination.counter = 1; }},
      {"a place that is none", [](auto &p) { p.copy.source.place = 1; }},
      {"a place and a loop", [](auto &p) { p.fill.destination.place = 0; }},
      {"a place beyond the arena", [](auto &p) { p.copy.source.step = 1360; }},
      {"a place before the arena", [](auto &p) { p.copy.source.step = -64; }},
      {"a place behind all", [](auto &p) { p.place.plus = 4; }},
      {"a place before all", [](auto &p) { p.place.plus = -1; }},
      {"a place along axes that are none",
       [](auto &p) { p.place.axes.first = 1000; }},
      {"scalar of no loop", [](auto &p) { p.callScalars[2].index = 1; }},
      {"loop over later steps", [](auto &p) { p.loop.first = 9; }},
      {"loop over half a collective", [](auto &p) { p.loop.first = 7; }},
      {"loop with two bodies", [](auto &p) { p.loop.second = 1; }},
      {"loop with an unknown counter", [](auto &p) { p.loop.counter = 2; }},
      {"collective never finished",
       [](auto &p) {
         p.addStep(StepKind::CollectiveStart, p.writer.add(p.collective));
       }},
      {"sort of what a collective writes",
       [](auto &p) { p.sort.values = p.buffer(Space::Output, 0, 24); }},
      {"collective never started",
       [](auto &p) {
         p.addStep(StepKind::CollectiveDone, p.writer.add(p.collective));
       }},
      {"step of an unknown kind", [](auto &p) { p.addStep(StepKind(9), 0); }},
      {"step of a missing row", [](auto &p) { p.addStep(StepKind::Copy, 9); }},
      {"two inputs of one name",
       [](auto &p) { p.addInput("x", DType::F32, {}); }},
      {"alias of another size",
       [](auto &p) { p.addOutput("z", DType::F32, {{5, {}}}, 2); }},
      {"alias of an alias",
       [](auto &p) { p.addOutput("z", DType::F32, {{6, {}}}, 2); }},
      {"shape that overflows",
       [](auto &p) {
         p.addInput("big", DType::F32,
                    {{int64_t{1} << 40, {}}, {int64_t{1} << 40, {}}});
       }},
      {"a link that follows none",
       [](auto &p) { p.writer.add(MeshAxis{p.writer.text("w"), 1, 2}); }},
      {"uneven sub-axis",
       [](auto &p) { p.writer.template addAll<AxisRefRow>({{1, 0, 3, 2}}); }},
      {"axis twice",
       [](auto &p) { p.writer.add(CommunicatorRow{p.axes({1, 1})}); }},
      {"wrong block",
       [](auto &p) {
         Range dims = p.writer.template addAll<DimRow>({{9, 4, p.axes({0})}});
         p.writer.add(InputRow{p.writer.text("b"), Role::State, DType::F32,
                               dims, Range{}});
       }},
      {"unknown role",
       [](auto &p) { p.addInput("r", DType::F32, {}, Role(kNumRoles)); }},
      {"source of another shape",
       [](auto &p) {
         p.addInput("v", DType::F32, {{8, {}}, {5, {}}}, Role::Parameter, 0);
       }},
      {"sources beyond their table",
       [](auto &p) {
         p.addJoined("v", DType::F32, {{8, {}}, {4, {}}}, Role::Parameter,
                     Range{3, 1}, 0);
       }},
      {"parts along no dimension",
       [](auto &p) { p.addParts("v", {p.source, p.source}, 2); }},
      {"parts of another shape",
       [](auto &p) {
         SourceRow first = p.source, second = p.source;
         first.extent = 3, second.extent = 5;
         p.addParts("v", {first, second}, 1);
       }},
      {"parts that are too many",
       [](auto &p) { p.addParts("v", {p.source, p.source, p.source}, 1); }},
      {"parts that are too few",
       [](auto &p) {
         p.addJoined("v", DType::F32, {{8, {}}, {12, {}}}, Role::Parameter,
                     Range{1, 2}, 1);
       }},
      {"part of nothing",
       [](auto &p) {
         SourceRow none = p.source;
         none.extent = 0;
         p.addParts("v", {p.source, none, p.source}, 1);
       }},
      {"output of parts that lie elsewhere",
       [](auto &p) { p.outputs.back().part.first = 1000; }},
      {"output of two parts", [](auto &p) { p.outputs.back().part.count = 2; }},
      {"output that is a part of another shape",
       [](auto &p) { p.addPart("other", {4, 4}, 0, 2); }},
      {"output that is part of nothing else",
       [](auto &p) { p.addPart("other", {4, 4}, 0, 4); }},
      {"output whose last part is missing",
       [](auto &p) { p.addPart("other", {2, 4}, 0, 4); }},
      {"outputs with a gap",
       [](auto &p) {
         p.addPart("other", {1, 4}, 0, 4);
         p.addPart("other", {2, 4}, 2, 4);
       }},
      {"outputs of parts in another order",
       [](auto &p) {
         p.addPart("other", {2, 4}, 2, 4);
         p.addPart("other", {2, 4}, 0, 4);
       }},
      {"parts of two element types",
       [](auto &p) { p.outputs.back().dtype = DType::I32; }},
      {"two results of one name",
       [](auto &p) {
         p.addOutput("gradient", DType::F32, {{4, {}}});
       }},
      {"parts of one name twice",
       [](auto &p) {
         p.addPart("gradient", {2, 4}, 0, 4);
         p.addPart("gradient", {2, 4}, 2, 4);
       }},
      {"more places than devices",
       [](auto &p) { p.writer.add(DeviceRow{8}); }},
      {"two devices at one place",
       [](auto &p) {
         p = Everything(/*lastDevice=*/6);
       }},
  };
  ASSERT_EQ(read(Everything().write()), ErrorCode(0));
  for (const auto &[what, change] : changes) {
    Everything program;
    change(program);
    EXPECT_EQ(read(program.write()), ErrorCode::ArtifactCorrupt) << what;
  }
}

TEST(Errors, CarryCodeContextAndExit) {
  absl::Status status = makeError(ErrorCode::PeerFailed, "rank ", 1, " died");
  EXPECT_EQ(status.message(), "[TP0870] rank 1 died");
  EXPECT_EQ(getErrorCode(status), ErrorCode::PeerFailed);
  EXPECT_EQ(getExitCode(status), 3);
  absl::Status longer = addContext(status, "rank 0");
  EXPECT_EQ(longer.message(), "[TP0870] rank 0: rank 1 died");
  EXPECT_EQ(getErrorCode(longer), ErrorCode::PeerFailed);
  EXPECT_EQ(getExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(getErrorCode(absl::OkStatus()), ErrorCode(0));
  EXPECT_FALSE(describe(ErrorCode::CacheFull).empty());
  EXPECT_TRUE(describe(ErrorCode(1)).empty());
}

/// Each image says how each kernel is launched.
TEST(Artifact, RefusesImagesWithoutLaunches) {
  for (int launches : {1, 2, 3, 4, 5}) {
    TestProgram program;
    program.target = kCudaTarget;
    for (const char *symbol : {"first", "second"}) {
      program.writer.add(KernelRow{program.writer.text(symbol)});
      program.writer.add(GpuImageRow{});
    }
    for (int i = 0; i < launches; ++i)
      program.writer.add(LaunchRow{1, 32, 0});
    EXPECT_EQ(getErrorCode(Artifact::fromBytes(program.finish()).status()),
              launches == 4 ? ErrorCode(0) : ErrorCode::ArtifactCorrupt);
  }
}

/// What makes random numbers is a kernel there is, of a type there is.
TEST(Artifact, RefusesRandomsOfNothing) {
  for (const RandomRow &row :
       {RandomRow{0, DType::F32}, RandomRow{1, DType::F32},
        RandomRow{0, static_cast<DType>(99)}}) {
    TestProgram program;
    program.target = kCudaTarget;
    program.writer.add(KernelRow{program.writer.text("random")});
    program.writer.add(GpuImageRow{});
    program.writer.add(LaunchRow{1, 32, 0});
    bool isFine = row.kernel == 0 && row.dtype == DType::F32;
    program.writer.add(row);
    EXPECT_EQ(getErrorCode(Artifact::fromBytes(program.finish()).status()),
              isFine ? ErrorCode(0) : ErrorCode::ArtifactCorrupt);
  }
}

/// What reduces for ranks on one GPU is a kernel there is, of a type there is.
TEST(Artifact, RefusesCombinesOfNothing) {
  for (const CombineRow &row :
       {CombineRow{0, DType::F32, Reduction::Sum, 2},
        CombineRow{1, DType::F32, Reduction::Sum, 2},
        CombineRow{0, static_cast<DType>(99), Reduction::Sum, 2},
        CombineRow{0, DType::F32, Reduction::None, 2},
        CombineRow{0, DType::F32, static_cast<Reduction>(9), 2},
        CombineRow{0, DType::F32, Reduction::Sum, 0}}) {
    TestProgram program;
    program.target = kCudaTarget;
    program.writer.add(KernelRow{program.writer.text("combine")});
    program.writer.add(GpuImageRow{});
    program.writer.add(LaunchRow{1, 32, 0});
    bool isFine = row.kernel == 0 && row.dtype == DType::F32 &&
                  row.reduction == Reduction::Sum && row.groupSize == 2;
    program.writer.add(row);
    EXPECT_EQ(getErrorCode(Artifact::fromBytes(program.finish()).status()),
              isFine ? ErrorCode(0) : ErrorCode::ArtifactCorrupt);
  }
}

// Links are numbered in the order of axes. A group along several axes uses the
// links of all of them.
TEST(Artifact, KnowsTheLinksOfAGroup) {
  TestProgram program;
  for (auto [name, link] :
       {std::pair("pod", 0), {"x", 1}, {"host", 0}, {"y", 2}})
    program.writer.add(
        MeshAxis{program.writer.text(name), 2, static_cast<uint32_t>(link)});
  auto getRow = [&](std::initializer_list<uint32_t> axes) {
    std::vector<AxisRefRow> refs;
    for (uint32_t axis : axes)
      refs.push_back({axis, 0, 1, 2});
    return CommunicatorRow{
        program.writer.addAll<AxisRefRow>(absl::MakeConstSpan(refs))};
  };
  CommunicatorRow pods = getRow({2, 0}), x = getRow({1}),
                  all = getRow({3, 1, 0}), none = {};
  auto artifact = Artifact::fromBytes(program.finish());
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  using Links = std::vector<uint32_t>;
  EXPECT_EQ((*artifact)->getNumLinks(), 3u);
  EXPECT_EQ((*artifact)->getLinks(pods), Links{0});
  EXPECT_EQ((*artifact)->getLinks(x), Links{1});
  EXPECT_EQ((*artifact)->getLinks(all), (Links{0, 1, 2}));
  EXPECT_EQ((*artifact)->getLinks(none), Links{0});
}

} // namespace
