// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Sharding/Algebra/Halo.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <map>

using namespace tp;

namespace {

/// The source row of a result row and a tap; none if the piece does not have
/// the result row, or the tap is outside of the source.
std::optional<int64_t> getSource(const Piece &piece, int64_t n, int64_t row,
                                 int64_t tap) {
  int64_t steps = row - piece.at;
  if (steps < 0 || steps % piece.spread != 0 ||
      steps / piece.spread >= piece.size)
    return std::nullopt;
  int64_t source =
      piece.start + steps / piece.spread * piece.stride + tap * piece.dilation;
  if (source < 0 || source >= n)
    return std::nullopt;
  return source;
}

/// The rows that a device finds in its strip, by their numbers in the tensor:
/// -1 for rows without meaning, and for those after the tensor's end.
std::vector<int64_t> getStrip(const Window &window, const Blocks &from,
                              int64_t place) {
  std::vector<int64_t> strip(window.lead, -1);
  int64_t block = from.size;
  for (size_t i = 0; i < window.rows.size(); ++i) {
    const BlockRows &rows = window.rows[i];
    bool isFirst = i == 0, isLast = i + 1 == window.rows.size();
    int64_t sender = from.k == 1 ? 0 : place + window.lowest + int64_t(i);
    int64_t begin = isFirst ? rows.begin : 0;
    int64_t end = isLast ? rows.end : block;
    for (int64_t row = begin; row < end; ++row) {
      int64_t number = sender * block + row;
      if (window.mirrored)
        number = from.k * block - 1 - number;
      bool isThere = row >= rows.begin && row < rows.end && sender >= 0 &&
                     sender < from.k && number >= 0 && number < from.n;
      strip.push_back(isThere ? number : -1);
    }
  }
  strip.resize(strip.size() + window.tail, -1);
  return strip;
}

/// The rows of each distance that some device needs, by trying all.
std::map<int64_t, BlockRows> getNeeds(const Blocks &from, const Blocks &to,
                                      const Piece &piece) {
  std::map<int64_t, BlockRows> needs;
  int64_t block = from.size;
  for (int64_t place = 0; place < to.k; ++place)
    for (int64_t row = to.begin(place); row < to.begin(place + 1); ++row)
      for (int64_t tap = 0; tap < piece.taps; ++tap) {
        std::optional<int64_t> source = getSource(piece, from.n, row, tap);
        if (!source)
          continue;
        int64_t number =
            piece.stride < 0 ? from.k * block - 1 - *source : *source;
        BlockRows &rows = needs[from.k == 1 ? 0 : number / block - place];
        rows = rows.hull({number % block, number % block + 1});
      }
  return needs;
}

/// Counts what was compared; `failed` says what differs first.
struct Checker {
  uint64_t checked = 0;

