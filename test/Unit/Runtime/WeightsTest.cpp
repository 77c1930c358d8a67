// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Weights.h"
#include "TestProgram.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Shapes.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace tprt;
using namespace tprt::test;

namespace {

struct SourceLists {
  std::vector<int64_t> stored, view, start, size, step, permutation;
};

SourceRow addSource(TestProgram &program, const SourceLists &lists,
                    int64_t extent = 0) {
  auto add = [&](const std::vector<int64_t> &list) {
    return program.writer.addAll<int64_t>(absl::MakeConstSpan(list));
  };
  return {program.writer.text("t"), add(lists.stored),
          add(lists.view),          add(lists.start),
          add(lists.size),          add(lists.step),
          add(lists.permutation),   extent};
}

/// What the lists say, one element at a time.
std::vector<float> applySource(const SourceLists &lists,
                               const std::vector<float> &stored) {
  std::vector<int64_t> permuted, strides, base = getStrides(lists.view);
  int64_t offset = 0;
  for (size_t i = 0; i < lists.view.size(); ++i) {
    int64_t from = lists.permutation[i];
    permuted.push_back(lists.size[from]);
    strides.push_back(lists.step[from] * base[from]);
    offset += lists.start[i] * base[i];
  }
  std::vector<int64_t> dense = getStrides(permuted);
  std::vector<float> result(*getNumElements(permuted));
  for (size_t n = 0; n < result.size(); ++n) {
    int64_t at = offset;
    for (size_t i = 0; i < permuted.size(); ++i)
      at += static_cast<int64_t>(n) / dense[i] % permuted[i] * strides[i];
    result[n] = stored[at];
  }
  return result;
}

/// A stored tensor whose bytes are in memory, and live on.
TensorReader makeReader(DType dtype, std::vector<int64_t> shape,
                        absl::string_view bytes) {
  return {dtype, std::move(shape),
          [bytes](uint64_t begin, uint64_t size, char *to) {
            EXPECT_LE(begin + size, bytes.size());
            std::memcpy(to, bytes.data() + begin, size);
            return absl::OkStatus();
          }};
}

/// Puts the whole value of an input back where its sources say, and compares
/// with what it was loaded from: each of its numbers has a place of its own.
void checkWayBack(const Artifact &artifact, const std::vector<float> &whole,
                  absl::Span<const std::vector<float>> stored) {
  std::vector<std::vector<float>> back;
  std::vector<StoredBytes> tensors;
  for (const std::vector<float> &tensor : stored)
    back.emplace_back(tensor.size());
  for (std::vector<float> &tensor : back)
    tensors.push_back({DType::F32, reinterpret_cast<char *>(tensor.data())});
  storeSources(artifact, artifact.rows<InputRow>()[0],
               reinterpret_cast<const char *>(whole.data()), tensors);
  size_t found = 0;
  for (size_t tensor = 0; tensor < stored.size(); ++tensor)
    for (size_t i = 0; i < stored[tensor].size(); ++i)
      if (back[tensor][i] != 0) {
        EXPECT_EQ(back[tensor][i], stored[tensor][i]) << tensor << " at " << i;
        ++found;
      }
  EXPECT_EQ(found, whole.size());
}

/// Loads a source on every rank of a mesh of 2 x 3, puts the blocks together,
/// and compares with the element-wise meaning.
void checkSource(const SourceLists &lists, const std::vector<TestDim> &shape) {
  TestProgram program({{"a", 2}, {"b", 3}});
  uint32_t source = program.writer.add(addSource(program, lists));
  program.addInput("w", DType::F32, shape, Role::Parameter, source);
  program.endEntry();
  auto artifact = Artifact::fromBytes(program.finish());
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const InputRow &input = (*artifact)->rows<InputRow>()[0];

  std::vector<float> stored(*getNumElements(lists.stored));
  std::iota(stored.begin(), stored.end(), 1.0f);
  TensorReader tensor =
      makeReader(DType::F32, lists.stored,
                 {reinterpret_cast<const char *>(stored.data()),
                  stored.size() * sizeof(float)});
  std::vector<float> wanted = applySource(lists, stored);
  std::vector<float> whole(wanted.size(), -1.0f);
  std::vector<char> block((*artifact)->getLocalBytes(input), 'x');
  std::vector<char> cut(block.size());
  for (int rank = 0; rank < 6; ++rank) {
    ASSERT_TRUE(
        loadSources(**artifact, input, rank, {tensor}, block.data()).ok());
    gatherBlock(**artifact, input.dims, DType::F32, rank, block.data(),
                reinterpret_cast<char *>(whole.data()));
    // Padding included, the block is what cutting the whole one gives.
    scatterBlock(**artifact, input.dims, DType::F32, rank,
                 reinterpret_cast<const char *>(wanted.data()), cut.data());
    EXPECT_EQ(block, cut) << rank;
  }
  EXPECT_EQ(whole, wanted);
  checkWayBack(**artifact, wanted, {stored});
}

TEST(Weights, PlainTranspose) {
  checkSource({{6, 4}, {6, 4}, {0, 0}, {6, 4}, {1, 1}, {1, 0}},
              {{4, {}}, {6, {0}}});
}

/// More than is read at once: whole rows, few columns of each row, and columns
/// that become rows.
TEST(Weights, LargeTensorsAreReadInParts) {
  checkSource({{1100, 700}, {1100, 700}, {0, 0}, {1100, 700}, {1, 1}, {0, 1}},
              {{1100, {0, 1}}, {700, {}}});
  checkSource({{40, 6000}, {40, 6000}, {0, 0}, {40, 6000}, {1, 1}, {0, 1}},
              {{40, {}}, {6000, {0, 1}}});
  checkSource({{600, 700}, {600, 700}, {0, 1}, {600, 233}, {1, 3}, {1, 0}},
              {{233, {1}}, {600, {0}}});
}

/// What a file lacks when it is read is an error of the load.
TEST(Weights, SaysWhatCannotBeRead) {
  TestProgram program;
  uint32_t source =
      program.writer.add(addSource(program, {{4}, {4}, {0}, {4}, {1}, {0}}));
  program.addInput("w", DType::F32, {{4, {}}}, Role::Parameter, source);
  program.endEntry();
  auto artifact = Artifact::fromBytes(program.finish());
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  TensorReader tensor{DType::F32, {4}, [](uint64_t, uint64_t, char *) {
                        return makeError(ErrorCode::FileUnreadable, "gone");
                      }};
  char block[16];
  EXPECT_EQ(
      getErrorCode(loadSources(**artifact, (*artifact)->rows<InputRow>()[0], 0,
                               {tensor}, block)),
      ErrorCode::FileUnreadable);
}

TEST(Weights, UnevenBlocksArePadded) {
  checkSource({{7, 5}, {7, 5}, {0, 0}, {7, 5}, {1, 1}, {0, 1}},
              {{7, {0, 1}}, {5, {}}});
  checkSource({{7, 5}, {7, 5}, {0, 0}, {7, 5}, {1, 1}, {1, 0}},
              {{5, {1}}, {7, {0}}});
}

TEST(Weights, MoreDevicesThanElements) {
  checkSource({{3}, {3}, {0}, {3}, {1}, {0}}, {{3, {0, 1}}});
}

/// The keys of a fused [heads*3*dim, hidden] weight as [hidden, heads, dim].
TEST(Weights, SliceOfAFusedWeight) {
  checkSource({{4 * 3 * 2, 5},
               {4, 3, 2, 5},
               {0, 1, 0, 0},
               {4, 1, 2, 5},
               {1, 1, 1, 1},
               {3, 0, 1, 2}},
              {{5, {}}, {4, {0}}, {2, {}}});
}

TEST(Weights, EveryOtherRow) {
  checkSource({{10, 2}, {10, 2}, {1, 0}, {5, 2}, {2, 1}, {0, 1}},
              {{5, {1}}, {2, {0}}});
}

/// Blocks of the merged dimension that start and end inside rows of the
/// transposed factors.
TEST(Weights, MergedDimensionCutAcrossItsFactors) {
  checkSource(
      {{4, 3, 5}, {4, 3, 5}, {0, 0, 0}, {4, 3, 5}, {1, 1, 1}, {2, 0, 1}},
      {{60, {0, 1}}});
  checkSource(
      {{4, 3, 5}, {4, 3, 5}, {0, 0, 0}, {4, 3, 5}, {1, 1, 1}, {1, 2, 0}},
      {{15, {0}}, {4, {1}}});
}

TEST(Weights, SplitDimension) {
  checkSource({{24}, {24}, {0}, {24}, {1}, {0}}, {{2, {0}}, {3, {1}}, {4, {}}});
}

TEST(Weights, Scalar) { checkSource({{1}, {1}, {0}, {1}, {1}, {0}}, {}); }

TEST(Weights, RefusesOtherShapesAndTypes) {
  TestProgram program;
  uint32_t source =
      program.writer.add(addSource(program, {{4}, {4}, {0}, {4}, {1}, {0}}));
  program.addInput("w", DType::BF16, {{4, {}}}, Role::Parameter, source);
  program.endEntry();
  auto artifact = Artifact::fromBytes(program.finish());
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const InputRow &input = (*artifact)->rows<InputRow>()[0];
  uint16_t block[4];
  std::string bytes(32, '\0');
  auto load = [&](DType dtype, std::vector<int64_t> shape) {
    TensorReader tensor = makeReader(dtype, std::move(shape), bytes);
    return getErrorCode(loadSources(**artifact, input, 0, {tensor},
                                    reinterpret_cast<char *>(block)));
  };
  EXPECT_EQ(load(DType::F32, {5}), ErrorCode::WeightsShape);
  EXPECT_EQ(load(DType::F32, {2, 2}), ErrorCode::WeightsShape);
  EXPECT_EQ(load(DType::I32, {4}), ErrorCode::WeightsDType);
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    EXPECT_EQ(load(dtype, {4}), ErrorCode(0));

  float values[4] = {1.0f, -2.5f, 1.00390625f, 3e38f};
  bytes.assign(reinterpret_cast<const char *>(values), sizeof(values));
  ASSERT_EQ(load(DType::F32, {4}), ErrorCode(0));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(block[i], BFloat16(values[i]).bits);
}

/// Parts of 3, 1 and 4 columns, the first transposed and the last every other
/// column of what is stored, in each way to cut the 8 over 2, 3 and 6 devices.
TEST(Weights, PartsAreJoinedWhereTheyAreCut) {
  const SourceLists lists[] = {
      {{3, 5}, {3, 5}, {0, 0}, {3, 5}, {1, 1}, {1, 0}},
      {{5}, {5, 1}, {0, 0}, {5, 1}, {1, 1}, {0, 1}},
      {{5, 9}, {5, 9}, {0, 1}, {5, 4}, {1, 2}, {0, 1}}};
  const int64_t extents[] = {3, 1, 4};
  std::vector<std::vector<float>> stored, parts;
  std::vector<TensorReader> tensors;
  for (const SourceLists &list : lists) {
    stored.emplace_back(*getNumElements(list.stored));
    std::iota(stored.back().begin(), stored.back().end(),
              100.0f * static_cast<float>(stored.size()));
    parts.push_back(applySource(list, stored.back()));
    tensors.push_back(
        makeReader(DType::F32, list.stored,
                   {reinterpret_cast<const char *>(stored.back().data()),
                    stored.back().size() * sizeof(float)}));
  }
  std::vector<float> wanted;
  for (int row = 0; row < 5; ++row)
    for (int part = 0; part < 3; ++part)
      for (int64_t i = 0; i < extents[part]; ++i)
        wanted.push_back(parts[part][row * extents[part] + i]);

  for (std::vector<uint32_t> axes :
       {std::vector<uint32_t>{}, {0}, {1}, {0, 1}, {1, 0}}) {
    TestProgram program({{"a", 2}, {"b", 3}});
    std::vector<SourceRow> rows;
    for (int part = 0; part < 3; ++part)
      rows.push_back(addSource(program, lists[part], extents[part]));
    program.addJoined(
        "w", DType::F32, {{5, {}}, {8, axes}}, Role::Parameter,
        program.writer.addAll<SourceRow>(absl::MakeConstSpan(rows)), 1);
    program.endEntry();
    auto artifact = Artifact::fromBytes(program.finish());
    ASSERT_TRUE(artifact.ok()) << artifact.status();
    const InputRow &input = (*artifact)->rows<InputRow>()[0];
    std::vector<char> block((*artifact)->getLocalBytes(input), 'x');
    std::vector<char> cut(block.size());
    for (int rank = 0; rank < 6; ++rank) {
      ASSERT_TRUE(
          loadSources(**artifact, input, rank, tensors, block.data()).ok());
      scatterBlock(**artifact, input.dims, DType::F32, rank,
                   reinterpret_cast<const char *>(wanted.data()), cut.data());
      EXPECT_EQ(block, cut) << rank;
    }
    checkWayBack(**artifact, wanted, stored);
  }
}

/// A rank holds the block of the place that the mesh gives its device.
TEST(Weights, BlocksFollowThePlacesOfDevices) {
  TestProgram program({{"x", 2}, {"y", 2}});
  program.writer.addAll<DeviceRow>({{3}, {1}, {2}, {0}});
  program.addInput("w", DType::I32, {{4, {0}}, {2, {1}}});
  program.endEntry();
  auto artifact = Artifact::fromBytes(program.finish());
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  Range dims = (*artifact)->rows<InputRow>()[0].dims;
  const std::vector<int32_t> whole = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<int32_t> blocks[] = {{5, 7}, {1, 3}, {4, 6}, {0, 2}};
  std::vector<int32_t> together(8, -1);
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<int32_t> block(2);
    scatterBlock(**artifact, dims, DType::I32, rank,
                 reinterpret_cast<const char *>(whole.data()),
                 reinterpret_cast<char *>(block.data()));
    EXPECT_EQ(block, blocks[rank]) << rank;
    gatherBlock(**artifact, dims, DType::I32, rank,
                reinterpret_cast<const char *>(block.data()),
                reinterpret_cast<char *>(together.data()));
  }
  EXPECT_EQ(together, whole);
}

