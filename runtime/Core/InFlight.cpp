// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/InFlight.h"

#include "runtime/Core/RangeIndex.h"
#include "runtime/Core/RowVerifier.h"
#include "runtime/Core/Shapes.h"
#include "runtime/Core/StepAccesses.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include <algorithm>
#include <vector>

using namespace tprt;

namespace {

/// A loop around the current step.
struct ActiveLoop {
  uint32_t counter;
  int64_t trips;
};

/// A collective under way.
struct Flight {
  uint64_t start; ///< The step that started it.
  StepAccess source, destination;
};

/// The bytes that an access may touch in all trips of its loop.
struct Sweep {
  RangeIndex::Memory memory;
  int64_t begin, end;

  bool isEmpty() const { return begin == end; }
};

class InFlightVerifier : RowVerifier {
public:
  explicit InFlightVerifier(const Artifact &artifact) : RowVerifier(artifact) {}

  /// Checks the steps [first, first + count). The bodies of control steps among
  /// them are part of this range.
  absl::Status walk(uint64_t first, uint64_t count);

private:
  void start(uint64_t number, uint32_t row);
  void finish(uint32_t row);
  absl::Status verifyStep(uint64_t number) const;
  absl::Status verifyAccess(uint64_t number, const StepAccess &access,
                            const RangeIndex &held, bool isDestination) const;

  int64_t getPositions(const BufferRow &buffer) const;
  Sweep getSweep(const StepAccess &access) const;
  std::vector<int64_t> getShifts(const BufferRow &access,
                                 const BufferRow &held) const;
  bool touches(const StepAccess &access, const StepAccess &held) const;
  absl::Status fail(uint64_t number, const StepAccess &access,
                    const Flight &flight, bool isDestination) const;
  std::string describeStep(uint64_t number) const;
  std::string describeMemory(const BufferRow &buffer) const;

  /// Outermost first.
  std::vector<ActiveLoop> loops;
  /// Keyed by the index of the collective's row, as `sources` and
  /// `destinations` are.
  absl::flat_hash_map<uint32_t, Flight> flights;
  RangeIndex sources, destinations;
};

} // namespace

absl::Status InFlightVerifier::walk(uint64_t first, uint64_t count) {
  absl::flat_hash_set<uint32_t> own; // started here
  uint64_t end = first + count;
  for (uint64_t i = first; i < end; ++i) {
    const StepRow &step = artifact.rows<StepRow>()[i];
    if (step.kind == StepKind::CollectiveDone) {
      if (own.erase(step.row) == 0)
        return RowVerifier::fail(
            "step ", i,
            " waits for a collective that was not started in the same region");
      finish(step.row);
      continue;
    }
    if (step.kind == StepKind::CollectiveStart && flights.contains(step.row))
      return RowVerifier::fail("step ", i,
                               " starts a collective that is already running");
    if (!flights.empty())
      TPRT_RETURN_IF_ERROR(verifyStep(i));
    if (step.kind == StepKind::CollectiveStart) {
      own.insert(step.row);
      start(i, step.row);
    }
    if (step.kind != StepKind::Control)
      continue;

    const ControlRow &control = artifact.rows<ControlRow>()[step.row];
    bool repeats = isLoop(control.kind);
    if (repeats)
      loops.push_back({control.counter, control.trips});
    TPRT_RETURN_IF_ERROR(walk(i + 1, control.first));
    TPRT_RETURN_IF_ERROR(walk(i + 1 + control.first, control.second));
    if (repeats)
      loops.pop_back();
    i += uint64_t{control.first} + control.second;
  }
  if (own.empty())
    return absl::OkStatus();
  uint64_t start = flights.at(*own.begin()).start;
  return RowVerifier::fail("the collective of ", describeStep(start),
                           " is not waited for in the region that starts it");
}

void InFlightVerifier::start(uint64_t number, uint32_t row) {
  StepAccesses accesses =
      getAccesses(artifact, artifact.rows<StepRow>()[number]);
  Flight flight{number, accesses[0], accesses[1]};
  for (auto [index, access] :
       {std::make_pair(&sources, &flight.source),
        std::make_pair(&destinations, &flight.destination)}) {
    Sweep sweep = getSweep(*access);
    if (!sweep.isEmpty())
      index->insert(sweep.memory, sweep.begin, sweep.end, row);
  }
  flights.emplace(row, std::move(flight));
}

/// Removes a collective's memory from `sources` and `destinations`. Start and
/// done step are in the same region, so the enclosing loops are the same, and
/// getSweep returns the ranges that `start` inserted.
void InFlightVerifier::finish(uint32_t row) {
  auto flight = flights.find(row);
  for (auto [index, access] :
       {std::make_pair(&sources, &flight->second.source),
        std::make_pair(&destinations, &flight->second.destination)}) {
    Sweep sweep = getSweep(*access);
    if (!sweep.isEmpty())
      index->erase(sweep.memory, sweep.begin, sweep.end, row);
  }
  flights.erase(flight);
}

absl::Status InFlightVerifier::verifyStep(uint64_t number) const {
  const StepRow &step = artifact.rows<StepRow>()[number];
  for (const StepAccess &access : getAccesses(artifact, step)) {
    TPRT_RETURN_IF_ERROR(
        verifyAccess(number, access, destinations, /*isDestination=*/true));
    if (access.kind == AccessKind::Write)
      TPRT_RETURN_IF_ERROR(
          verifyAccess(number, access, sources, /*isDestination=*/false));
  }
  return absl::OkStatus();
}

