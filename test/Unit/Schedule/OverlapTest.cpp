// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Schedules of hand-made and of random problems. A random one is checked by a
// device that does what the events say and knows nothing of how they came
// about; of small ones all schedules are tried.

#include "RandomLinks.h"

#include "passes/Schedule/Overlap.h"

#include "gtest/gtest.h"

#include <array>
#include <random>

using namespace tp::schedule;

namespace {

constexpr Limits kPlenty = {1 << 20, 64};

double getComputed(const Problem &problem) {
  double seconds = 0;
  for (const StepTime &step : problem.steps)
    seconds += step.seconds;
  for (const Transfer &transfer : problem.transfers)
    seconds += transfer.preparation;
  return seconds;
}

constexpr unsigned kMaxLinks = 3;

/// Does what a schedule says. The links are busy with something else at first.
class Device {
public:
  Device(const Problem &problem, const Schedule &schedule,
         std::array<double, kMaxLinks> backlog = {})
      : problem(problem), started(problem.transfers.size(), -1), done(started),
        arrives(problem.transfers.size()), free(backlog) {
    for (unsigned at = 0; at < schedule.events.size(); ++at) {
      for (const Event &event : schedule.events[at])
        happen(event, at);
      checkPlace(at);
      if (at < problem.steps.size())
        run(problem.steps[at]);
    }
  }

  double time = 0;
  int64_t mostHeld = 0;
  unsigned mostUnderWay = 0;

private:
  void happen(const Event &event, int at) {
    unsigned i = event.transfer;
    const Transfer &transfer = problem.transfers[i];
    if (event.isStart) {
      EXPECT_EQ(started[i], -1);
      EXPECT_GE(at, int(transfer.earliest));
      EXPECT_LE(unsigned(at), std::max(transfer.place, transfer.latest));
      for (unsigned before : transfer.after)
        EXPECT_NE(done[before], -1) << before << " before " << i;
      started[i] = at;
      time += transfer.preparation;
      arrives[i] = time;
      for (unsigned link : transfer.links)
        arrives[i] = std::max(arrives[i], free[link]);
      arrives[i] += transfer.seconds;
      for (unsigned link : transfer.links)
        free[link] = arrives[i];
    } else {
      EXPECT_NE(started[i], -1);
      EXPECT_EQ(done[i], -1);
      EXPECT_LE(at, int(transfer.needed));
      done[i] = at;
      time = std::max(time, arrives[i]);
    }
  }

  /// A loop's first iteration finds the links as they are, the others find them
  /// free.
  void run(const StepTime &step) {
    if (step.first) {
      const auto &[body, schedule] = *step.first;
      std::array<double, kMaxLinks> backlog;
      for (unsigned link = 0; link < kMaxLinks; ++link)
        backlog[link] = std::max(0.0, free[link] - time);
      time += Device(body, schedule, backlog).time;
      time -= Device(body, schedule).time;
    }
    time += step.seconds;
  }

  /// While the step at a place runs. What starts and ends before it at its
  /// place is held by the program as it is written, too. From its place on, a
  /// transfer that has not started holds what its preparation will read.
  void checkPlace(int at) {
    int64_t held = 0;
    unsigned underWay = 0;
    for (unsigned i = 0; i < started.size(); ++i) {
      bool isUnderWay = started[i] != -1 && done[i] == -1;
      underWay += isUnderWay;
      const Transfer &transfer = problem.transfers[i];
      bool isAhead = started[i] != -1 && int(transfer.place) > at,
           isPostponed = started[i] == -1 && int(transfer.place) <= at;
      if (isUnderWay || isAhead || isPostponed)
        held += transfer.bytes;
      if (isPostponed)
        held += transfer.unpreparedBytes;
    }
    mostHeld = std::max(mostHeld, held);
    mostUnderWay = std::max(mostUnderWay, underWay);
    if (at == int(problem.steps.size()))
      for (unsigned i = 0; i < done.size(); ++i)
        EXPECT_NE(done[i], -1) << i;
  }