/// The same numbers whatever the mesh.
TEST(Weights, RandomNumbersDoNotDependOnTheCut) {
  std::vector<float> whole(35);
  for (int devices : {1, 2, 3, 8}) {
    TestProgram program({{"a", devices}});
    program.addInput("x", DType::F32, {{7, {0}}, {5, {}}});
    program.endEntry();
    auto artifact = Artifact::fromBytes(program.finish());
    ASSERT_TRUE(artifact.ok());
    const InputRow &input = (*artifact)->rows<InputRow>()[0];
    std::vector<float> together(35, 9.0f);
    std::vector<char> block((*artifact)->getLocalBytes(input));
    for (int rank = 0; rank < devices; ++rank) {
      fillRandom(**artifact, input.dims, DType::F32, rank, 42, 1.0f, 1,
                 block.data());
      gatherBlock(**artifact, input.dims, DType::F32, rank, block.data(),
                  reinterpret_cast<char *>(together.data()));
    }
    if (devices == 1)
      whole = together;
    EXPECT_EQ(together, whole);
    for (float value : together)
      EXPECT_LT(std::abs(value), 1.0f);
  }
  EXPECT_NE(whole[0], whole[1]);
}

/// What follows each other in the block and in the whole is one row, and rows
/// at even distances are together.
TEST(Weights, BlocksAreFewRows) {
  auto getRows = [](std::vector<TestDim> dims, int64_t rank) {
    TestProgram program({{"a", 2}, {"b", 3}});
    program.addInput("x", DType::F32, dims);
    program.endEntry();
    auto artifact = Artifact::fromBytes(program.finish());
    EXPECT_TRUE(artifact.ok());
    std::vector<std::vector<int64_t>> list;
    for (const BlockRows &r :
         getBlockRows(**artifact, (*artifact)->rows<InputRow>()[0].dims, rank))
      list.push_back(
          {r.rows, r.columns, r.block, r.blockStride, r.whole, r.wholeStride});
    return list;
  };
  using List = std::vector<std::vector<int64_t>>;
  // Rank 5 is the second along a, the third along b.
  EXPECT_EQ(getRows({}, 5), (List{{1, 1, 0, 0, 0, 0}}));
  EXPECT_EQ(getRows({{4, {}}, {5, {}}}, 5), (List{{1, 20, 0, 0, 0, 0}}));
  EXPECT_EQ(getRows({{5, {0}}, {4, {}}}, 5), (List{{1, 8, 0, 0, 12, 0}}));
  EXPECT_EQ(getRows({{2, {}}, {4, {}}, {5, {0}}}, 5),
            (List{{8, 2, 0, 3, 3, 5}}));
  EXPECT_EQ(getRows({{4, {0}}, {5, {0, 1}}, {4, {}}}, 5), List{});
  EXPECT_EQ(getRows({{2, {}}, {5, {0}}, {7, {1}}}, 5),
            (List{{2, 1, 0, 3, 27, 7}, {2, 1, 9, 3, 62, 7}}));
  EXPECT_EQ(getRows({{4, {}}, {3, {1}}}, 5), (List{{4, 1, 0, 1, 2, 3}}));
}

