// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the JSON reader adds to LLVM's: positions, order, bounds.

#include "lib/Support/JsonFile.h"

#include <gtest/gtest.h>

using namespace llvm;
using namespace tp;

static const JsonFile &
get(const std::variant<JsonFile, JsonFile::Error> &file) {
  if (auto *error = std::get_if<JsonFile::Error>(&file))
    ADD_FAILURE() << error->message;
  return std::get<JsonFile>(file);
}

static std::string getPlace(const JsonFile &file, ArrayRef<StringRef> path) {
  JsonFile::Position position = file.find(path);
  return std::to_string(position.line) + ":" + std::to_string(position.column);
}

static std::string getError(StringRef text) {
  auto file = JsonFile::parse(text);
  auto *error = std::get_if<JsonFile::Error>(&file);
  if (!error)
    return "none";
  return std::to_string(error->position.line) + ":" +
         std::to_string(error->position.column) + ": " + error->message;
}

// Keys are found where they stand, in nested objects and arrays, and whatever
// their strings hold.
TEST(JsonFile, Positions) {
  auto parsed = JsonFile::parse("{\"a\": {\"type\": \"}\"},\n"
                                "  \"type\": [{\"x\": 1}, {\"x\": 2}],\n"
                                "  \"q\\\"\": \"\\\"{,\", \"z\": 3}");
  const JsonFile &file = get(parsed);
  EXPECT_EQ(getPlace(file, {"a"}), "1:2");
  EXPECT_EQ(getPlace(file, {"a", "type"}), "1:8");
  EXPECT_EQ(getPlace(file, {"type"}), "2:3");
  EXPECT_EQ(getPlace(file, {"type", "1", "x"}), "2:23");
  EXPECT_EQ(getPlace(file, {"q\""}), "3:3");
  EXPECT_EQ(getPlace(file, {"z"}), "3:18");
  // As far as the path goes.
  EXPECT_EQ(getPlace(file, {"a", "none"}), "1:2");
  EXPECT_EQ(getPlace(file, {"none"}), "1:1");
  EXPECT_EQ(file.getKeys(), ArrayRef<std::string>({"a", "type", "q\"", "z"}));
}

TEST(JsonFile, Errors) {
  EXPECT_EQ(getError("{\"a\": 1,\n \"a\": 2}"),
            "2:2: the key \"a\" is given twice");
  EXPECT_EQ(getError("{\"a\": 1, \"b\": {\"a\": 1}}"), "none");
  EXPECT_EQ(getError("[{\"a\": 1}, {\"a\": 2}]"), "none");
  EXPECT_EQ(getError("\"a\""), "none");
  // Without a place: nobody should print that line.
  EXPECT_EQ(
      getError("{\"a\x01\": 1}"),
      "0:0: not JSON: the file has control characters, so it is not text");
  EXPECT_EQ(getError("{\"\xff\": 1}"), "0:0: not JSON: byte 2 is not UTF-8");
  EXPECT_EQ(StringRef(getError("{\"a\" 1}")).find("not JSON: "), 5u);
  // Malformed text is called so even where a key stands twice.
  EXPECT_TRUE(StringRef(getError("{\"a\": 1, \"a\": }")).contains("not JSON"));
}

// Depth is bounded before the recursive parser sees the text.
TEST(JsonFile, Depth) {
  auto nest = [](unsigned depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(getError(nest(JsonFile::kMaxDepth)), "none");
  EXPECT_EQ(getError(nest(JsonFile::kMaxDepth + 1)),
            "1:65: nested deeper than 64 levels");
  EXPECT_EQ(getError(std::string(10'000'000, '[')),
            "1:65: nested deeper than 64 levels");
}

// What is kept of a key does not grow with the keys around it: these paths
// would take 20 GB.
TEST(JsonFile, LongKeys) {
  std::string text = "{\"" + std::string(1'000'000, 'k') + "\": {";
  for (unsigned i = 0; i < 20'000; ++i)
    text += (i ? ",\"" : "\"") + std::to_string(i) + "\": 1";
  auto parsed = JsonFile::parse(text + "}}");
  EXPECT_EQ(getPlace(get(parsed), {std::string(1'000'000, 'k'), "7"}),
            "1:1000056");
}

// No text, however cut or bent, does more than give an error.
TEST(JsonFile, SurvivesAnything) {
  std::string text = "{\"a\\u00e9\": [1, {\"b\": \"\\\\\"}], \"c\": null}";
  for (size_t length = 0; length <= text.size(); ++length)
    EXPECT_EQ(getError(StringRef(text).take_front(length)) == "none",
              length == text.size());
  for (size_t i = 0; i < text.size(); ++i)
    for (char c : {'"', '\\', '{', ']', ',', '\n', '\0', '\xff'}) {
      std::string bent = text;
      bent[i] = c;
      getError(bent);
    }
}

TEST(JsonFile, Reading) {
  auto missing = JsonFile::read("/nowhere/x.json", 10);
  EXPECT_TRUE(StringRef(std::get<JsonFile::Error>(missing).message)
                  .starts_with("cannot be read"));
  auto folder = JsonFile::read("/", 10);
  EXPECT_EQ(std::get<JsonFile::Error>(folder).message, "is not a file");
}
