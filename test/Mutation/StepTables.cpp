// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-mutate-steps FILE.tpx...: moves collectives in the step tables of
// artifacts, and asks the runtime's verifier which of them still stand.
//
//   * A done goes down, a start goes up, by 1, 2, .. steps. Whether a step in
//     between touches what is in flight is found byte by byte, trip by trip. If
//     none does, the artifact must be accepted, and the whole collective at
//     either end must give the same bits. If one does, it must be refused.
//   * A destination in flight is put where a step in between reads or writes:
//     refused.
//
// Exit 1 if one is accepted that must not be, or refused that is right.

#include "runtime/Core/Artifact.h"
#include "runtime/Core/ArtifactWriter.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Session.h"
#include "runtime/Core/StepAccesses.h"

#include "absl/algorithm/container.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>

using namespace tprt;

namespace {

/// How far collectives move.
constexpr int kFurthest = 12;
/// Mutants of an artifact that are run: each loads its code.
constexpr int kMostRuns = 60;

/// What is changed of an artifact.
struct StepTable {
  std::vector<StepRow> steps;
  std::vector<CollectiveRow> collectives;
};

/// The steps of a region, each with what it governs: [begin, end).
struct Unit {
  size_t begin, end;
};

std::string write(const Artifact &artifact, const StepTable &table) {
  ArtifactWriter writer;
#define TPRT_ROWS(section, number, Row)                                        \
  if (SectionKind::section != SectionKind::Steps &&                            \
      SectionKind::section != SectionKind::Collectives &&                      \
      !artifact.rows<Row>().empty())                                           \
    writer.addAll<Row>(artifact.rows<Row>());
#include "runtime/Core/ArtifactEnums.def"
  writer.addAll<StepRow>(absl::MakeConstSpan(table.steps));
  writer.addAll<CollectiveRow>(absl::MakeConstSpan(table.collectives));
  for (SectionKind kind :
       {SectionKind::Text, SectionKind::Constants, SectionKind::ObjectCode,
        SectionKind::CpuFeatures, SectionKind::Target, SectionKind::GpuCode})
    if (!artifact.bytes(kind).empty())
      writer.setBytes(kind, artifact.bytes(kind));
  return writer.finish();
}

//===----------------------------------------------------------------------===//
// What is touched, byte by byte
//===----------------------------------------------------------------------===//

/// Goes through the steps as an executor does, on all trips of all loops, and
/// marks each byte of what is in flight.
class ByteWalk {
public:
  ByteWalk(const Artifact &artifact, const StepTable &table, int64_t rank)
      : artifact(artifact), table(table), rank(rank) {}

  /// Whether no step touches a byte that it must not.
  bool isClean(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const StepRow &step = table.steps[i];
      if (step.kind == StepKind::CollectiveDone) {
        mark(step, -1);
        continue;
      }
      if (numInFlight > 0 && touches(step))
        return false;
      if (step.kind == StepKind::CollectiveStart)
        mark(step, 1);
      if (step.kind != StepKind::Control)
        continue;
      const ControlRow &row = artifact.rows<ControlRow>()[step.row];
      size_t second = i + 1 + row.first, after = second + row.second;
      int64_t trips = isLoop(row.kind) ? row.trips : 1;
      for (int64_t trip = 0; trip < trips; ++trip) {
        if (isLoop(row.kind))
          counters[row.counter] = trip;
        if (!isClean(i + 1, second) || !isClean(second, after))
          return false;
      }
      i = after - 1;
    }
    return true;
  }

private:
  struct Marks {
    std::vector<uint8_t> sources, destinations;
  };

  /// Calls back with each byte of an access, now.
  void forEachByte(const StepAccess &access,
                   const std::function<void(Marks &, size_t)> &call) {
    const BufferRow &buffer = access.buffer;
    int64_t base = buffer.offset;
    if (buffer.place != kNone)
      base += artifact.getDistance(buffer, rank, {});
    if (buffer.counter != kNone)
      base += buffer.step * counters[buffer.counter];
    Marks &marks = memories[{buffer.space, buffer.index}];
    int64_t size = getSize(access.dtype);
    std::function<void(size_t, int64_t)> walk = [&](size_t dim, int64_t at) {
      if (dim < access.sizes.size()) {
        for (int64_t i = 0; i < access.sizes[dim]; ++i)
          walk(dim + 1, at + i * access.strides[dim] * size);
        return;
      }
      if (marks.sources.size() < size_t(at + size)) {
        marks.sources.resize(at + size);
        marks.destinations.resize(at + size);
      }
      for (int64_t i = 0; i < size; ++i)
        call(marks, at + i);
    };
    walk(0, base);
  }