  const Problem &problem;
  std::vector<int> started, done;
  std::vector<double> arrives;
  std::array<double, kMaxLinks> free;
};

/// A loop of bodies that are scheduled by themselves.
StepTime makeLoop(const Problem &body, unsigned count) {
  LinkSeconds carried = body.getCarried();
  carried *= count;
  Schedule schedule = overlap(body, kPlenty);
  return {count * schedule.seconds, carried,
          std::make_shared<const Body>(Body{body, schedule})};
}

/// The example of the header.
TEST(Overlap, TravelsBesideSteps) {
  Problem problem;
  problem.steps = {2, 2, 2};
  problem.transfers = {{1, 2, 3, 3, 64}};
  EXPECT_EQ(keep(problem).seconds, 9);
  EXPECT_EQ(keep(problem).exposed, 3);
  Schedule schedule = overlap(problem, {64, 4});
  EXPECT_EQ(schedule.seconds, 6);
  EXPECT_EQ(schedule.exposed, 0);
  EXPECT_EQ(getBound(problem), 6);
}

TEST(Overlap, NothingToMove) {
  Problem empty;
  EXPECT_EQ(overlap(empty, kPlenty).events.size(), 1u);
  EXPECT_EQ(getBound(empty), 0);
  // Between a step that writes what is sent and one that reads what arrives.
  Problem chain;
  chain.steps = {1, 1};
  chain.transfers = {{1, 1, 1, 5, 8}};
  EXPECT_EQ(overlap(chain, kPlenty).seconds, 7);
  EXPECT_EQ(getBound(chain), 7);
}

// Weights of four layers, each needed by its own: one is gathered while the
// layer before it computes, and no more than memory holds.
TEST(Overlap, GathersOneAhead) {
  Problem problem;
  problem.steps = {10, 10, 10, 10};
  for (unsigned layer = 0; layer < 4; ++layer)
    problem.transfers.push_back({0, layer, layer, 4, 100});
  Schedule schedule = overlap(problem, {100, 8});
  EXPECT_EQ(schedule.seconds, 44);
  EXPECT_EQ(schedule.exposed, 4);
  EXPECT_EQ(getBound(problem), 44);
  Device device(problem, schedule);
  EXPECT_EQ(device.time, 44);
  EXPECT_LE(device.mostHeld, 100);
  // No memory: as written.
  EXPECT_EQ(overlap(problem, {99, 8}).seconds, 56);
}

// Sums of gradients are needed at the end, and the last one has nothing to
// travel beside.
TEST(Overlap, SumsBehindBackward) {
  Problem problem;
  problem.steps = {5, 5, 5, 5};
  for (unsigned layer = 0; layer < 4; ++layer)
    problem.transfers.push_back({layer + 1, layer + 1, 4, 3, 100});
  Schedule schedule = overlap(problem, kPlenty);
  EXPECT_EQ(schedule.seconds, 23);
  EXPECT_EQ(getBound(problem), 23);
  // If the program as written has the sums at its end, one that has arrived
  // makes room for the next one under way.
  Problem late = problem;
  for (Transfer &transfer : late.transfers)
    transfer.place = 4;
  EXPECT_EQ(overlap(late, {1000, 1}).seconds, 23);
  EXPECT_EQ(overlap(late, {100, 8}).seconds, 29);
  // With room for one under way, it is waited for before the next one starts,
  // when it has arrived.
  EXPECT_EQ(overlap(problem, {100, 8}).seconds, 23);
  EXPECT_EQ(overlap(problem, {1000, 1}).seconds, 23);
}

// A gather that is needed soon goes before sums that nobody waits for.
TEST(Overlap, SoonestFirst) {
  Problem problem;
  problem.steps = {4, 4, 4};
  problem.transfers = {{1, 1, 3, 4, 10}, {0, 2, 2, 4, 10}};
  Schedule schedule = overlap(problem, kPlenty);
  EXPECT_EQ(schedule.seconds, 12);
  EXPECT_TRUE(schedule.events[0].front().isStart);
  EXPECT_EQ(schedule.events[0].front().transfer, 1u);
}

// The pieces of a gather that is needed at the end leave the link free for a
// sum that is needed at once.
// Two sums of gradients are ready while the link is busy with a third. A gather
// that is needed soon becomes ready a step later, and overtakes the second one.
TEST(Overlap, OvertakesWhatIsNeededLater) {
  Problem problem;
  problem.steps = {1, 1, 1, 9};
  for (unsigned i = 0; i < 2; ++i)
    problem.transfers.push_back({1, 1, 4, 4, 1});
  problem.transfers.push_back({2, 2, 3, 2, 1});
  EXPECT_EQ(overlap(problem, kPlenty).seconds, 16);
  EXPECT_EQ(overlap(problem, {1, 64}).seconds, 20);
  // A step writes what their preparations read.
  problem.transfers[0].latest = problem.transfers[1].latest = 1;
  EXPECT_EQ(overlap(problem, kPlenty).seconds, 20);
}

TEST(Overlap, PiecesBetweenSums) {
  Problem problem;
  problem.steps = {4, 4, 4, 4};
  problem.transfers = {{1, 1, 1, 4, 1}, {2, 2, 2, 4, 1}, {3, 3, 3, 4, 1}};
  Problem whole = problem;
  whole.transfers.push_back({0, 4, 4, 16, 1});
  EXPECT_EQ(overlap(whole, kPlenty).seconds, 40);
  for (int piece = 0; piece < 4; ++piece)
    problem.transfers.push_back({0, 4, 4, 4, 1});
  EXPECT_EQ(overlap(problem, kPlenty).seconds, 28);
  EXPECT_EQ(getBound(problem), 28);
}

// A transfer of what another one brings.
TEST(Overlap, OneAfterTheOther) {
  Problem problem;
  problem.steps = {4, 4, 4};
  problem.transfers = {{0, 1, 3, 3, 10}, {0, 1, 2, 3, 10, 0, {0}}};
  Schedule schedule = overlap(problem, kPlenty);
  Device device(problem, schedule);
  EXPECT_EQ(device.time, schedule.seconds);
  EXPECT_EQ(schedule.seconds, 12);
}

// Nothing travels past the second step: the bound is that of what comes before
// it, and that of what comes after. The link is idle while the second step
// runs.
TEST(Overlap, BoundOfParts) {
  Problem problem;
  problem.steps = {1, 10, 1};
  problem.transfers = {{0, 1, 1, 5, 10}, {2, 3, 3, 5, 10}};
  EXPECT_EQ(getBound(problem), 20);
  EXPECT_EQ(overlap(problem, kPlenty).seconds, 20);
  // A transfer that may run past it, and another that waits for it.
  problem.transfers = {{0, 1, 3, 5, 10}, {2, 3, 3, 5, 10, 0, {0}}};
  EXPECT_EQ(getBound(problem), 16);
  EXPECT_EQ(overlap(problem, kPlenty).seconds, 16);
}

// A gather that is needed behind a loop would delay the gathers inside, each of
// which is needed at once. It starts behind the loop, beside the step there.
TEST(Overlap, DelaysNoLoop) {
  Problem body;
  body.steps = {2};
  body.transfers = {{0, 0, 0, 1, 10}};
  Problem problem;
  problem.steps = {makeLoop(body, 4), 5, 1};
  problem.transfers = {{0, 2, 2, 6, 10}};
  EXPECT_EQ(problem.steps[0].seconds, 12);
  EXPECT_EQ(problem.steps[0].carried[0], 4);
  LinkSeconds backlog;
  backlog[0] = 6;
  EXPECT_EQ(problem.steps[0].getSeconds(backlog), 18);
  Schedule schedule = overlap(problem, kPlenty);
  EXPECT_EQ(schedule.seconds, 19);
  EXPECT_TRUE(schedule.events[0].empty());
  EXPECT_EQ(getBound(problem), 18);
  // Inside a loop with room, it travels while the first iteration computes.
  body.transfers = {{0, 1, 1, 1, 10}};
  problem.steps[0] = makeLoop(body, 4);
  EXPECT_EQ(problem.steps[0].seconds, 8);
  problem.transfers[0].seconds = 1;
  EXPECT_EQ(overlap(problem, kPlenty).seconds, 14);
}

// The example of the header: a slow sum holds up what each step waits for only
// if it is on the same link.
TEST(Overlap, ASlowLinkHoldsUpNoOther) {
  Problem problem;
  problem.steps = {2, 2, 2};
  problem.transfers = {
      {0, 0, 3, 9, 64}, {0, 0, 0, 1, 64}, {1, 1, 1, 1, 64}, {2, 2, 2, 1, 64}};
  EXPECT_EQ(keep(problem).seconds, 18);
  EXPECT_EQ(overlap(problem, {256, 4}).seconds, 16);
  problem.transfers[0].links = {1};
  EXPECT_EQ(keep(problem).seconds, 18);
  Schedule schedule = overlap(problem, {256, 4});
  EXPECT_EQ(schedule.seconds, 9);
  EXPECT_EQ(schedule.exposed, 3);
  EXPECT_EQ(getBound(problem), 9);
  EXPECT_EQ(Device(problem, schedule).time, 9);
}

// Data parallelism on a slow link, tensor parallelism on a fast one: each layer
// of the backward pass is two steps, of which the second waits for a sum on the
// fast link, and its gradient is summed on the slow link until the end.
TEST(Overlap, SumsOfGradientsBesideTensorParallelism) {
  auto make = [](unsigned slow) {
    Problem problem;
    for (unsigned layer = 0; layer < 4; ++layer) {
      problem.steps.insert(problem.steps.end(), {3, 3});
      unsigned second = 2 * layer + 1;
      problem.transfers.push_back({second, second, second, 1, 10});
      problem.transfers.push_back(
          {second + 1, second + 1, 8, 6, 10, 0, {}, {slow}});
    }
    return problem;
  };
  // On one link, the sum of a gradient delays the next layer's sum by 3 s.
  Problem one = make(0);
  EXPECT_EQ(keep(one).seconds, 24 + 4 + 24);
  EXPECT_EQ(getBound(one), 34);
  EXPECT_EQ(overlap(one, kPlenty).seconds, 7 + 3 * 10 + 6);
  // On two, only the last layer's sum has nothing to run beside.
  Problem two = make(1);
  EXPECT_EQ(getBound(two), 34);
  Schedule schedule = overlap(two, kPlenty);
  EXPECT_EQ(schedule.seconds, 34);
  EXPECT_EQ(schedule.exposed, 10);
  EXPECT_EQ(Device(two, schedule).time, 34);
}

// A collective over axes of both speeds waits for both links and occupies both.
TEST(Overlap, ATransferOnBothLinks) {
  Problem problem;
  problem.steps = {2, 2, 4};
  problem.transfers = {{0, 0, 3, 5, 10, 0, {}, {1}},
                       {1, 1, 3, 3, 10, 0, {}, {0, 1}},
                       {2, 2, 3, 1, 10}};
  // The second starts at 2, is carried from 5 to 8, and the third after it.
  Schedule schedule = overlap(problem, kPlenty);
  EXPECT_EQ(schedule.seconds, 9);
  EXPECT_EQ(Device(problem, schedule).time, 9);
  // Link 1 carries 8 s. The third transfer is at least 1 s behind the second.
  EXPECT_EQ(getBound(problem), 8);
}

// While the device waits for a transfer on one link, it starts what is due on
// the other.
TEST(Overlap, StartsOnOtherLinksDuringAWait) {
  Problem problem;
  problem.steps = {1, 1};
  problem.transfers = {{1, 1, 1, 4, 10}, {1, 1, 2, 6, 10, 0, {}, {1}}};
  Schedule schedule = overlap(problem, kPlenty);
  EXPECT_EQ(schedule.seconds, 7);
  EXPECT_EQ(Device(problem, schedule).time, 7);
  // The memory of both, or none beyond the program's own.
  EXPECT_EQ(overlap(problem, {9, 8}).seconds, 12);
}

// What travels on the slow link delays no transfers inside a loop that are on
// the fast one, but does delay those that are on both.
TEST(Overlap, LoopsUseLinks) {
  Problem body;
  body.steps = {2};
  body.transfers = {{0, 0, 0, 1, 10}};
  Problem problem;
  problem.steps = {makeLoop(body, 4), 1};
  problem.transfers = {{0, 2, 2, 12, 10, 0, {}, {1}}};
  EXPECT_EQ(problem.steps[0].seconds, 12);
  EXPECT_EQ(overlap(problem, kPlenty).seconds, 13);
  EXPECT_EQ(getBound(problem), 13);
  // Before the loop starts only what does not delay it.
  Problem two = problem;
  two.steps = {makeLoop(body, 4), 5, 1};
  two.transfers = {{0, 2, 2, 6, 10}, {0, 2, 2, 14, 10, 0, {}, {1}}};
  EXPECT_EQ(overlap(two, kPlenty).seconds, 19);
  body.transfers[0].links = {0, 1};
  problem.steps[0] = makeLoop(body, 4);
  EXPECT_EQ(problem.steps[0].carried[1], 4);
  LinkSeconds backlog;
  backlog[1] = 5;
  EXPECT_EQ(problem.steps[0].getSeconds(backlog), 17);
  EXPECT_EQ(getBound(problem), 16);
  EXPECT_EQ(overlap(problem, kPlenty).seconds, 24);
}

/// Some of the steps are loops, at most `depth` in each other.
Problem makeRandom(std::mt19937 &engine, unsigned numSteps,
                   unsigned numTransfers, unsigned depth = 0,
                   unsigned numLinks = 1) {
  auto below = [&](unsigned n) { return unsigned(engine() % n); };
  Problem problem;
  for (unsigned i = 0; i < numSteps; ++i) {
    if (depth > 0 && below(3) == 0) {
      Problem body =
          makeRandom(engine, below(4), below(3), depth - 1, numLinks);
      problem.steps.push_back(makeLoop(body, 1 + below(3)));
    } else {
      problem.steps.push_back(below(6));
    }
  }
  std::vector<unsigned> places;
  for (unsigned i = 0; i < numTransfers; ++i)
    places.push_back(below(numSteps + 1));
  std::sort(places.begin(), places.end());
  for (unsigned place : places) {
    Transfer transfer;
    transfer.place = place;
    transfer.earliest = below(place + 1);
    transfer.needed = place + below(numSteps + 1 - place);
    transfer.seconds = below(8);
    transfer.bytes = 1 + below(10);
    transfer.preparation = below(3);
    transfer.latest = place + below(numSteps + 1 - place);
    transfer.unpreparedBytes = below(4);
    transfer.links = test::drawLinks(engine, numLinks);
    for (unsigned before = 0; before < problem.transfers.size(); ++before)
      if (below(4) == 0)
        transfer.after.push_back(before);
    problem.transfers.push_back(transfer);
  }
  return problem;
}

TEST(Overlap, RandomProblems) {
  std::mt19937 engine(1);
  for (int round = 0; round < 40000; ++round) {
    Problem problem = makeRandom(engine, engine() % 25, engine() % 7, round % 3,
                                 1 + round % 4 % kMaxLinks);
    Limits limits = {int64_t(engine() % 30), unsigned(1 + engine() % 4)};
    Schedule schedule = overlap(problem, limits);
    Device device(problem, schedule);
    EXPECT_EQ(device.time, schedule.seconds);
    EXPECT_EQ(schedule.exposed, schedule.seconds - getComputed(problem));
    EXPECT_LE(device.mostHeld, limits.bytes);
    EXPECT_LE(device.mostUnderWay, limits.count);
    EXPECT_LE(schedule.seconds, keep(problem).seconds);
    EXPECT_LE(getBound(problem), schedule.seconds + 1e-9);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

/// The best of all schedules without limits: every order of starts, each as
/// early as it may.
class BestOfAll {
public:
  explicit BestOfAll(const Problem &problem) : problem(problem) {
    for (unsigned i = 0; i < problem.transfers.size(); ++i)
      order.push_back(i);
  }
  double get() {
    double best = keep(problem).seconds;
    do
      best = std::min({best, tryOrder(false), tryOrder(true)});
    while (std::next_permutation(order.begin(), order.end()));
    return best;
  }

private:
  /// Of the transfers in this order, with the clock of the device. A transfer
  /// that has to be done starts even out of its turn. With `isEager`, the
  /// others start before the device waits for it.
  double tryOrder(bool isEager) {
    std::vector<double> arrives(order.size(), -1);
    std::array<double, kMaxLinks> free = {};
    double time = 0;
    auto start = [&](auto &self, unsigned i) -> void {
      if (arrives[i] >= 0)
        return;
      const Transfer &transfer = problem.transfers[i];
      for (unsigned before : transfer.after) {
        self(self, before);
        time = std::max(time, arrives[before]);
      }
      time += transfer.preparation;
      arrives[i] = time;
      for (unsigned link : transfer.links)
        arrives[i] = std::max(arrives[i], free[link]);
      arrives[i] += transfer.seconds;
      for (unsigned link : transfer.links)
        free[link] = arrives[i];
    };
    auto startAll = [&](unsigned at) {
      for (unsigned i : order)
        if (problem.transfers[i].earliest <= at &&
            std::all_of(problem.transfers[i].after.begin(),
                        problem.transfers[i].after.end(), [&](unsigned before) {
                          return arrives[before] >= 0 &&
                                 arrives[before] <= time;
                        }))
          start(start, i);
    };
    for (unsigned at = 0; at <= problem.steps.size(); ++at) {
      for (unsigned i = 0; i < order.size(); ++i)
        if (problem.transfers[i].needed == at) {
          if (isEager)
            startAll(at);
          start(start, i);
          time = std::max(time, arrives[i]);
        }
      startAll(at);
      if (at < problem.steps.size())
        time += problem.steps[at].seconds;
    }
    for (double end : arrives)
      time = std::max(time, end);
    return time;
  }

  const Problem &problem;
  std::vector<unsigned> order;
};

// Over 2,000 small problems with memory enough, by all of their seconds.
void compareSchedules(unsigned numLinks, double most) {
  std::mt19937 engine(2);
  double mine = 0, best = 0, bound = 0, written = 0;
  for (int round = 0; round < 2000; ++round) {
    Problem problem = makeRandom(engine, 6, 5, 0, numLinks);
    mine += overlap(problem, kPlenty).seconds;
    best += BestOfAll(problem).get();
    bound += getBound(problem);
    written += keep(problem).seconds;
  }
  EXPECT_LE(bound, best);
  EXPECT_LE(mine, most * best) << "bound " << bound << ", written " << written;
}

TEST(Overlap, CloseToTheBestOfAll) { compareSchedules(1, 1.03); }

TEST(Overlap, CloseToTheBestOfAllWithTwoLinks) { compareSchedules(2, 1.03); }

} // namespace
