// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Support/Nesting.h"

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
TEST(Nesting, Limit) {
  for (std::string bracket : {"(", "[", "{", "<", "({", "a.b<[", "-(", "/("}) {
    unsigned each = bracket.find_first_of("([{<") + 1 == bracket.size() ? 1 : 2;
    unsigned most = kMaxNesting / each;
    EXPECT_FALSE(findDeepNesting(repeat(bracket, most))) << bracket;
    auto at = findDeepNesting("\n  " + repeat(bracket, most + 1));
    ASSERT_TRUE(at) << bracket;
    EXPECT_EQ(at->line, 2u);
    EXPECT_EQ(at->column,
              3 + most * bracket.size() + bracket.find_first_of("([{<"));
  }
}

// What is closed again does not count, whatever stands between.
TEST(Nesting, Closed) {
  for (const char *text :
       {"()", "[]", "{}", "<>", "({[<>]})", "(d0) -> (d0)", "a <= b", "a >= b",
        "(<)", "[<]", "\"((((\"", "\"\\\"((((\"", "// ((((\n", "a - b",
        "tensor<4xf32> ", "\"never closed\n"})
    EXPECT_FALSE(findDeepNesting(repeat(text, 5 * kMaxNesting))) << text;
}

// Closing brackets that fit nothing hide nothing.
TEST(Nesting, Stray) {
  for (const char *text : {"(]", "[>", "{)", "<}", "(\"", "(//\n", "(->"})
    EXPECT_TRUE(
        findDeepNesting(repeat(std::string(text) + "\n", 2 * kMaxNesting + 2)))
        << text;
}

// Any text is read to its end.
TEST(Nesting, Ends) {
  for (const char *text :
       {"", "\"", "\"\\", "/", "//", "-", "<", ">", "ML\xefR"})
    EXPECT_FALSE(findDeepNesting(text)) << text;
  EXPECT_FALSE(findDeepNesting("ML\xefR" + repeat("(", 1000)));
}