absl::Status InFlightVerifier::verifyAccess(uint64_t number,
                                            const StepAccess &access,
                                            const RangeIndex &held,
                                            bool isDestination) const {
  Sweep sweep = getSweep(access);
  if (sweep.isEmpty())
    return absl::OkStatus();
  const Flight *hit = nullptr;
  held.find(sweep.memory, sweep.begin, sweep.end, [&](uint32_t row) {
    const Flight &flight = flights.at(row);
    const StepAccess &own = isDestination ? flight.destination : flight.source;
    if (touches(access, own))
      hit = &flight;
    return hit != nullptr;
  });
  return hit ? fail(number, access, *hit, isDestination) : absl::OkStatus();
}

int64_t InFlightVerifier::getPositions(const BufferRow &buffer) const {
  if (buffer.place != kNone)
    return artifact.getGroupSize(artifact.rows<PlaceRow>()[buffer.place].axes);
  for (const ActiveLoop &loop : loops)
    if (loop.counter == buffer.counter)
      return std::max<int64_t>(loop.trips, 1);
  return 1;
}

Sweep InFlightVerifier::getSweep(const StepAccess &access) const {
  const BufferRow &buffer = access.buffer;
  auto begin = static_cast<int64_t>(buffer.offset);
  int64_t bytes =
      *getExtent(access.sizes, access.strides) * getSize(access.dtype);
  RangeIndex::Memory memory{buffer.space, buffer.index};
  if (bytes == 0)
    return {memory, begin, begin};
  int64_t moved = buffer.step * (getPositions(buffer) - 1);
  return {memory, begin + std::min<int64_t>(moved, 0),
          begin + bytes + std::max<int64_t>(moved, 0)};
}

/// A buffer's PlaceRow shifts its address by a distance that depends on the
/// rank. Returns the distances of `access` minus those of `held`, for all
/// ranks, without duplicates.
std::vector<int64_t> InFlightVerifier::getShifts(const BufferRow &access,
                                                 const BufferRow &held) const {
  if (access.place == kNone && held.place == kNone)
    return {0};
  std::vector<int64_t> shifts;
  for (int64_t rank = 0; rank < artifact.getNumDevices(); ++rank) {
    int64_t shift = 0;
    if (access.place != kNone)
      shift += artifact.getDistance(access, rank, {});
    if (held.place != kNone)
      shift -= artifact.getDistance(held, rank, {});
    shifts.push_back(shift);
  }
  absl::c_sort(shifts);
  shifts.erase(std::unique(shifts.begin(), shifts.end()), shifts.end());
  return shifts;
}

/// Returns true if `access`, on any trip and any rank, touches a byte of
/// `held`, the memory of a collective under way. That memory is dense. A loop
/// may advance both addresses. They are compared on the same trip, so only the
/// difference between their advances matters.
bool InFlightVerifier::touches(const StepAccess &access,
                               const StepAccess &held) const {
  StridedBytes bytes(getSize(access.dtype));
  for (size_t i = 0; i < access.sizes.size(); ++i)
    bytes.add(access.sizes[i], access.strides[i] * getSize(access.dtype));
  for (const ActiveLoop &loop : loops) {
    StridedBytes::Wide step = 0;
    if (access.buffer.counter == loop.counter)
      step += access.buffer.step;
    if (held.buffer.counter == loop.counter)
      step -= held.buffer.step;
    bytes.add(std::max<int64_t>(loop.trips, 1), step);
  }
  bytes.move(StridedBytes::Wide(access.buffer.offset) -
             StridedBytes::Wide(held.buffer.offset));
  int64_t length = *getExtent(held.sizes, held.strides) * getSize(held.dtype);
  return absl::c_any_of(getShifts(access.buffer, held.buffer),
                        [&](int64_t shift) {
                          StridedBytes moved = bytes;
                          moved.move(shift);
                          return moved.reach(length);
                        });
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string InFlightVerifier::describeStep(uint64_t number) const {
  absl::string_view name = artifact.text(artifact.rows<StepRow>()[number].name);
  return name.empty() ? absl::StrCat("step ", number)
                      : absl::StrCat("step ", number, " (", name, ")");
}

std::string InFlightVerifier::describeMemory(const BufferRow &buffer) const {
  switch (buffer.space) {
  case Space::Arena:
    return "the arena";
  case Space::Input:
    return absl::StrCat(
        "input '", artifact.text(artifact.rows<InputRow>()[buffer.index].name),
        "'");
  case Space::Output:
    return absl::StrCat(
        "output '",
        artifact.text(artifact.rows<OutputRow>()[buffer.index].name), "'");
  case Space::Constant:
    return "the constants";
  case Space::Bundle:
    return absl::StrCat("bundle ", buffer.index);
  }
  return "";
}

absl::Status InFlightVerifier::fail(uint64_t number, const StepAccess &access,
                                    const Flight &flight,
                                    bool isDestination) const {
  static constexpr const char *kNames[] = {
#define TPRT_COLLECTIVE(enumerator, number, name) name,
#include "runtime/Core/ArtifactEnums.def"
  };
  uint32_t row = artifact.rows<StepRow>()[flight.start].row;
  auto kind = static_cast<uint32_t>(artifact.rows<CollectiveRow>()[row].kind);
  Sweep own = getSweep(access);
  Sweep other = getSweep(isDestination ? flight.destination : flight.source);
  return RowVerifier::fail(
      describeStep(number),
      access.kind == AccessKind::Write ? " writes" : " reads", " bytes ",
      std::max(own.begin, other.begin), " to ", std::min(own.end, other.end),
      " of ", describeMemory(access.buffer), " while they are the ",
      isDestination ? "destination" : "source", " of the ", kNames[kind],
      " that ", describeStep(flight.start), " started");
}

absl::Status tprt::verifyInFlight(const Artifact &artifact,
                                  const EntryRow &entry) {
  return InFlightVerifier(artifact).walk(entry.steps.first, entry.steps.count);
}
