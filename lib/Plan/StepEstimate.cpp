// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StepEstimate.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>

using namespace tp;
using namespace tp::plan;

/// The number of pieces of a transfer that a loop needs or makes.
static constexpr int kPieces = 8;

void StepEstimate::addGather(double begin, double end, double seconds) {
  int count = begin == end ? 1 : kPieces;
  for (int i = 0; i < count; ++i)
    addTransfer(0, begin + i * (end - begin) / count, seconds / count);
}

void StepEstimate::addSum(double begin, double end, double seconds) {
  int count = begin == end ? 1 : kPieces;
  for (int i = 1; i <= count; ++i)
    addTransfer(begin + i * (end - begin) / count, computing, seconds / count);
}

double StepEstimate::get() const {
  auto sortBy = [&](double Transfer::*key) {
    std::vector<unsigned> order(transfers.size());
    for (unsigned i = 0; i < order.size(); ++i)
      order[i] = i;
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return std::pair(transfers[a].*key, a) < std::pair(transfers[b].*key, b);
    });
    return order;
  };
  std::vector<unsigned> byReady = sortBy(&Transfer::ready);
  auto next = byReady.begin();

  // At `time`, the computing clock shows `clock`. The link is busy until
  // `link`.
  double clock = 0, time = 0, link = 0;
  // The times at which transfers become ready, earliest first.
  std::deque<std::pair<double, unsigned>> arriving;
  // Transfers that are ready; the one that is needed first is on top.
  using Waiting = std::pair<double, unsigned>; // the need, and the transfer
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
  std::vector<double> ends(transfers.size(), -1);
  auto carryNext = [&] {
    if (waiting.empty())
      link = std::max(link, arriving.front().first);
    for (; !arriving.empty() && arriving.front().first <= link;
         arriving.pop_front())
      waiting.push(
          {transfers[arriving.front().second].need, arriving.front().second});
    unsigned number = waiting.top().second;
    waiting.pop();
    ends[number] = link += transfers[number].seconds;
  };
  for (unsigned stop : sortBy(&Transfer::need)) {
    double need = transfers[stop].need;
    // The device computes without a pause until it gets to `need`.
    for (; next != byReady.end() && transfers[*next].ready <= need; ++next)
      arriving.push_back({time + transfers[*next].ready - clock, *next});
    while (ends[stop] < 0)
      carryNext();
    time = std::max(time + need - clock, ends[stop]);
    clock = need;
  }
  return time + computing - clock;
}
