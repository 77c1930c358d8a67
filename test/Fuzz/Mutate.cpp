// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Damages bytes and text.

#include "Mutate.h"

#include "llvm/ADT/StringExtras.h"

using namespace tp;
using namespace tp::fuzz;
using llvm::StringRef;

/// A part of `text`: where it begins, and its length, mostly short.
static std::pair<size_t, size_t> drawRange(const std::string &text,
                                           Random &random) {
  size_t begin = random.draw(0, text.size());
  size_t most = std::min<size_t>(text.size() - begin,
                                 random.percent(80) ? 16 : text.size());
  return {begin, size_t(random.draw(0, most))};
}

/// The word or number at or behind a random place.
static std::pair<size_t, size_t> drawWord(const std::string &text,
                                          Random &random) {
  size_t begin = random.draw(0, text.size());
  while (begin < text.size() && !llvm::isAlnum(text[begin]))
    ++begin;
  while (begin > 0 && begin < text.size() && llvm::isAlnum(text[begin - 1]))
    --begin;
  size_t end = begin;
  while (end < text.size() && llvm::isAlnum(text[end]))
    ++end;
  return {begin, end - begin};
}

/// Digits at or behind a random place.
static std::pair<size_t, size_t> drawNumber(const std::string &text,
                                            Random &random) {
  size_t begin = text.find_first_of("0123456789", random.draw(0, text.size()));
  if (begin == std::string::npos)
    return {text.size(), 0};
  size_t end = text.find_first_not_of("0123456789", begin);
  return {begin, std::min(end, text.size()) - begin};
}

static void change(std::string &text, Random &random) {
  static const char *const extremes[] = {"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "3",
                                         "7",
                                         "64",
                                         "255",
                                         "65536",
                                         "2147483647",
                                         "2147483648",
                                         "4294967296",
                                         "16777217",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551616",
                                         "1e308",
                                         "1e999",
                                         "0.5",
                                         "-0.0",
                                         "null",
                                         "true",
                                         "[]",
                                         "{}",
                                         "\"\""};
  switch (random.draw(0, 10)) {
  case 0: // a bit
    if (!text.empty())
      text[random.draw(0, text.size() - 1)] ^= char(1 << random.draw(0, 7));
    return;
  case 1: // a byte
    if (!text.empty())
      text[random.draw(0, text.size() - 1)] =
          random.pick({'\0', '\xff', '\x7f', '\x80', '"', '{', '}', '[', ']',
                       ',', ':', '<', '>', '(', ')', '-', ' ', '\n'});
    return;
  case 2: { // leave out
    auto [begin, size] = drawRange(text, random);
    text.erase(begin, size);
    return;
  }
  case 3: { // double
    auto [begin, size] = drawRange(text, random);
    text.insert(random.draw(0, text.size()), text.substr(begin, size));
    return;
  }
  case 4: // cut off
    if (random.percent(30))
      text.resize(random.draw(0, text.size()));
    return;
  case 5: // put in
    text.insert(random.draw(0, text.size()), random.draw(1, 8),
                char(random.draw(0, 255)));
    return;
  case 6: { // one word for another
    auto [from, fromSize] = drawWord(text, random);
    std::string word = text.substr(from, fromSize);
    auto [to, toSize] = drawWord(text, random);
    text.replace(to, toSize, word);
    return;
  }
  case 7: { // an extreme number
    auto [begin, size] = drawNumber(text, random);
    text.replace(begin, size, random.pick(llvm::ArrayRef(extremes)));
    return;
  }
  case 8: { // a number nearby
    auto [begin, size] = drawNumber(text, random);
    unsigned long long value;
    if (!StringRef(text).substr(begin, size).getAsInteger(10, value))
      text.replace(begin, size,
                   std::to_string(value + random.pick({-1, 1, 2})));
    return;
  }
  case 10: { // one in another, deeper than any stack
    if (!random.percent(20))
      return;
    const char *level = random.pick({"[", "(", "{", "<", "\"a.b\"() ({\n",
                                     "tuple<", "dense<[", "{\"a\": ["});
    std::string nest;
    for (int64_t i = random.draw(100, 20000); i > 0; --i)
      nest += level;
    text.insert(random.draw(0, text.size()), nest);
    return;
  }
  case 9: { // eight bytes as a little-endian number, as in binary headers
    if (text.size() < 8)
      return;
    uint64_t value = random.pick<uint64_t>(
        {0, 1, 7, 8, 255, 4096, uint64_t(1) << 31, uint64_t(1) << 32,
         uint64_t(1) << 62, uint64_t(1) << 63, ~uint64_t(0), text.size(),
         text.size() - 8});
    size_t at = random.draw(0, text.size() - 8) & ~size_t(7);
    for (unsigned i = 0; i < 8; ++i)
      text[at + i] = char(value >> (8 * i));
    return;
  }
  }
}

std::string tp::fuzz::mutate(std::string text, Random &random) {
  for (int64_t i = random.draw(1, random.percent(70) ? 2 : 8); i > 0; --i)
    change(text, random);
  return text;
}