  testing::AssertionResult check(const Blocks &from, const Blocks &to,
                                 const Piece &piece) {
    auto fail = [&](const char *what) {
      return testing::AssertionFailure()
             << what << ": " << from.n << " rows on " << from.k << " by "
             << from.size << " to " << to.n << " on " << to.k << " by "
             << to.size << ", " << piece.size << " from " << piece.start
             << " to " << piece.at << ", stride " << piece.stride << ", spread "
             << piece.spread << ", taps " << piece.taps << ", dilation "
             << piece.dilation;
    };
    constexpr size_t kMost = 64;
    std::map<int64_t, BlockRows> needs = getNeeds(from, to, piece);
    std::optional<Window> window = getWindow(from, to, piece, kMost);
    if (needs.empty() != !window)
      return fail("whether there is a window");
    if (!window)
      return testing::AssertionSuccess();
    for (size_t i = 0; i < window->rows.size(); ++i) {
      auto it = needs.find(window->lowest + int64_t(i));
      if (!(window->rows[i] == (it == needs.end() ? BlockRows{} : it->second)))
        return fail("the rows of a distance");
    }
    if (window->lowest != needs.begin()->first ||
        window->lowest + int64_t(window->rows.size()) - 1 !=
            needs.rbegin()->first)
      return fail("the distances");
    int64_t stride = std::abs(piece.stride);
    for (int64_t place = 0; place < to.k; ++place) {
      std::vector<int64_t> strip = getStrip(*window, from, place);
      int64_t first = window->offset + place * window->step;
      for (int64_t row = to.begin(place); row < to.begin(place + 1); ++row)
        for (int64_t tap = 0; tap < piece.taps; ++tap) {
          std::optional<int64_t> source = getSource(piece, from.n, row, tap);
          if (!source)
            continue;
          int64_t where = first + (row - to.begin(place)) * stride;
          int64_t ordered = window->mirrored ? piece.taps - 1 - tap : tap;
          if (where % piece.spread != 0)
            return fail("a row between spread rows");
          where = where / piece.spread + ordered * piece.dilation;
          if (first < 0 || where < 0 || where >= int64_t(strip.size()) ||
              strip[where] != *source)
            return fail("a row's place in the strip");
          // All of the block is inside.
          int64_t end = (first + (to.size - 1) * stride) / piece.spread +
                        (piece.taps - 1) * piece.dilation;
          if (end >= int64_t(strip.size()))
            return fail("the end of the strip");
          ++checked;
        }
    }
    return testing::AssertionSuccess();
  }
};

/// All pieces between all layouts up to these limits.
struct Limits {
  int64_t rows, devices, stride, spread, taps, dilation;
};

uint64_t checkAll(const Limits &limits) {
  Checker checker;
  for (int64_t k = 1; k <= limits.devices; ++k)
    for (int64_t n = 1; n <= limits.rows; ++n)
      for (int64_t m = 1; m <= limits.rows; ++m)
        for (int64_t stride = -limits.stride; stride <= limits.stride; ++stride)
          for (int64_t spread = 1; spread <= limits.spread; ++spread)
            for (int64_t taps = 1; taps <= limits.taps; ++taps)
              for (int64_t dilation = 1; dilation <= limits.dilation;
                   ++dilation) {
                if (stride == 0 || (std::abs(stride) > 1 && spread > 1) ||
                    (taps == 1 && dilation > 1))
                  continue;
                int64_t reach = (taps - 1) * dilation;
                for (int64_t at = 0; at < m; ++at)
                  for (int64_t size = 1; at + (size - 1) * spread < m; ++size)
                    for (int64_t start = -reach; start < n; ++start)
                      for (int64_t senders : {int64_t(1), k}) {
                        auto result = checker.check(
                            {n, senders}, {m, k},
                            {start, at, size, stride, spread, taps, dilation});
                        EXPECT_TRUE(result);
                        if (!result)
                          return 0;
                      }
              }
  return checker.checked;
}

// In every window between blocks of all sizes, every device finds its rows
// where offset and step say, and no distance has a row that nobody needs. With
// TPOPT_EXHAUSTIVE set, all sizes to 24 on up to 8 devices are sampled, too.
TEST(Halo, EveryWindowIsWhatDevicesNeed) {
  EXPECT_GT(checkAll({9, 4, 1, 1, 1, 1}), 50000u);
  EXPECT_GT(checkAll({7, 3, 3, 1, 3, 2}), 50000u);
  EXPECT_GT(checkAll({7, 3, 1, 3, 3, 2}), 50000u);
}

// The same for windows of which every result row is one, as tp.window has them:
// with TPOPT_EXHAUSTIVE set, all of them to 24 rows on up to 8 devices.
TEST(Halo, WindowsOfEveryRowAreWhatDevicesNeed) {
  Limits limits{9, 4, 2, 1, 3, 2};
  if (std::getenv("TPOPT_EXHAUSTIVE"))
    limits = {24, 8, 4, 1, 5, 3};
  Checker checker;
  for (int64_t k = 1; k <= limits.devices; ++k)
    for (int64_t n = 1; n <= limits.rows; ++n)
      for (int64_t m = 1; m <= limits.rows; ++m)
        for (int64_t stride = 1; stride <= limits.stride; ++stride)
          for (int64_t taps = 1; taps <= limits.taps; ++taps)
            for (int64_t dilation = 1; dilation <= limits.dilation; ++dilation)
              for (int64_t start = -(m - 1) * stride - (taps - 1) * dilation;
                   start < n; ++start)
                for (int64_t senders : {int64_t(1), k})
                  ASSERT_TRUE(
                      checker.check({n, senders}, {m, k},
                                    {start, 0, m, stride, 1, taps, dilation}));
  EXPECT_GT(checker.checked, 100000u);
}

// Blocks of other sizes than a tensor's own, as those that a reshape makes of
// them: every size that holds all rows, or many more.
TEST(Halo, BlocksOfAnySizeAreWhatDevicesNeed) {
  Checker checker;
  for (int64_t k = 1; k <= 5; ++k)
    for (int64_t n = 1; n <= 14; ++n)
      for (int64_t from = (n + k - 1) / k; from <= n + 1; ++from)
        for (int64_t to = (n + k - 1) / k; to <= n + 1; ++to)
          for (int64_t stride : {1, -1}) {
            Piece piece{stride > 0 ? 0 : n - 1, 0, n, stride};
            ASSERT_TRUE(checker.check({n, k, from}, {n, k, to}, piece));
          }
  EXPECT_GT(checker.checked, 10000u);
}

// 9 heads of 64 features on 2 devices: of the second's 288 features the first
// takes 32 for its fifth head.
TEST(Halo, HeadsTakeWhatTheirBlocksLack) {
  std::optional<Window> window =
      getWindow({576, 2}, {576, 2, 5 * 64}, {0, 0, 576}, 8);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->lowest, 0);
  ASSERT_EQ(window->rows.size(), 2u);
  EXPECT_EQ(window->rows[1], (BlockRows{0, 32}));
  EXPECT_EQ(window->step, 32);
}