  void mark(const StepRow &step, int by) {
    StepAccesses accesses = getAccesses(artifact, step);
    forEachByte(accesses[0],
                [&](Marks &marks, size_t at) { marks.sources[at] += by; });
    forEachByte(accesses[1],
                [&](Marks &marks, size_t at) { marks.destinations[at] += by; });
    numInFlight += by;
  }

  bool touches(const StepRow &step) {
    bool found = false;
    for (const StepAccess &access : getAccesses(artifact, step))
      forEachByte(access, [&](Marks &marks, size_t at) {
        found |= marks.destinations[at] ||
                 (access.kind == AccessKind::Write && marks.sources[at]);
      });
    return found;
  }

  const Artifact &artifact;
  const StepTable &table;
  int64_t rank;
  std::map<std::pair<Space, uint32_t>, Marks> memories;
  std::map<uint32_t, int64_t> counters;
  int numInFlight = 0;
};

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

class Campaign {
public:
  Campaign(std::string path, std::shared_ptr<const Artifact> artifact)
      : path(std::move(path)), artifact(std::move(artifact)) {
    auto steps = this->artifact->rows<StepRow>();
    auto collectives = this->artifact->rows<CollectiveRow>();
    original.steps.assign(steps.begin(), steps.end());
    original.collectives.assign(collectives.begin(), collectives.end());
    // Which launch a collective is in makes no difference to bytes, so each
    // moves alone.
    for (CollectiveRow &row : original.collectives)
      row.joined = 0;
  }

  /// False if something was missed, or wrongly refused.
  bool run() {
    for (const EntryRow &row : artifact->rows<EntryRow>()) {
      entry = &row;
      expected = getBits(original);
      if (expected.empty()) {
        std::cerr << path << ": cannot be run\n";
        return false;
      }
      mutateRegion(row.steps.first, row.steps.first + row.steps.count);
    }
    std::cout << path << ": " << numCollectives << " collectives, "
              << numAccepted + numRefused << " moves: " << numAccepted
              << " accepted, " << numRefused << " refused; of those that ran, "
              << numSame << " accepted ones gave the same bits, "
              << numRun - numSame << " others, and " << numChanged
              << " refused ones other bits; " << numPlaces
              << " places refused; " << numMissed << " missed, " << numWrong
              << " wrongly refused\n";
    return numMissed + numWrong == 0 && numSame == numRun;
  }

private:
  void mutateRegion(size_t begin, size_t end) {
    std::vector<Unit> units;
    for (size_t i = begin; i < end; i = units.back().end) {
      units.push_back({i, i + 1});
      if (original.steps[i].kind != StepKind::Control)
        continue;
      const ControlRow &row =
          artifact->rows<ControlRow>()[original.steps[i].row];
      mutateRegion(i + 1, i + 1 + row.first);
      mutateRegion(i + 1 + row.first, i + 1 + row.first + row.second);
      units.back().end += row.first + row.second;
    }
    for (size_t i = 0; i < units.size(); ++i) {
      const StepRow &start = original.steps[units[i].begin];
      if (start.kind != StepKind::CollectiveStart)
        continue;
      ++numCollectives;
      size_t done = i + 1;
      while (original.steps[units[done].begin].kind !=
                 StepKind::CollectiveDone ||
             original.steps[units[done].begin].row != start.row)
        ++done;
      // One step further each time, until the region ends.
      for (size_t to = done + 1; to < units.size() && to <= done + kFurthest;
           ++to)
        judge(move(units[done], units[to].end),
              move(units[i], units[to].end, units[done]), units[i].begin,
              units[to].end);
      for (size_t by = 1; by <= std::min<size_t>(i, kFurthest); ++by)
        judge(move(units[i], units[i - by].begin),
              move(units[done], units[i - by].begin, units[i]),
              units[i - by].begin, units[done].end);
    }
  }

  /// Moves a step to stand before the one that is at `to` now, and another one,
  /// if there is one, to stand beside it: a whole collective.
  StepTable move(Unit unit, size_t to,
                 absl::optional<Unit> other = absl::nullopt) const {
    StepTable table = original;
    auto at = [&](size_t i) { return table.steps.begin() + i; };
    if (to > unit.begin) {
      // The later one first, so that the earlier keeps its place.
      if (other)
        std::rotate(at(other->begin), at(other->begin + 1), at(to));
      std::rotate(at(unit.begin), at(unit.begin + 1), at(other ? to - 1 : to));
    } else {
      if (other)
        std::rotate(at(to), at(other->begin), at(other->begin + 1));
      std::rotate(at(other ? to + 1 : to), at(unit.begin), at(unit.begin + 1));
    }
    return table;
  }

