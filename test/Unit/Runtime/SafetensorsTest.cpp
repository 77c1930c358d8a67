// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Safetensors.h"
#include "Surroundings.h"
#include "runtime/Core/Errors.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>
#include <sys/stat.h>

using namespace tprt;
using namespace tprt::test;

namespace {

std::string makeFile(const std::string &header, const std::string &data) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + header +
         data;
}

ErrorCode parse(const std::string &bytes) {
  return getErrorCode(parseSafetensors(bytes).status());
}

void write(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

const char *const kA =
    R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
const char *const kB =
    R"("b":{"dtype":"BF16","shape":[1,3],"data_offsets":[8,14]})";

TEST(Safetensors, ReadsTensors) {
  std::string bytes = makeFile(
      absl::StrCat(R"({"__metadata__":{"format":"pt"},)", kA, ",", kB, "}"),
      "01234567abcdef");
  auto tensors = parseSafetensors(bytes);
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 2u);
  EXPECT_EQ(tensors->at("a").data, "01234567");
  EXPECT_EQ(tensors->at("b").dtype, DType::BF16);
  EXPECT_EQ(tensors->at("b").shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(tensors->at("b").data, "abcdef");
}

TEST(Safetensors, WritesWhatItReads) {
  absl::btree_map<std::string, StoredTensor> tensors = {
      {"x", {DType::F16, {2, 2}, "12345678"}},
      {"y", {DType::Bool, {}, "\x01"}}};
  std::string bytes = writeSafetensors(tensors);
  auto read = parseSafetensors(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->at("x").data, "12345678");
  EXPECT_EQ(read->at("y").data, "\x01");
  EXPECT_EQ(read->at("y").shape.size(), 0u);
}

TEST(Safetensors, EveryTruncationIsAnError) {
  std::string bytes =
      makeFile(absl::StrCat("{", kA, ",", kB, "}"), "01234567abcdef");
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(parse(bytes.substr(0, size)), ErrorCode::WeightsTruncated)
        << size;
}

TEST(Safetensors, NamesEachKindOfDamage) {
  auto one = [](const std::string &entry, size_t bytes = 8) {
    return parse(makeFile("{" + entry + "}", std::string(bytes, 'x')));
  };
  uint64_t huge = 100'000'001;
  EXPECT_EQ(parse(std::string(reinterpret_cast<const char *>(&huge), 8)),
            ErrorCode::WeightsHeaderTooLarge);
  EXPECT_EQ(parse(makeFile("not json", "")), ErrorCode::WeightsHeader);
  EXPECT_EQ(parse(makeFile("[1]", "")), ErrorCode::WeightsHeader);
  EXPECT_EQ(one(R"("a":3)"), ErrorCode::WeightsHeader);
  EXPECT_EQ(one(R"("a":{"shape":[2],"data_offsets":[0,8]})"),
            ErrorCode::WeightsHeader);
  EXPECT_EQ(one(R"("a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
            ErrorCode::WeightsHeader);
  EXPECT_EQ(one(R"("a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]})"),
            ErrorCode::WeightsHeader);
  EXPECT_EQ(one(R"("a":{"dtype":"I4","shape":[2],"data_offsets":[0,8]})"),
            ErrorCode::WeightsDType);
  EXPECT_EQ(one(R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
            ErrorCode::WeightsRange);
  EXPECT_EQ(one(R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0]})"),
            ErrorCode::WeightsRange);
  EXPECT_EQ(one(R"("a":{"dtype":"F32","shape":[2],)"
                R"("data_offsets":[0,18446744073709551615]})"),
            ErrorCode::WeightsRange);
  EXPECT_EQ(one(R"("a":{"dtype":"F32","shape":[4294967296,4294967296],)"
                R"("data_offsets":[0,8]})"),
            ErrorCode::WeightsRange);
  EXPECT_EQ(one(R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 7),
            ErrorCode::WeightsTruncated);
  EXPECT_EQ(one(R"("a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
            ErrorCode::WeightsShape);
  EXPECT_EQ(one(absl::StrCat(kA, ",", kA)), ErrorCode::WeightsDuplicate);
  EXPECT_EQ(
      one(absl::StrCat(
              kA, R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]})"),
          12),
      ErrorCode::WeightsOverlap);
}

