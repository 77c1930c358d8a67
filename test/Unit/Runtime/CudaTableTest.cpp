// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The parts of the CUDA backend that are tables and arithmetic.

#include "Surroundings.h"
#include "TestProgram.h"
#include "runtime/CUDA/GpuProgram.h"
#include "runtime/CUDA/Library.h"
#include "runtime/CUDA/Links.h"
#include "runtime/CUDA/NcclWorld.h"
#include "runtime/CUDA/TuningCache.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>
#include <sys/stat.h>

using namespace tprt;
using namespace tprt::test;

namespace {

std::shared_ptr<const Artifact>
makeImages(const std::vector<std::tuple<GpuImageKind, uint32_t, const char *>>
               &images) {
  TestProgram program;
  program.target = kCudaTarget;
  for (const auto &[kind, chip, name] : images) {
    GpuImageRow row = {};
    row.kind = kind;
    row.chip = chip;
    row.name = program.writer.text(name);
    program.writer.add(row);
  }
  auto artifact = Artifact::fromBytes(program.finish());
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  return *artifact;
}

/// Machine code for the chip itself, then for an earlier minor version, then
/// the newest PTX; what is made for one chip only runs on no other.
TEST(CudaTables, RanksTheImagesThatFit) {
  constexpr auto ptx = GpuImageKind::Ptx, cubin = GpuImageKind::Cubin;
  auto artifact = makeImages({{ptx, 80, "sm_80"},
                              {ptx, 90, "sm_90"},
                              {ptx, 90, "sm_90a"},
                              {cubin, 80, "sm_80"},
                              {cubin, 90, "sm_90"},
                              {cubin, 90, "sm_90a"},
                              {ptx, 100, "sm_100"}});
  using Images = std::vector<uint32_t>;
  EXPECT_EQ(rankImages(*artifact, 75), Images());
  EXPECT_EQ(rankImages(*artifact, 80), Images({3, 0}));
  EXPECT_EQ(rankImages(*artifact, 86), Images({3, 0}));
  EXPECT_EQ(rankImages(*artifact, 90), Images({5, 4, 2, 1, 0}));
  EXPECT_EQ(rankImages(*artifact, 100), Images({6, 1, 0}));
  EXPECT_EQ(rankImages(*artifact, 120), Images({6, 1, 0}));
  EXPECT_EQ(rankImages(*makeImages({{ptx, 90, "sm_90a"}}), 100), Images());
  EXPECT_EQ(rankImages(*makeImages({{cubin, 90, "sm_90"}}), 100), Images());
}

/// Every type with every reduction is what NCCL has, or an error.
TEST(CudaTables, EveryReductionOfEveryType) {
  const std::vector<std::pair<DType, int>> known = {
      {DType::F64, nccl::kFloat64},   {DType::F32, nccl::kFloat32},
      {DType::BF16, nccl::kBfloat16}, {DType::F16, nccl::kFloat16},
      {DType::I64, nccl::kInt64},     {DType::I32, nccl::kInt32},
      {DType::I8, nccl::kInt8},       {DType::U64, nccl::kUint64},
      {DType::U32, nccl::kUint32},    {DType::U8, nccl::kUint8},
      {DType::Bool, nccl::kUint8}};
  const std::vector<std::pair<Reduction, int>> reductions = {
      {Reduction::Sum, nccl::kSum},
      {Reduction::Max, nccl::kMax},
      {Reduction::Min, nccl::kMin}};
  for (uint32_t i = 0; i < kNumDTypes; ++i)
    for (auto [reduction, operation] : reductions) {
      auto dtype = static_cast<DType>(i);
      SCOPED_TRACE(getName(dtype));
      auto found = getNcclReduction(dtype, reduction);
      auto row = std::find_if(known.begin(), known.end(),
                              [&](auto pair) { return pair.first == dtype; });
      if (row == known.end()) {
        EXPECT_EQ(getErrorCode(found.status()), ErrorCode::GpuStep);
        continue;
      }
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ(found->type, row->second);
      // Of truth values the sum is "any".
      bool isAny = dtype == DType::Bool && reduction == Reduction::Sum;
      EXPECT_EQ(found->operation, isAny ? nccl::kMax : operation);
    }
}

/// A library or a function of it that is missing is named, with what to
/// install.
TEST(CudaTables, MissingLibrariesAreNamed) {
  void *place = nullptr;
  absl::Status status =
      openLibrary({"libnothing.so.7", "libnothing.so.6"}, "install nothing",
                  {{"doNothing", &place, false}});
  EXPECT_EQ(getErrorCode(status), ErrorCode::GpuLibrary);
  EXPECT_NE(status.message().find("libnothing.so.7"), std::string::npos);
  EXPECT_NE(status.message().find("install nothing"), std::string::npos);
  status = openLibrary({"libc.so.6"}, "install C",
                       {{"noSuchFunction", &place, false}});
  EXPECT_EQ(getErrorCode(status), ErrorCode::GpuLibrary);
  EXPECT_NE(status.message().find("noSuchFunction"), std::string::npos);
  EXPECT_TRUE(
      openLibrary({"libc.so.6"}, "install C",
                  {{"malloc", &place, false}, {"noSuchFunction", &place, true}})
          .ok());
}

/// Ranks and rank 0's address from the variables of torchrun and of srun, and
/// what is said when they are not all there.
TEST(CudaTables, LaunchersSayWhoIsWho) {
  std::vector<std::string> names;
  auto set = [&](const char *name, const char *value) {
    setenv(name, value, 1);
    names.push_back(name);
  };
  auto clear = [&] {
    for (const std::string &name : names)
      unsetenv(name.c_str());
  };
  EXPECT_EQ(getErrorCode(readLaunch().status()), ErrorCode::BadOption);
  set("RANK", "3");
  set("WORLD_SIZE", "8");
  set("LOCAL_RANK", "1");
  EXPECT_EQ(getErrorCode(readLaunch().status()), ErrorCode::BadOption);
  set("MASTER_ADDR", "node7");
  set("MASTER_PORT", "29500");
  auto launch = readLaunch();
  ASSERT_TRUE(launch.ok()) << launch.status();
  EXPECT_EQ(launch->rank, 3);
  EXPECT_EQ(launch->size, 8);
  EXPECT_EQ(launch->address, "node7:29501");
  EXPECT_EQ(getLocalRank(), 1);
  set("NCCL_COMM_ID", "node9:1234");
  EXPECT_EQ(readLaunch()->address, "node9:1234");
  set("RANK", "8");
  EXPECT_EQ(getErrorCode(readLaunch().status()), ErrorCode::BadOption);
  clear();
  set("SLURM_PROCID", "1");
  set("SLURM_STEP_NUM_TASKS", "2");
  set("SLURM_LOCALID", "5");
  set("SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1");
  set("SLURM_JOB_ID", "123456");
  launch = readLaunch();
  ASSERT_TRUE(launch.ok()) << launch.status();
  EXPECT_EQ(launch->rank, 1);
  EXPECT_EQ(launch->address, "10.0.0.1:23456");
  EXPECT_EQ(getLocalRank(), 5);
  clear();

  EXPECT_EQ(*chooseGpu(9, 1, 4, true), 1);
  EXPECT_EQ(getErrorCode(chooseGpu(9, 4, 4, true).status()),
            ErrorCode::GpuMissing);
  set("CUDA_VISIBLE_DEVICES", "5");
  EXPECT_EQ(*chooseGpu(9, 3, 1, true), 0);
  EXPECT_EQ(getErrorCode(chooseGpu(9, 3, 1, false).status()),
            ErrorCode::GpuMissing);
  clear();
}

/// What was measured is found again, beside what others have measured; a file
/// that somebody spoilt is as good as none.
TEST(CudaTables, TuningIsKept) {
  TempFolder folder;
  Variable variable("XDG_CACHE_HOME", folder.get().c_str());
  std::string name = getTuningName("NVIDIA H200", 130100);
  EXPECT_EQ(name, "tuning-NVIDIA_H200-130100.txt");
  EXPECT_TRUE(loadTunings(name).empty());
  std::string first("\1\0\2", 3), second = "\xff";
  saveTunings(name, {{"a", first}});
  saveTunings(name, {{"b", second}});
  Tunings all = loadTunings(name);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all["a"], first);
  EXPECT_EQ(all["b"], second);
  std::string path = folder.get() + "/tp-opt/" + name;
  std::ofstream(path, std::ios::app)
      << "c 123\nd\n\n x\ne " << std::string(128, 'g') << "\n";
  EXPECT_EQ(loadTunings(name).size(), 2u);
  // What others can write to is not believed, and replaced.
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_TRUE(loadTunings(name).empty());
  saveTunings(name, {{"a", first}});
  EXPECT_EQ(loadTunings(name).size(), 1u);
  Variable nowhere("XDG_CACHE_HOME", "/proc/no-such-folder");
  saveTunings(name, {{"a", first}});
  EXPECT_TRUE(loadTunings(name).empty());
}

} // namespace