TEST(Halo, LargeWindowsAreWhatDevicesNeed) {
  // Any sequence that covers the cases will do; this one is the same each time.
  uint64_t state = 7;
  auto pick = [&](int64_t begin, int64_t end) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return begin + int64_t((state >> 33) % uint64_t(end - begin + 1));
  };
  Checker checker;
  int64_t count = std::getenv("TPOPT_EXHAUSTIVE") ? 20000000 : 100000;
  for (int64_t i = 0; i < count; ++i) {
    int64_t k = pick(1, 8), n = pick(1, 24), m = pick(1, 24);
    Piece piece{0, pick(0, m - 1), 1};
    piece.stride = pick(1, 4) * (pick(0, 1) ? 1 : -1);
    piece.spread = std::abs(piece.stride) == 1 ? pick(1, 4) : 1;
    piece.taps = pick(1, 5);
    piece.dilation = pick(1, 3);
    piece.size = pick(1, (m - 1 - piece.at) / piece.spread + 1);
    piece.start = pick(-(piece.taps - 1) * piece.dilation, n - 1);
    ASSERT_TRUE(checker.check({n, pick(0, 3) ? k : 1}, {m, k}, piece));
  }
  EXPECT_GT(checker.checked, 100000u);
}

// A shift by one sends one row to a neighbour, with equal blocks on both sides.
TEST(Halo, AShiftSendsWhatCrosses) {
  std::optional<Window> window = getWindow({16, 4}, {15, 4}, {1, 0, 15}, 8);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->lowest, 0);
  ASSERT_EQ(window->rows.size(), 2u);
  EXPECT_EQ(window->rows[0], (BlockRows{1, 4}));
  EXPECT_EQ(window->rows[1], (BlockRows{0, 1}));
  EXPECT_EQ(window->offset, 0);
  EXPECT_EQ(window->step, 0);
}

// Blocks that coincide send nothing: 10 rows padded to 12 on 4 devices.
TEST(Halo, BlocksThatCoincideSendNothing) {
  std::optional<Window> window = getWindow({10, 4}, {12, 4}, {0, 0, 10}, 8);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->lowest, 0);
  EXPECT_EQ(window->rows.size(), 1u);
}

// Every other row of 16 on 4 devices: blocks of 4 become blocks of 2.
TEST(Halo, StridesThatDivideBlocksSendNothing) {
  std::optional<Window> window =
      getWindow({16, 4}, {8, 4}, {1, 0, 8, /*stride=*/2}, 8);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->lowest, 0);
  EXPECT_EQ(window->rows.size(), 1u);
  EXPECT_EQ(window->step, 0);
}

// 8 rows on 4 devices, reversed: each device wants the mirrored block whole.
TEST(Halo, AReverseTakesTheMirroredBlock) {
  std::optional<Window> window =
      getWindow({8, 4}, {8, 4}, {7, 0, 8, /*stride=*/-1}, 8);
  ASSERT_TRUE(window);
  EXPECT_TRUE(window->mirrored);
  EXPECT_EQ(window->lowest, 0);
  ASSERT_EQ(window->rows.size(), 1u);
  EXPECT_EQ(window->rows[0], (BlockRows{0, 2}));
}

// A causal convolution of three taps wants two rows of the neighbour before.
TEST(Halo, TapsReachOverTheBorder) {
  Piece piece{/*start=*/-2, /*at=*/0, 16};
  piece.taps = 3;
  std::optional<Window> window = getWindow({16, 4}, {16, 4}, piece, 8);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->lowest, -1);
  ASSERT_EQ(window->rows.size(), 2u);
  EXPECT_EQ(window->rows[0], (BlockRows{2, 4}));
  EXPECT_EQ(window->rows[1], (BlockRows{0, 4}));
}

// The first row of each of many devices, brought together, comes from too many.
TEST(Halo, TooManyDistancesAreNoWindow) {
  EXPECT_TRUE(getWindow({16, 16}, {8, 16}, {8, 0, 8}, 8));
  EXPECT_FALSE(getWindow({32, 16}, {16, 16}, {0, 0, 16}, 8));
}

} // namespace
