// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/StepVerifier.h"

#include "runtime/Core/Bundles.h"
#include "runtime/Core/RowVerifier.h"
#include "runtime/Core/Shapes.h"
#include "runtime/Core/StepAccesses.h"

#include "absl/algorithm/container.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <tuple>

using namespace tprt;

namespace {

class StepVerifier : RowVerifier {
public:
  StepVerifier(const Artifact &artifact, const EntryRow &entry)
      : RowVerifier(artifact), entry(entry), places(getBundlePlaces(artifact)) {
  }

  /// Checks the steps [first, first + count). The bodies of control steps among
  /// them are part of this range.
  absl::Status verify(uint64_t first, uint64_t count, unsigned depth);

private:
  absl::Status verifyStep(const StepRow &step) const;
  absl::Status verifyJoined(uint64_t first, uint64_t start) const;
  absl::Status verifyChoice(Range first, Range second) const;
  template <typename Row> absl::Status verifyRow(const StepRow &step) const;

  /// Checks that the row can be read, and that everything it refers to exists.
  absl::Status verifyFields(const KernelCallRow &call) const;
  absl::Status verifyFields(const MatmulRow &matmul) const;
  absl::Status verifyFields(const CollectiveRow &row) const;
  absl::Status verifyFields(const CopyRow &copy) const;
  absl::Status verifyFields(const FillRow &fill) const;
  absl::Status verifyFields(const ControlRow &control) const;
  absl::Status verifyFields(const ScatterRow &row) const;
  absl::Status verifyFields(const SortRow &row) const;

  absl::Status verifyBuffer(const BufferRow &buffer, uint64_t elementSize,
                            AccessKind kind) const;
  absl::Status verifyAccess(const StepAccess &access) const;
  int64_t getPositions(const BufferRow &buffer) const;

  /// Checks that operands, which have been checked individually, fit each
  /// other.
  template <typename Row> absl::Status verifyOperands(const Row &) const {
    return absl::OkStatus();
  }
  absl::Status verifyOperands(const MatmulRow &matmul) const;
  absl::Status verifyOperands(const CollectiveRow &row) const;
  absl::Status verifyOperands(const ScatterRow &row) const;
  absl::Status verifyOperands(const SortRow &row) const;
  bool overlap(const BufferRow &a, const BufferRow &b) const;

  const EntryRow &entry;
  const std::vector<BundlePlace> places; ///< Indexed by input.
  /// The number of trips of each loop around the current step, by counter.
  absl::flat_hash_map<uint32_t, int64_t> activeLoops;
};

} // namespace

absl::Status StepVerifier::verify(uint64_t first, uint64_t count,
                                  unsigned depth) {
  if (depth > kMaxNesting)
    return fail("loops are nested deeper than ", kMaxNesting);
  uint64_t end = first + count;
  for (uint64_t i = first; i < end; ++i) {
    const StepRow &step = artifact.rows<StepRow>()[i];
    TPRT_RETURN_IF_ERROR(
        addContext(verifyStep(step), absl::StrCat("step ", i)));
    if (step.kind == StepKind::CollectiveStart)
      TPRT_RETURN_IF_ERROR(verifyJoined(first, i));
    if (step.kind != StepKind::Control)
      continue;
    const ControlRow &control = artifact.rows<ControlRow>()[step.row];
    uint64_t nested = uint64_t{control.first} + control.second;
    if (nested > end - i - 1)
      return fail("step ", i, " contains steps outside of its region");
    bool loops = isLoop(control.kind);
    if (loops) {
      if (control.counter >= entry.counters || control.trips < 0 ||
          control.trips > INT32_MAX ||
          !activeLoops.try_emplace(control.counter, control.trips).second)
        return fail("step ", i, " is a loop with an invalid counter or bound");
    }
    uint64_t second = i + 1 + control.first;
    TPRT_RETURN_IF_ERROR(verify(i + 1, control.first, depth + 1));
    TPRT_RETURN_IF_ERROR(verify(second, control.second, depth + 1));
    if (control.kind == ControlKind::Choice)
      TPRT_RETURN_IF_ERROR(addContext(
          verifyChoice({static_cast<uint32_t>(i + 1), control.first},
                       {static_cast<uint32_t>(second), control.second}),
          absl::StrCat("step ", i)));
    if (loops)
      activeLoops.erase(control.counter);
    i += nested;
  }
  return absl::OkStatus();
}