/// What the reference implementation (safetensors 0.8) refuses, and what it
/// accepts, with `size` bytes of data.
TEST(Safetensors, AcceptsWhatTheReferenceDoes) {
  struct {
    const char *header;
    size_t size;
    bool isFine;
  } const cases[] = {
      {R"({})", 0, true},
      {R"({}   )", 0, true},
      {R"({"__metadata__":{"a":"b"}})", 0, true},
      {R"({"__metadata__":{"a":1}})", 0, false},
      {R"({"__metadata__":[]})", 0, false},
      {R"({})", 1, false},
      {"\xef\xbb\xbf{}", 0, false},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1e999}})", 1,
       false},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 2, true},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 3, false},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3, false},
      {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1, true},
      {R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0, true},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})",
       5, false},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"F32","shape":[0],"data_offsets":[2,2]}})",
       2, true},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"F32","shape":[0],"data_offsets":[1,1]}})",
       2, false},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2],"x":[3]}})", 2,
       true},
  };
  for (const auto &test : cases)
    EXPECT_EQ(parse(makeFile(test.header, std::string(test.size, 'x'))) ==
                  ErrorCode(0),
              test.isFine)
        << test.header << " and " << test.size << " bytes";
}

TEST(Safetensors, NothingFollowsTheHeader) {
  EXPECT_EQ(parse(makeFile(std::string("{}\0", 3), "")),
            ErrorCode::WeightsHeader);
  EXPECT_EQ(parse(makeFile("{}x", "")), ErrorCode::WeightsHeader);
}

/// A length that is wrong by a few blanks would shift all data.
TEST(Safetensors, HeaderLengthThatIsShortIsAnError) {
  std::string header = absl::StrCat("{", kA, "}      ");
  std::string bytes = makeFile(header, "01234567");
  EXPECT_EQ(parse(bytes), ErrorCode(0));
  for (uint64_t cut = 1; cut <= 6; ++cut) {
    uint64_t length = header.size() - cut;
    std::memcpy(&bytes[0], &length, sizeof(length));
    EXPECT_EQ(parse(bytes), ErrorCode::WeightsUncovered) << cut;
  }
}

/// Deep text is refused before it is parsed: that would take 80 times as much
/// memory as the text.
TEST(Safetensors, DepthIsLimited) {
  EXPECT_EQ(parse(makeFile(std::string(50'000'000, '['), "")),
            ErrorCode::WeightsHeader);
  auto nested = [](size_t depth) {
    return parse(makeFile(
        absl::StrCat(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],)",
                     R"("]\"[":)", std::string(depth, '['),
                     std::string(depth, ']'), "}}"),
        "x"));
  };
  EXPECT_EQ(nested(62), ErrorCode(0));
  EXPECT_EQ(nested(63), ErrorCode::WeightsHeader);
}

/// Neither a pipe that nobody writes to nor a device is waited for.
TEST(SafetensorsFolder, OpensRegularFilesOnly) {
  TempFolder temporary;
  std::string pipe = temporary.get() + "/pipe.safetensors";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string &path : {pipe, std::string("/dev/zero")}) {
    auto weights = SafetensorsFolder::open(path);
    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_EQ(getErrorCode((*weights)->find("a").status()),
              ErrorCode::FileUnreadable);
  }
  ASSERT_EQ(
      ::rename(pipe.c_str(),
               (temporary.get() + "/model.safetensors.index.json").c_str()),
      0);
  EXPECT_EQ(getErrorCode(SafetensorsFolder::open(temporary.get()).status()),
            ErrorCode::FileUnreadable);
}