  /// A mutant, and its collective as a whole at the other end of what it
  /// spans: steps `begin` to `end`.
  void judge(const StepTable &mutant, const StepTable &whole, size_t begin,
             size_t end) {
    bool isAccepted = accepts(mutant);
    // Ranks touch other bytes only where buffers lie at their places.
    int64_t ranks =
        artifact->rows<PlaceRow>().empty() ? 1 : artifact->getNumDevices();
    bool isClean = true;
    for (int64_t rank = 0; rank < ranks; ++rank)
      isClean &= ByteWalk(*artifact, mutant, rank)
                     .isClean(entry->steps.first,
                              entry->steps.first + entry->steps.count);
    if (isAccepted != isClean)
      report(isAccepted ? "MISSED" : "WRONGLY REFUSED", mutant, begin, end);
    (isAccepted ? numAccepted : numRefused) += 1;
    if (isAccepted && !isClean)
      ++numMissed;
    if (!isAccepted && isClean)
      ++numWrong;
    if (isAccepted)
      misplace(mutant, begin, end);
    // Another collective may be under way at the other end, and need what this
    // one touches.
    int &run = isAccepted ? numRun : numRefusedRun;
    if (run == kMostRuns || (!isAccepted && !accepts(whole)))
      return;
    ++run;
    bool isSame = getBits(whole) == expected &&
                  (!isAccepted || getBits(mutant) == expected);
    if (isAccepted && !isSame)
      report("OTHER BITS", mutant, begin, end);
    if (isAccepted)
      numSame += isSame;
    else
      numChanged += !isSame;
  }

  /// Puts the destination where a step in between has an operand. The first
  /// and last of the steps are those of the collective.
  void misplace(const StepTable &mutant, size_t begin, size_t end) {
    uint32_t row = mutant.steps[begin].row;
    for (size_t i = begin + 1; i + 1 < end; ++i) {
      if (mutant.steps[i].kind == StepKind::CollectiveDone)
        continue;
      for (const StepAccess &access : getAccesses(*artifact, mutant.steps[i])) {
        StepTable misplaced = mutant;
        BufferRow &to = misplaced.collectives[row].destination;
        if (access.buffer.space != Space::Arena || access.buffer.size == 0 ||
            absl::c_linear_search(access.sizes, 0) ||
            access.buffer.offset + to.size > entry->arenaSize ||
            access.buffer.offset % getSize(misplaced.collectives[row].dtype) !=
                0)
          continue;
        uint64_t size = to.size;
        to = access.buffer;
        to.size = size;
        to.step = 0, to.counter = to.place = kNone;
        if (!accepts(misplaced)) {
          ++numPlaces;
          continue;
        }
        ++numMissed;
        report("MISSED PLACE", misplaced, begin, end);
      }
    }
  }

  bool accepts(const StepTable &table) const {
    absl::Status status = Artifact::fromBytes(write(*artifact, table)).status();
    return status.ok();
  }

  /// All that an entry gives on random inputs; empty if it cannot be run.
  std::string getBits(const StepTable &table) const {
    auto changed = Artifact::fromBytes(write(*artifact, table));
    SessionOptions options;
    options.threads = 1;
    options.timeout = absl::Seconds(60);
    if (!changed.ok()) {
      std::cerr << changed.status().message() << '\n';
      return "";
    }
    auto session = Session::open(options, *changed);
    if (!session.ok()) {
      std::cerr << session.status().message() << '\n';
      return "";
    }
    for (const InputRow &input : artifact->rows<InputRow>())
      (void)(*session)->bindRandom(artifact->text(input.name), /*seed=*/1);
    absl::Status status = (*session)->run(artifact->text(entry->name));
    if (!status.ok()) {
      std::cerr << status.message() << '\n';
      return "";
    }
    std::string bits = "ran";
    for (const Artifact::Result &result : artifact->getResults(*entry))
      if (auto value = (*session)->read(result.name); value.ok())
        bits += *value;
    return bits;
  }

  void report(const char *what, const StepTable &table, size_t begin,
              size_t end) const {
    std::cout << path << ": " << what << ": steps " << begin << " to " << end
              << ", of '" << artifact->text(table.steps[begin].name) << "': "
              << Artifact::fromBytes(write(*artifact, table)).status().message()
              << '\n';
  }

  std::string path;
  std::shared_ptr<const Artifact> artifact;
  StepTable original;
  const EntryRow *entry = nullptr;
  std::string expected;
  int numCollectives = 0, numAccepted = 0, numRefused = 0, numPlaces = 0;
  int numRun = 0, numSame = 0, numRefusedRun = 0, numChanged = 0;
  int numMissed = 0, numWrong = 0;
};

} // namespace

int main(int argc, char **argv) {
  bool isFine = argc > 1;
  for (int i = 1; i < argc; ++i) {
    auto artifact = Artifact::open(argv[i]);
    if (!artifact.ok()) {
      std::cerr << argv[i] << ": " << artifact.status().message() << '\n';
      return 1;
    }
    isFine &= Campaign(argv[i], *artifact).run();
  }
  return isFine ? 0 : 1;
}