TEST(Weights, RandomNumbersDoNotDependOnThreads) {
  for (DType dtype :
       {DType::F64, DType::F32, DType::BF16, DType::F16, DType::F8E4M3FN,
        DType::I64, DType::I32, DType::I16, DType::I8, DType::Bool}) {
    TestProgram program({{"a", 2}});
    program.addInput("x", dtype, {{5, {}}, {203, {0}}, {997, {}}});
    program.endEntry();
    auto artifact = Artifact::fromBytes(program.finish());
    ASSERT_TRUE(artifact.ok());
    const InputRow &input = (*artifact)->rows<InputRow>()[0];
    auto fill = [&](int threads) {
      std::string block((*artifact)->getLocalBytes(input), 'x');
      fillRandom(**artifact, input.dims, dtype, 1, 42, 0.5f, threads,
                 block.data());
      return block;
    };
    std::string alone = fill(1);
    EXPECT_EQ(fill(3), alone);
    EXPECT_EQ(fill(64), alone);
  }
}

/// Artifacts, goldens and users' logs hold what these numbers led to.
TEST(Weights, RandomNumbersAreTheSameForEver) {
  TestProgram program;
  program.addInput("x", DType::F32, {{2, {}}, {2, {}}});
  program.endEntry();
  auto artifact = Artifact::fromBytes(program.finish());
  ASSERT_TRUE(artifact.ok());
  Range dims = (*artifact)->rows<InputRow>()[0].dims;
  auto fill = [&](DType dtype, auto element) {
    std::vector<decltype(element)> block(4);
    fillRandom(**artifact, dims, dtype, 0, 42, 1.0f, 1,
               reinterpret_cast<char *>(block.data()));
    return block;
  };
  EXPECT_EQ(fill(DType::F32, 0.0f),
            (std::vector<float>{2578922 * 0x1p-23f, 4368110 * 0x1p-23f,
                                -263545 * 0x1p-23f, 4673936 * 0x1p-23f}));
  EXPECT_EQ(fill(DType::I32, int32_t{}), (std::vector<int32_t>{5, 6, 3, 6}));
  EXPECT_EQ(fill(DType::Bool, uint8_t{}), (std::vector<uint8_t>{1, 1, 0, 1}));
}

} // namespace