/// Checks that a collective that joins a launch starts right after another one
/// of its communicator. `first` is the first step of the region.
absl::Status StepVerifier::verifyJoined(uint64_t first, uint64_t start) const {
  absl::Span<const StepRow> steps = artifact.rows<StepRow>();
  absl::Span<const CollectiveRow> rows = artifact.rows<CollectiveRow>();
  const CollectiveRow &row = rows[steps[start].row];
  if (row.joined == 0 ||
      (start > first && steps[start - 1].kind == StepKind::CollectiveStart &&
       rows[steps[start - 1].row].communicator == row.communicator))
    return absl::OkStatus();
  return fail("step ", start,
              " joins a launch, but the step before it starts no collective of "
              "the same communicator");
}

absl::Status StepVerifier::verifyStep(const StepRow &step) const {
  TPRT_RETURN_IF_ERROR(verifyText(step.name));
  switch (step.kind) {
#define TPRT_STEP(enumerator, number, Row)                                     \
  case StepKind::enumerator:                                                   \
    return verifyRow<Row>(step);
#include "runtime/Core/ArtifactEnums.def"
  }
  return fail("step kind ", static_cast<uint32_t>(step.kind), " is unknown");
}

template <typename Row>
absl::Status StepVerifier::verifyRow(const StepRow &step) const {
  absl::Span<const Row> rows = artifact.rows<Row>();
  if (step.row >= rows.size())
    return fail("the step names row number ", step.row,
                ", but its table has only ", rows.size(), " rows");
  TPRT_RETURN_IF_ERROR(verifyFields(rows[step.row]));
  for (const StepAccess &access : getAccesses(artifact, step))
    TPRT_RETURN_IF_ERROR(verifyAccess(access));
  return verifyOperands(rows[step.row]);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Checks that both alternatives consist of steps that can be timed separately,
/// and that they write the same bytes outside the arena. In the arena, each may
/// have its own memory. The buffers of both have been checked before.
absl::Status StepVerifier::verifyChoice(Range first, Range second) const {
  using Written = std::tuple<Space, uint32_t, uint64_t, uint64_t, int64_t,
                             uint32_t, uint32_t>;
  auto collect = [&](Range way, std::set<Written> &written) {
    for (const StepRow &step : artifact.rows<StepRow>(way)) {
      bool isTimed = step.kind == StepKind::Kernel ||
                     step.kind == StepKind::Matmul ||
                     step.kind == StepKind::Copy || step.kind == StepKind::Fill;
      if (!isTimed &&
          (step.kind != StepKind::Control ||
           artifact.rows<ControlRow>()[step.row].kind != ControlKind::Choice))
        return fail("a choice may only contain kernels, matmuls, copies, fills "
                    "and choices");
      for (const StepAccess &access : getAccesses(artifact, step)) {
        const BufferRow &to = access.buffer;
        if (access.kind == AccessKind::Write && to.space != Space::Arena)
          written.emplace(to.space, to.index, to.offset, to.size, to.step,
                          to.counter, to.place);
      }
    }
    return way.count > 0 ? absl::OkStatus()
                         : fail("a branch of a choice has no steps");
  };
  std::set<Written> byFirst, bySecond;
  TPRT_RETURN_IF_ERROR(collect(first, byFirst));
  TPRT_RETURN_IF_ERROR(collect(second, bySecond));
  return byFirst == bySecond
             ? absl::OkStatus()
             : fail("the two branches of a choice write different buffers");
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Checks that the buffer stays inside its storage on every trip of the loop
/// around it, that elements are aligned, and that a written buffer may be
/// written.
absl::Status StepVerifier::verifyBuffer(const BufferRow &buffer,
                                        uint64_t elementSize,
                                        AccessKind kind) const {
  if (buffer.space > Space::Bundle)
    return fail("a buffer is in an unknown kind of memory");
  int64_t storage = 0;
  bool writable = true;
  switch (buffer.space) {
  case Space::Arena:
    storage = static_cast<int64_t>(entry.arenaSize);
    break;
  case Space::Input: {
    if (!absl::c_linear_search(artifact.integers(entry.inputs), buffer.index))
      return fail("input ", buffer.index, " does not belong to the entry");
    if (places[buffer.index].isMember())
      return fail("input ", buffer.index,
                  " is part of a bundle and must be read through it");
    storage = artifact.getLocalBytes(artifact.rows<InputRow>()[buffer.index]);
    writable = false;
    for (const OutputRow &output : artifact.rows<OutputRow>(entry.outputs))
      writable |= output.alias == buffer.index;
    break;
  }
  case Space::Output:
    if (buffer.index < entry.outputs.first ||
        buffer.index - entry.outputs.first >= entry.outputs.count ||
        artifact.rows<OutputRow>()[buffer.index].alias != kNone)
      return fail("output ", buffer.index,
                  " is used as storage, but belongs to another entry or "
                  "overwrites an input");
    storage = artifact.getLocalBytes(artifact.rows<OutputRow>()[buffer.index]);
    break;
  case Space::Constant:
    storage =
        static_cast<int64_t>(artifact.bytes(SectionKind::Constants).size());
    writable = false;
    break;
  case Space::Bundle: {
    absl::Span<const BundleRow> bundles = artifact.rows<BundleRow>();
    if (buffer.index >= bundles.size())
      return fail("the step names bundle number ", buffer.index,
                  ", but there are only ", bundles.size(), " bundles");
    for (int64_t member : artifact.integers(bundles[buffer.index].members))
      if (!absl::c_linear_search(artifact.integers(entry.inputs), member))
        return fail("bundle ", buffer.index, " does not belong to the entry");
    storage = static_cast<int64_t>(getBytes(artifact, bundles[buffer.index]));
    writable = false;
    break;
  }
  }
  if (kind == AccessKind::Write && !writable)
    return fail("the step writes to a buffer that is read-only");

  if (buffer.offset > INT64_MAX || buffer.size > INT64_MAX)
    return fail("a buffer is not inside its storage of ", storage, " bytes");
  auto offset = static_cast<int64_t>(buffer.offset);
  absl::optional<int64_t> distance = 0; // to the last position
  if (buffer.counter != kNone && activeLoops.count(buffer.counter) == 0)
    return fail("the address of a buffer advances with a loop that does not "
                "contain the step");
  if (buffer.place != kNone &&
      (buffer.counter != kNone ||
       buffer.place >= artifact.rows<PlaceRow>().size()))
    return fail("the address of a buffer depends on an unknown device "
                "position, or on both a device position and a loop");
  int64_t step = buffer.step == INT64_MIN ? INT64_MAX : std::abs(buffer.step);
  distance = checkedMultiply(getPositions(buffer) - 1, step);
  bool isForward = buffer.step >= 0;
  absl::optional<int64_t> end =
      checkedAdd(offset, static_cast<int64_t>(buffer.size));
  if (end && distance && isForward)
    end = checkedAdd(*end, *distance);
  if (!end || *end > storage || !distance || (!isForward && *distance > offset))
    return fail("a buffer is not inside its storage of ", storage, " bytes");
  if (buffer.offset % elementSize != 0 || buffer.step % elementSize != 0)
    return fail("the offset or the step of a buffer is not a multiple of the "
                "element size");
  return absl::OkStatus();
}

/// Returns the number of positions that the buffer takes, one for each
/// iteration of its loop, or for each place along its axes. Successive
/// positions are `step` bytes apart.
int64_t StepVerifier::getPositions(const BufferRow &buffer) const {
  if (buffer.place != kNone)
    return artifact.getGroupSize(artifact.rows<PlaceRow>()[buffer.place].axes);
  return buffer.counter == kNone
             ? 1
             : std::max<int64_t>(activeLoops.at(buffer.counter), 1);
}

absl::Status StepVerifier::verifyAccess(const StepAccess &access) const {
  const BufferRow &buffer = access.buffer;
  if (!isDType(access.dtype))
    return fail("element type ", static_cast<uint32_t>(access.dtype),
                " is unknown");
  TPRT_RETURN_IF_ERROR(
      verifyBuffer(buffer, getSize(access.dtype), access.kind));
  absl::optional<int64_t> bytes = getExtent(access.sizes, access.strides);
  if (bytes)
    bytes = checkedMultiply(*bytes, getSize(access.dtype));
  if (!bytes || static_cast<uint64_t>(*bytes) > buffer.size)
    return fail("the step accesses elements outside of a buffer of ",
                buffer.size, " bytes");
  // Elements do not overlap, so the buffer's size also limits their number.
  if (access.kind == AccessKind::Write &&
      !isWithoutOverlap(access.sizes, access.strides))
    return fail("the step writes to elements that overlap in memory");
  return absl::OkStatus();
}

/// Returns true if two buffers of the current entry may share bytes.
bool StepVerifier::overlap(const BufferRow &a, const BufferRow &b) const {
  if (a.space != b.space || a.index != b.index)
    return false;
  // If a buffer's address varies, take the range of all its addresses.
  auto getRange = [&](const BufferRow &buffer) {
    int64_t moved = buffer.step * (getPositions(buffer) - 1);
    auto begin = static_cast<int64_t>(buffer.offset);
    return std::make_pair(begin + std::min<int64_t>(moved, 0),
                          begin + static_cast<int64_t>(buffer.size) +
                              std::max<int64_t>(moved, 0));
  };
  auto [beginA, endA] = getRange(a);
  auto [beginB, endB] = getRange(b);
  return beginA < endB && beginB < endA;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

absl::Status StepVerifier::verifyFields(const KernelCallRow &call) const {
  if (call.kernel >= artifact.rows<KernelRow>().size() ||
      !isInside<BufferRow>(call.buffers) || !isInside<ScalarRow>(call.scalars))
    return fail("a kernel call uses rows outside of their tables");
  if (call.rowBegin < 0 || call.rowEnd < call.rowBegin)
    return fail("a kernel call has an invalid range of rows, ", call.rowBegin,
                " to ", call.rowEnd);
  for (const ScalarRow &scalar : artifact.rows<ScalarRow>(call.scalars)) {
    bool known = scalar.kind == ScalarKind::Constant ||
                 (scalar.kind == ScalarKind::Coordinate &&
                  scalar.index < artifact.rows<AxisRefRow>().size()) ||
                 (scalar.kind == ScalarKind::Counter &&
                  activeLoops.contains(scalar.index));
    if (!known)
      return fail("a scalar of a kernel call is not valid");
  }
  return absl::OkStatus();
}
absl::Status StepVerifier::verifyFields(const MatmulRow &matmul) const {
  // No matrix library accepts a matrix whose rows or columns share elements.
  auto isMatrix = [](const MatmulOperand &operand, int64_t rows,
                     int64_t columns) {
    const int64_t *strides = operand.strides + kMaxBatch;
    return (strides[0] == 1 || strides[1] == 1) &&
           isWithoutOverlap({rows, columns}, {strides, 2});
  };
  const auto &[a, b, c] = std::tie(matmul.a, matmul.b, matmul.c);
  for (int64_t size : {matmul.m, matmul.n, matmul.k, matmul.batch[0],
                       matmul.batch[1], matmul.batch[2]})
    if (size < 1)
      return fail("a matmul has a dimension of size ", size);
  // The runtime may make a copy of A in f32, with all batches and in another
  // layout. The size of this copy must not overflow.
  int64_t packed[] = {matmul.batch[0], matmul.batch[1], matmul.batch[2],
                      matmul.m,        matmul.k,        getSize(DType::F32)};
  if (!getNumElements(packed))
    return fail("a matmul has too many batches");
  bool isCuda = artifact.getTarget() == kCudaTarget;
  auto isResult = [&](DType type) {
    return type == DType::F32 || type == DType::BF16 ||
           (type == DType::F16 && isCuda);
  };
  bool isFloat8 = a.dtype == DType::F8E4M3FN && isCuda;
  if (a.dtype != b.dtype || (!isFloat8 && !isResult(a.dtype)) ||
      !isResult(c.dtype) ||
      (!isFloat8 && c.dtype != DType::F32 && c.dtype != a.dtype))
    return fail("a matmul has element types that the target does not support");
  if (!isMatrix(a, matmul.m, matmul.k) || !isMatrix(b, matmul.k, matmul.n) ||
      c.strides[kMaxBatch + 1] != 1)
    return fail("a matmul has strides that do not describe a matrix");
  if (!isInside<PostOpRow>(matmul.postOps) || matmul.postOps.count > 16)
    return fail("the post-ops of a matmul are not inside their table");
  absl::Span<const PostOpRow> postOps =
      artifact.rows<PostOpRow>(matmul.postOps);
  for (size_t i = 0; i < postOps.size(); ++i) {
    if (static_cast<uint32_t>(postOps[i].kind) >= kNumPostOps ||
        (postOps[i].kind == PostOpKind::Accumulate && i != 0))
      return fail("a matmul has an unknown or misplaced post-op");
    if (postOps[i].kind > PostOpKind::Multiply)
      continue;
    if (!isResult(postOps[i].operand.dtype))
      return fail(
          "the operand of a post-op has a type that a matmul does not support");
  }
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyOperands(const MatmulRow &matmul) const {
  const BufferRow &b = matmul.b.buffer;
  bool isConstant =
      b.space == Space::Constant || b.space == Space::Bundle ||
      (b.space == Space::Input &&
       artifact.rows<InputRow>()[b.index].role == Role::Parameter);
  if (matmul.constantB && !isConstant)
    return fail("a matmul expects operand B to be constant, but B is not");
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyFields(const CollectiveRow &row) const {
  if (static_cast<uint32_t>(row.kind) >= kNumCollectives ||
      row.communicator >= artifact.rows<CommunicatorRow>().size())
    return fail("a collective has an unknown kind or communicator");
  if (row.joined > 1)
    return fail("a collective is neither joined to another one nor alone");
  int64_t group = artifact.getGroupSize(
      artifact.rows<CommunicatorRow>()[row.communicator].axes);
  bool reduces = row.kind == CollectiveKind::AllReduce ||
                 row.kind == CollectiveKind::ReduceScatter;
  if (reduces != (row.reduction != Reduction::None) ||
      row.reduction > Reduction::Min)
    return fail("a collective has a wrong or missing reduction");
  if (reduces && isDType(row.dtype) && row.dtype >= DType::F8E4M3FN)
    return fail("a collective cannot reduce 8-bit floats");
  bool permutes = row.kind == CollectiveKind::CollectivePermute;
  if (!isInside<int64_t>(row.permutation) ||
      row.permutation.count != (permutes ? group : 0))
    return fail("a permutation has ", row.permutation.count,
                " entries for a group of ", group, " devices");
  for (int64_t from : artifact.integers(row.permutation))
    if (from < -1 || from >= group)
      return fail("a permutation names position number ", from,
                  ", but its group has ", group, " devices");
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyOperands(const CollectiveRow &row) const {
  bool inPlace =
      row.kind == CollectiveKind::AllReduce &&
      std::memcmp(&row.source, &row.destination, sizeof(BufferRow)) == 0;
  if (!inPlace && row.count > 0 && overlap(row.source, row.destination))
    return fail("the source and the destination of a collective overlap");
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyFields(const CopyRow &copy) const {
  if (copy.rank > kMaxDims)
    return fail("a copy has ", copy.rank,
                " dimensions, more than the maximum of ", kMaxDims);
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyFields(const FillRow &fill) const {
  if (fill.rank > kMaxDims)
    return fail("a fill has ", fill.rank,
                " dimensions, more than the maximum of ", kMaxDims);
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyFields(const ControlRow &control) const {
  if (static_cast<uint32_t>(control.kind) >= kNumControls)
    return fail("a control step has an unknown kind");
  if (control.kind == ControlKind::Loop && control.second != 0)
    return fail("a loop has two bodies");
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyFields(const ScatterRow &row) const {
  if (static_cast<uint32_t>(row.kind) >= kNumScatterKinds)
    return fail("a scatter has an unknown kind");
  bool isNarrow = isDType(row.dtype) && isFloat(row.dtype) &&
                  getSize(row.dtype) < getSize(DType::F32);
  if (isNarrow && row.kind != ScatterKind::Set)
    return fail("a scatter cannot combine elements of type ",
                getName(row.dtype));
  if (!getNumElements({row.batch, row.outer, row.count, row.inner}))
    return fail("a scatter has too many updates");
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyOperands(const ScatterRow &row) const {
  if (overlap(row.updates, row.destination) ||
      overlap(row.indices, row.destination))
    return fail("a scatter reads and writes the same memory");
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyFields(const SortRow &row) const {
  if (!getNumElements({row.rows, row.columns}) || row.columns > INT32_MAX ||
      row.kept > row.columns)
    return fail("a sort has ", row.columns,
                " columns and keeps an invalid number of them, ", row.kept);
  if (isDType(row.dtype) && row.dtype >= DType::F8E4M3FN)
    return fail("a sort does not support 8-bit floats");
  return absl::OkStatus();
}

absl::Status StepVerifier::verifyOperands(const SortRow &row) const {
  if (overlap(row.source, row.values) || overlap(row.source, row.indices) ||
      overlap(row.values, row.indices))
    return fail("the buffers of a sort overlap");
  return absl::OkStatus();
}

absl::Status tprt::verifySteps(const Artifact &artifact,
                               const EntryRow &entry) {
  return StepVerifier(artifact, entry)
      .verify(entry.steps.first, entry.steps.count, /*depth=*/0);
}
