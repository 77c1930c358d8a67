// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Support/TextLimits.h"

#include "gtest/gtest.h"

#include <string>

using namespace tp;

static std::string repeat(const std::string &text, unsigned times) {
  std::string all;
  for (unsigned i = 0; i < times; ++i)
    all += text;
  return all;
}

// Every kind of bracket counts, alone and mixed, and the place is that of the
// first one too many.
TEST(TextLimits, Brackets) {
  for (std::string bracket : {"(", "[", "{", "<", "({", "a.b<[", "-(", "/("}) {
    unsigned each = bracket.find_first_of("([{<") + 1 == bracket.size() ? 1 : 2;
    unsigned most = kMaxNesting / each;
    EXPECT_FALSE(findExcess(repeat(bracket, most))) << bracket;
    auto at = findExcess("\n  " + repeat(bracket, most + 1));
    ASSERT_TRUE(at) << bracket;
    EXPECT_EQ(at->code, ErrorCode::DeepNesting);
    EXPECT_EQ(at->line, 2u);
    EXPECT_EQ(at->column,
              3 + most * bracket.size() + bracket.find_first_of("([{<"));
  }
}

// What is closed again does not count, whatever stands between.
TEST(TextLimits, Closed) {
  for (const char *text :
       {"()", "[]", "{}", "<>", "({[<>]})", "(d0) -> (d0)", "a <= b", "a >= b",
        "(<)", "[<]", "\"((((\"", "\"\\\"((((\"", "// ((((\n", "a - b",
        "tensor<4xf32> ", "\"never closed\n"})
    EXPECT_FALSE(findExcess(repeat(text, 5 * kMaxNesting))) << text;
}

// Closing brackets that fit nothing hide nothing.
TEST(TextLimits, Stray) {
  for (const char *text : {"(]", "[>", "{)", "<}", "(\"", "(//\n", "(->"})
    EXPECT_TRUE(
        findExcess(repeat(std::string(text) + "\n", 2 * kMaxNesting + 2)))
        << text;
}

// Signs count as far as nothing but blanks, line ends and comments stands
// between them.
TEST(TextLimits, Signs) {
  for (const char *sign : {"-", "- ", "-\n", "-//\n"}) {
    EXPECT_FALSE(findExcess(repeat(sign, kMaxNesting))) << sign;
    auto at = findExcess(repeat(sign, kMaxNesting + 1));
    ASSERT_TRUE(at) << sign;
    EXPECT_EQ(at->code, ErrorCode::DeepNesting);
  }
  for (const char *text : {"-1, ", "a - b", "->", "-> ", "\"--\""})
    EXPECT_FALSE(findExcess(repeat(text, 2 * kMaxNesting))) << text;
}

// A result has a number below the count of the text's characters.
TEST(TextLimits, ResultNumbers) {
  for (const char *text : {"%0#3", "%0#0", "#map12 ", "#loc900", "\"%0#99\"",
                           "// %0#99999", "#", "#a9999999"})
    EXPECT_FALSE(findExcess(text)) << text;
  for (const char *text :
       {"%0#4", "%0#2147483647", "%0#99999999999999999999999"}) {
    auto at = findExcess(text);
    ASSERT_TRUE(at) << text;
    EXPECT_EQ(at->code, ErrorCode::ResultNumber);
    EXPECT_EQ(at->column, 3u);
  }
}

// Arrays have elements whose width is known.
TEST(TextLimits, ArrayElements) {
  for (const char *text :
       {"array<i64: 1>", "array<f32>", "array<i1: true>", "tensor<4xindex>",
        "x.array<index>", "arrays<index>", "array <indexed>", "array, <index>",
        "array<i64: index", "\"array\"<index>", "\"array<index>\"",
        "// array<index>", "array(!a)", "array<", "array", "%array_<index>"})
    EXPECT_FALSE(findExcess(text)) << text;
  for (const char *text :
       {"array<index: 1>", "array<index>", "array < index", "a=array<\nindex>",
        "array // of\n<// all\nindex:", "array<!a: 1>", "array <! a>",
        "4xarray, array<array<index>"}) {
    auto at = findExcess(text);
    ASSERT_TRUE(at) << text;
    EXPECT_EQ(at->code, ErrorCode::ArrayElement);
  }
  auto at = findExcess("module {\n  a = array<index: 1>");
  ASSERT_TRUE(at);
  EXPECT_EQ(at->line, 2u);
  EXPECT_EQ(at->column, 13u);
}

// Any text is read to its end.
TEST(TextLimits, Ends) {
  for (const char *text :
       {"", "\"", "\"\\", "/", "//", "-", "<", ">", "ML\xefR"})
    EXPECT_FALSE(findExcess(text)) << text;
  EXPECT_FALSE(findExcess("ML\xefR" + repeat("(", 1000)));
}