TEST(Safetensors, RandomBytesNeverCrash) {
  std::string good =
      makeFile(absl::StrCat("{", kA, ",", kB, "}"), "01234567abcdef");
  uint64_t state = 7;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 2; ++i) {
      state = state * 6364136223846793005 + 1442695040888963407;
      bytes[(state >> 33) % bytes.size()] = static_cast<char>(state >> 56);
    }
    auto result = parseSafetensors(bytes);
    if (!result.ok())
      EXPECT_GE(static_cast<int>(getErrorCode(result.status())), 851);
  }
}

TEST(SafetensorsFolder, FollowsTheIndex) {
  TempFolder temporary;
  const std::string &folder = temporary.get();
  std::string file = makeFile(absl::StrCat("{", kA, "}"), "01234567");
  write(folder + "/one.safetensors", file);
  write(folder + "/two.safetensors", "damaged, but nobody asks");
  write(folder + "/model.safetensors.index.json",
        R"({"weight_map":{"a":"one.safetensors","b":"one.safetensors",
            "c":"two.safetensors","d":"gone.safetensors"}})");
  auto weights = SafetensorsFolder::open(folder);
  ASSERT_TRUE(weights.ok()) << weights.status();
  auto find = [&](const char *name) {
    return getErrorCode((*weights)->find(name).status());
  };
  EXPECT_EQ(find("a"), ErrorCode(0));
  EXPECT_EQ(find("b"), ErrorCode::WeightsMissing);
  EXPECT_EQ(find("c"), ErrorCode::WeightsHeaderTooLarge);
  EXPECT_EQ(find("d"), ErrorCode::FileUnreadable);
  EXPECT_EQ(find("e"), ErrorCode::WeightsMissing);
}

/// Cut after its header was read, a file lacks bytes, which is an error.
TEST(SafetensorsFolder, ReadsAsTensorsAreWanted) {
  TempFolder temporary;
  std::string path = temporary.get() + "/x.safetensors";
  std::string bytes =
      makeFile(absl::StrCat("{", kA, ",", kB, "}"), "01234567abcdef");
  write(path, bytes);
  auto weights = SafetensorsFolder::open(path);
  ASSERT_TRUE(weights.ok()) << weights.status();
  auto a = (*weights)->find("a"), b = (*weights)->find("b");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(*a->readAll(), "01234567");
  EXPECT_EQ(*b->readAll(), "abcdef");
  char two[2];
  ASSERT_TRUE(b->read(3, 2, two).ok());
  EXPECT_EQ(absl::string_view(two, 2), "de");
  std::filesystem::resize_file(path, bytes.size() - 1);
  EXPECT_EQ(*a->readAll(), "01234567");
  EXPECT_EQ(getErrorCode(b->readAll().status()), ErrorCode::FileUnreadable);
}

TEST(SafetensorsFolder, NamesWhatIsWrong) {
  TempFolder temporary;
  const std::string &folder = temporary.get();
  auto open = [](const std::string &path) {
    return getErrorCode(SafetensorsFolder::open(path).status());
  };
  EXPECT_EQ(open(folder + "/nowhere"), ErrorCode::WeightsNotFound);
  EXPECT_EQ(open(folder), ErrorCode::WeightsNotFound);
  std::string file = makeFile(absl::StrCat("{", kA, "}"), "01234567");
  write(folder + "/x.safetensors", file);
  write(folder + "/y.safetensors", file);
  auto weights = SafetensorsFolder::open(folder);
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ(getErrorCode((*weights)->find("a").status()),
            ErrorCode::WeightsDuplicate);
  EXPECT_EQ(open(folder + "/x.safetensors"), ErrorCode(0));
  std::string index = folder + "/model.safetensors.index.json";
  write(index, "[]");
  EXPECT_EQ(open(folder), ErrorCode::WeightsHeader);
  write(index, R"({"weight_map":{"a":"../../etc/passwd"}})");
  EXPECT_EQ(open(folder), ErrorCode::WeightsHeader);
  write(index, R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})");
  EXPECT_EQ(open(folder), ErrorCode::WeightsDuplicate);
}

} // namespace
