// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Times.h"

#include "OutputFile.h"
#include "runtime/Core/Errors.h"

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

using namespace tprt;

static constexpr const char *kKinds[kNumStepKinds] = {
    "kernel", "matmul",  "collective", "collective", "copy",
    "fill",   "control", "scatter",    "sort"};

absl::Status tprun::benchmark(Session &session, const std::string &entry,
                              int runs, absl::Duration warmUp,
                              const std::string &trace) {
  if (warmUp > absl::ZeroDuration() && !session.hasAllRanks())
    return makeError(
        ErrorCode::BadOption,
        "--warmup is only for ranks in one process, because several processes "
        "would warm up for different numbers of runs; leave it out");
  auto measure = [&](double &time) {
    absl::Time begin = absl::Now();
    absl::Status status = session.run(entry);
    time = absl::ToDoubleMicroseconds(absl::Now() - begin);
    return status;
  };
  // In the first run, primitives are created and weights repacked.
  double first = 0, other = 0;
  TPRT_RETURN_IF_ERROR(measure(first));
  TPRT_RETURN_IF_ERROR(measure(other));
  for (absl::Time end = absl::Now() + warmUp; absl::Now() < end;)
    TPRT_RETURN_IF_ERROR(measure(other));
  std::vector<double> times;
  for (int i = 0; i < runs; ++i)
    TPRT_RETURN_IF_ERROR(measure(times.emplace_back()));
  // The steps are measured in a separate run, as reading the clock is slow.
  session.recordTimes(true);
  TPRT_RETURN_IF_ERROR(session.run(entry));
  std::vector<Session::RankTimes> recorded = session.takeTimes();
  session.recordTimes(false);
  if (!trace.empty())
    TPRT_RETURN_IF_ERROR(writeTrace(session, recorded, trace));
  if (session.getFirstRank() != 0)
    return absl::OkStatus();

  std::sort(times.begin(), times.end());
  std::printf("%s on %d ranks, %d runs: min %.1f us, median %.1f us, mean %.1f "
              "us, max %.1f us\n",
              entry.c_str(), session.getNumRanks(), runs, times.front(),
              times[times.size() / 2],
              std::accumulate(times.begin(), times.end(), 0.0) /
                  static_cast<double>(times.size()),
              times.back());
  std::printf("  %-10s %18.1f us\n", "first run", first);
  double total[kNumStepKinds] = {}, wait = 0, carried = 0;
  int steps[kNumStepKinds] = {};
  const Artifact &artifact = session.getArtifact();
  for (const StepTime &time : recorded.front().steps) {
    auto kind = static_cast<size_t>(artifact.rows<StepRow>()[time.step].kind);
    if (kKinds[kind] == kKinds[static_cast<size_t>(StepKind::CollectiveStart)])
      kind = static_cast<size_t>(StepKind::CollectiveDone);
    total[kind] += static_cast<double>(time.end - time.begin) / 1e3;
    ++steps[kind];
    wait += static_cast<double>(time.wait) / 1e3;
    carried += static_cast<double>(time.carriedEnd - time.carriedBegin) / 1e3;
  }
  for (size_t kind = 0; kind < kNumStepKinds; ++kind)
    if (steps[kind] > 0)
      std::printf("  %-10s %5d steps %12.1f us\n", kKinds[kind], steps[kind],
                  total[kind]);
  if (wait > 0)
    std::printf("  of which waiting for other ranks %.1f us\n", wait);
  if (carried > 0) {
    // The done step of a collective that overlaps with other steps takes only
    // as long as the rank waits for the collective.
    double exposed = total[static_cast<size_t>(StepKind::CollectiveDone)];
    std::printf("  compute %.1f us, communication %.1f us, exposed %.1f us\n",
                std::accumulate(std::begin(total), std::end(total), 0.0) -
                    exposed,
                carried, exposed);
  }
  return absl::OkStatus();
}

std::string tprun::getAxes(const Artifact &artifact, uint32_t link) {
  std::vector<absl::string_view> names;
  for (const MeshAxis &axis : artifact.rows<MeshAxis>())
    if (axis.link == link)
      names.push_back(artifact.text(axis.name));
  return absl::StrJoin(names, ", ");
}

absl::Status tprun::writeTrace(const Session &session,
                               absl::Span<const Session::RankTimes> recorded,
                               const std::string &path) {
  const Artifact &artifact = session.getArtifact();
  auto numLinks = static_cast<int>(artifact.getNumLinks());
  nlohmann::json events = nlohmann::json::array();
  int64_t origin = INT64_MAX;
  for (const auto &[rank, steps] : recorded)
    if (!steps.empty())
      origin = std::min(origin, steps.front().begin);
  for (const auto &[rank, steps] : recorded) {
    // In the trace, collectives that overlap with steps get a row for each
    // link.
    auto getLane = [&, rank = rank](uint32_t link) {
      return session.getNumRanks() + rank * numLinks + static_cast<int>(link);
    };
    auto nameLane = [&](int lane, const std::string &name) {
      events.push_back({{"ph", "M"},
                        {"name", "thread_name"},
                        {"pid", 0},
                        {"tid", lane},
                        {"args", {{"name", name}}}});
    };
    auto add = [&](int lane, const StepTime &time, int64_t begin, int64_t end) {
      const StepRow &step = artifact.rows<StepRow>()[time.step];
      std::string name(artifact.text(step.name));
      events.push_back(
          {{"ph", "X"},
           {"name", name.empty() ? absl::StrCat("step ", time.step) : name},
           {"cat", kKinds[static_cast<size_t>(step.kind)]},
           {"pid", 0},
           {"tid", lane},
           {"ts", static_cast<double>(begin - origin) / 1e3},
           {"dur", static_cast<double>(end - begin) / 1e3}});
    };
    nameLane(rank, absl::StrCat("rank ", rank));
    std::set<uint32_t> used;
    for (const StepTime &time : steps) {
      add(rank, time, time.begin, time.end);
      if (time.carriedEnd == 0)
        continue;
      const StepRow &step = artifact.rows<StepRow>()[time.step];
      uint32_t group = artifact.rows<CollectiveRow>()[step.row].communicator;
      for (uint32_t link :
           artifact.getLinks(artifact.rows<CommunicatorRow>()[group])) {
        add(getLane(link), time, time.carriedBegin, time.carriedEnd);
        used.insert(link);
      }
    }
    for (uint32_t link : used)
      nameLane(getLane(link),
               absl::StrCat("rank ", rank, ", collectives",
                            numLinks > 1 ? " along " : "",
                            numLinks > 1 ? getAxes(artifact, link) : ""));
  }
  // A name that is not UTF-8 cannot be in JSON: its invalid bytes are replaced.
  std::string text = nlohmann::json{{"traceEvents", events}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
  return writeFile(getTracePath(session, path), text + "\n");
}

std::string tprun::getTracePath(const Session &session,
                                const std::string &path) {
  int rank = session.getFirstRank();
  return rank == 0 ? path : absl::StrCat(path, ".", rank);
}
