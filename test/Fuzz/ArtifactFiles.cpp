// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Artifacts: damaged row by row, loaded, and run if they have no code of their
// own.

#include "ArtifactFiles.h"

#include "Mutate.h"

#include "lib/Codegen/Artifact.h"
#include "lib/Codegen/ObjectCode.h"
#include "tpopt/InitAll.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "runtime/Core/Artifact.h"
#include "runtime/Core/Hash.h"
#include "runtime/Core/Session.h"
#include "runtime/Core/Shapes.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;
using namespace tp::fuzz;

/// One with kernels, and one of all the steps that the runtime does by itself:
/// products with few rows and with more, copies, sorts, scatters, collectives
/// and loops.
static constexpr const char *kPrograms[] = {R"(
spmd.mesh @mesh <["x"=2], device_ids=[1, 0]>
func.func @main(%x: tensor<5x6xf32> {tp.name = "x"},
    %w: tensor<6x4xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>,
      tp.source = #tp.join<dim = 0, [
        #tp.source<"a", stored=[4, 5], start=[0, 1], size=[4, 4], view=[4, 4], permutation=[1, 0]>,
        #tp.source<"b", stored=[2, 4], start=[0, 0], size=[2, 4], view=[2, 4], permutation=[0, 1]>]>})
    -> (tensor<5x4xf32>,
        tensor<5x4xf32> {tp.source = #tp.source<"y", stored=[5, 7], start=[0, 0], size=[5, 4], view=[5, 4], permutation=[0, 1]>},
        tensor<5x3xf32> {tp.source = #tp.source<"y", stored=[5, 7], start=[0, 4], size=[5, 3], view=[5, 3], permutation=[0, 1]>}) {
  %0 = tp.einsum "ab,bc->ac" %x, %w : (tensor<5x6xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
  %1 = tp.softmax %0 dim = 1 : tensor<5x4xf32>
  %2 = tp.slice %0 starts = [0, 1] strides = [1, 1] : tensor<5x4xf32> -> tensor<5x3xf32>
  return %1, %0, %2 : tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x3xf32>
})",
                                            R"(
spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<12x6xf32> {tp.name = "x"},
    %w: tensor<6x4xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
    %u: tensor<3x4xf32> {tp.name = "u"}, %b: tensor<3x4x4xf32> {tp.name = "b"},
    %i: tensor<3xi64> {tp.name = "i"})
    -> (tensor<12x4xf32>, tensor<12x3xf32>, tensor<12x3xi32>, tensor<12x4xf32>, tensor<8x3xf32>, tensor<3x4x4xf32>) {
  %0 = tp.einsum "ab,bc->ac" %x, %w : (tensor<12x6xf32>, tensor<6x4xf32>) -> tensor<12x4xf32>
  %1, %2 = tp.top_k %x : tensor<12x6xf32> -> tensor<12x3xf32>, tensor<12x3xi32>
  %3 = tp.scatter add %0, %i, %u axis = 0 batch = 0 : (tensor<12x4xf32>, tensor<3xi64>, tensor<3x4xf32>) -> tensor<12x4xf32>
  %4 = tp.transpose %u [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  %5 = tp.concat %4, %4 dim = 0 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %6 = tp.einsum "xab,xbc->xca" %b, %b : (tensor<3x4x4xf32>, tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
  return %0, %1, %2, %3, %5, %6 : tensor<12x4xf32>, tensor<12x3xf32>, tensor<12x3xi32>, tensor<12x4xf32>, tensor<8x3xf32>, tensor<3x4x4xf32>
})"};

std::vector<std::string> tp::fuzz::makeArtifacts() {
  DialectRegistry registry;
  registerTPOptDialects(registry);
  registerKernelDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::vector<std::string> files;
  for (const char *program : kPrograms) {
    auto module = parseSourceString<ModuleOp>(program, &context);
    PassManager manager(&context);
    buildCompilePipeline(manager, CompileOptions());
    if (!module || failed(manager.run(*module)))
      return {};
    FailureOr<std::string> bytes =
        buildArtifact(*module, *createCpuCode(&context));
    if (failed(bytes))
      return {};
    files.push_back(*bytes);
  }
  return files;
}

//===----------------------------------------------------------------------===//
// Damage
//===----------------------------------------------------------------------===//

/// The section table, if the file has it whole.
static MutableArrayRef<tprt::SectionRow> getSections(std::string &file) {
  auto *header = reinterpret_cast<tprt::FileHeader *>(file.data());
  if (file.size() < sizeof(*header) ||
      header->sectionCount >
          (file.size() - sizeof(*header)) / sizeof(tprt::SectionRow))
    return {};
  return {reinterpret_cast<tprt::SectionRow *>(header + 1),
          header->sectionCount};
}

static bool isInside(const tprt::SectionRow &section, const std::string &file) {
  return section.offset <= file.size() &&
         section.size <= file.size() - section.offset;
}

/// Makes checksums right, as somebody would who means harm, so that what lies
/// behind them is reached.
static void mendChecksums(std::string &file) {
  MutableArrayRef<tprt::SectionRow> sections = getSections(file);
  for (tprt::SectionRow &section : sections)
    if (isInside(section, file))
      section.checksum = tprt::hashBytes(
          absl::string_view(file.data() + section.offset, section.size));
  if (!sections.empty())
    reinterpret_cast<tprt::FileHeader *>(file.data())->checksum =
        tprt::hashBytes(
            absl::string_view(reinterpret_cast<char *>(sections.data()),
                              sections.size() * sizeof(tprt::SectionRow)));
}

/// Gives a field of a row another value: fields are words of 4 or 8 bytes.
static void damageField(std::string &file, Random &random) {
  SmallVector<const tprt::SectionRow *> tables;
  for (const tprt::SectionRow &section : getSections(file))
    if (uint32_t(section.kind) < tprt::kNumRowSections && section.size >= 8 &&
        isInside(section, file))
      tables.push_back(&section);
  if (tables.empty())
    return;
  const tprt::SectionRow &table = *random.pick(ArrayRef(tables));
  auto draw = [&](size_t bytes) {
    return table.offset + random.below(table.size / bytes) * bytes;
  };
  size_t bytes = random.pick<size_t>({4, 8});
  size_t at = draw(bytes);
  uint64_t value = 0;
  std::memcpy(&value, &file[at], bytes);
  switch (random.draw(0, 4)) {
  case 0: // that of another field
    std::memcpy(&value, &file[draw(bytes)], bytes);
    break;
  case 1: // nearby
    value += random.pick<uint64_t>({1, 2, 4, 8, 64, uint64_t(-1), uint64_t(-4),
                                    uint64_t(-8), uint64_t(-64)});
    break;
  case 2:
    value *= random.pick<uint64_t>({0, 2, 3, 1 << 16, uint64_t(1) << 31});
    break;
  default:
    value = random.pick<uint64_t>(
        {0, 1, 2, 9, 4096, (uint64_t(1) << 31) - 1, uint64_t(1) << 31,
         (uint64_t(1) << 32) - 1, uint64_t(1) << 32, uint64_t(1) << 40,
         uint64_t(1) << 62, INT64_MAX, uint64_t(1) << 63, ~uint64_t(0)});
  }
  std::memcpy(&file[at], &value, bytes);
}

std::string tp::fuzz::damageArtifact(std::string file, Random &random) {
  if (random.percent(30))
    file = mutate(std::move(file), random);
  else
    for (int64_t i = random.draw(1, 4); i > 0; --i)
      damageField(file, random);
  if (random.percent(95))
    mendChecksums(file);
  return file;
}

//===----------------------------------------------------------------------===//
// Reading and running
//===----------------------------------------------------------------------===//

static bool isAtMost(std::initializer_list<int64_t> sizes, int64_t most) {
  auto count = tprt::getNumElements(sizes);
  return count && *count <= most;
}

/// Whether a step ends soon, and is none of the artifact's own code.
static bool isQuick(const tprt::Artifact &artifact, const tprt::StepRow &step) {
  constexpr int64_t kMost = 1 << 20;
  switch (step.kind) {
  case tprt::StepKind::Kernel:
    return false;
  case tprt::StepKind::Matmul: {
    const auto &row = artifact.rows<tprt::MatmulRow>()[step.row];
    return isAtMost(
        {row.batch[0], row.batch[1], row.batch[2], row.m, row.n, row.k}, kMost);
  }
  case tprt::StepKind::Scatter: {
    const auto &row = artifact.rows<tprt::ScatterRow>()[step.row];
    return isAtMost({row.batch, row.outer, row.count, row.inner}, kMost);
  }
  case tprt::StepKind::Sort: {
    const auto &row = artifact.rows<tprt::SortRow>()[step.row];
    return isAtMost({row.rows, row.columns}, kMost) && row.columns <= kMost;
  }
  case tprt::StepKind::Control:
    return artifact.rows<tprt::ControlRow>()[step.row].trips <= 8;
  default:
    return true; // bounded by the memory that they write
  }
}

static bool canRun(const tprt::Artifact &artifact) {
  constexpr int64_t kMost = 16 << 20;
  int64_t devices = artifact.getNumDevices();
  if (artifact.rows<tprt::EntryRow>().empty() ||
      artifact.getTarget() != tprt::kCpuTarget || devices > 4 ||
      artifact.rows<tprt::StepRow>().size() > 1000 ||
      !artifact.bytes(tprt::SectionKind::ObjectCode).empty() ||
      artifact.getArenaBytes() > uint64_t(kMost))
    return false;
  auto isSmall = [&](const auto &row) {
    auto elements = tprt::getNumElements(artifact.getGlobalShape(row.dims));
    return elements && *elements <= kMost / 8 &&
           artifact.getLocalBytes(row) <= kMost;
  };
  for (const tprt::EntryRow &entry : artifact.rows<tprt::EntryRow>())
    for (const tprt::StepRow &step : artifact.rows<tprt::StepRow>(entry.steps))
      if (!isQuick(artifact, step))
        return false;
  return llvm::all_of(artifact.rows<tprt::InputRow>(), isSmall) &&
         llvm::all_of(artifact.rows<tprt::OutputRow>(), isSmall);
}

/// Whatever the verifier accepts stays in its memory.
static void run(std::shared_ptr<const tprt::Artifact> artifact) {
  tprt::SessionOptions options;
  options.threads = 1;
  options.timeout = absl::Seconds(5);
  auto session = tprt::Session::open(options, artifact);
  if (!session.ok())
    return;
  for (const tprt::InputRow &input : artifact->rows<tprt::InputRow>())
    (void)(*session)->bindRandom(artifact->text(input.name), /*seed=*/1);
  const tprt::EntryRow &entry = artifact->rows<tprt::EntryRow>().front();
  if (!(*session)->run(artifact->text(entry.name)).ok())
    return;
  for (const tprt::Artifact::Result &result : artifact->getResults(entry))
    (void)(*session)->read(result.name);
}

bool tp::fuzz::readArtifact(StringRef bytes, const std::string &) {
  auto artifact =
      tprt::Artifact::fromBytes(absl::string_view(bytes.data(), bytes.size()));
  if (!artifact.ok())
    return false;
  // What tp-run asks of one before it runs.
  for (const tprt::InputRow &input : (*artifact)->rows<tprt::InputRow>())
    (void)(*artifact)->getLocalBytes(input);
  for (const tprt::OutputRow &output : (*artifact)->rows<tprt::OutputRow>())
    (void)(*artifact)->getLocalBytes(output);
  for (const auto &group : (*artifact)->rows<tprt::CommunicatorRow>())
    (void)(*artifact)->getGroup(group, /*rank=*/0);
  (void)(*artifact)->findEntry("main");
  if (canRun(**artifact))
    run(*artifact);
  return true;
}
