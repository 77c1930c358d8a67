// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What Artifact promises about its rows, checked once at load. A broken
/// row is named by its table and number, the only names a reader of the file
/// has.

#include "runtime/Core/Artifact.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Shapes.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

using namespace tprt;

/// Whether numbers count from `first` on, as their tables of names assume.
template <size_t count>
static constexpr bool countsFrom(uint32_t first,
                                 const uint32_t (&numbers)[count]) {
  for (size_t i = 0; i < count; ++i)
    if (numbers[i] != first + i)
      return false;
  return true;
}

#define TPRT_DTYPE(enumerator, number, bytes, mlir, safetensors, c) number,
static_assert(countsFrom(0, {
#include "runtime/Core/ArtifactEnums.def"
                            }));
#define TPRT_POST_OP(enumerator, number) number,
static_assert(countsFrom(0, {
#include "runtime/Core/ArtifactEnums.def"
                            }));
#define TPRT_COLLECTIVE(enumerator, number, name) number,
static_assert(countsFrom(0, {
#include "runtime/Core/ArtifactEnums.def"
                            }));
#define TPRT_SCATTER(enumerator, number) number,
static_assert(countsFrom(0, {
#include "runtime/Core/ArtifactEnums.def"
                            }));
#define TPRT_STEP(enumerator, number) number,
static_assert(countsFrom(0, {
#include "runtime/Core/ArtifactEnums.def"
                            }));
#define TPRT_ROWS(section, number, Row) number,
static_assert(countsFrom(1, {
#include "runtime/Core/ArtifactEnums.def"
                            }));

namespace {

enum class Access { Read, Write };

class Verifier {
public:
  explicit Verifier(const Artifact &artifact) : artifact(artifact) {}

  absl::Status verify() {
    TPRT_RETURN_IF_ERROR(verifyMesh());
    TPRT_RETURN_IF_ERROR(verifyTensors());
    for (const KernelRow &kernel : artifact.rows<KernelRow>())
      TPRT_RETURN_IF_ERROR(verifyText(kernel.symbol));
    TPRT_RETURN_IF_ERROR(verifyGpuCode());
    for (const EntryRow &row : artifact.rows<EntryRow>()) {
      entry = &row;
      TPRT_RETURN_IF_ERROR(verifyEntry());
    }
    return absl::OkStatus();
  }

private:
  template <typename... Pieces>
  absl::Status fail(const Pieces &...pieces) const {
    return makeError(ErrorCode::ArtifactCorrupt, pieces...,
                     "; compile the program again");
  }

  template <typename Row> bool isInside(Range range) const {
    return uint64_t{range.first} + range.count <= artifact.rows<Row>().size();
  }

  absl::Status verifyText(TextRef ref) const {
    if (uint64_t{ref.offset} + ref.size >
        artifact.bytes(SectionKind::Text).size())
      return fail("a name lies outside the text section");
    return absl::OkStatus();
  }

  static bool isDType(DType type) {
    return static_cast<uint32_t>(type) < kNumDTypes;
  }

  absl::Status verifyMesh() const;
  absl::Status verifyAxes(Range axes) const;
  absl::Status verifyDims(Range dims, DType dtype) const;
  absl::Status verifySources(const InputRow &input) const;
  absl::optional<size_t> getPartDim(const OutputRow &output) const;
  absl::Status verifyPart(const OutputRow &output) const;
  absl::Status verifyParts(absl::Span<const OutputRow> outputs) const;
  absl::Status verifySource(const SourceRow &source,
                            absl::Span<const int64_t> shape) const;
  absl::Status verifyTensors() const;
  absl::Status verifyEntry();
  absl::Status verifySteps(uint64_t first, uint64_t count, unsigned depth);
  absl::Status verifyStep(const StepRow &step);
  absl::Status verifyBuffer(const BufferRow &buffer, uint64_t elementSize,
                            Access access) const;
  absl::Status verifyView(const BufferRow &buffer, DType dtype, Access access,
                          absl::Span<const int64_t> sizes,
                          absl::Span<const int64_t> strides) const;
  absl::Status verifyGpuCode() const;
  absl::Status verifyKernelCall(const KernelCallRow &call) const;
  absl::Status verifyMatmul(const MatmulRow &matmul) const;
  absl::Status verifyScatter(const ScatterRow &scatter) const;
  absl::Status verifySort(const SortRow &sort) const;
  absl::Status verifyCollective(const CollectiveRow &collective) const;
  bool overlap(const BufferRow &a, const BufferRow &b) const;

  const Artifact &artifact;
  const EntryRow *entry = nullptr;
  /// The trips of the loops around the current step, by counter.
  absl::flat_hash_map<uint32_t, int64_t> activeLoops;
};

} // namespace

absl::Status Verifier::verifyMesh() const {
  int64_t devices = 1;
  for (const MeshAxis &axis : artifact.rows<MeshAxis>()) {
    TPRT_RETURN_IF_ERROR(verifyText(axis.name));
    if (axis.size < 1 || axis.size > kMaxDevices / devices)
      return fail("a mesh axis has size ", axis.size, "; a mesh has at most ",
                  kMaxDevices, " devices");
    devices *= axis.size;
  }
  absl::Span<const DeviceRow> order = artifact.rows<DeviceRow>();
  if (!order.empty() && static_cast<int64_t>(order.size()) != devices)
    return fail("a mesh of ", devices, " devices has ", order.size(),
                " places");
  std::vector<bool> placed(order.size());
  for (const DeviceRow &device : order) {
    if (device.rank >= placed.size() || placed[device.rank])
      return fail("rank ", device.rank, " has two places, or is none");
    placed[device.rank] = true;
  }
  for (const AxisRefRow &ref : artifact.rows<AxisRefRow>()) {
    if (ref.axis >= artifact.rows<MeshAxis>().size())
      return fail("an axis reference names axis ", ref.axis);
    absl::optional<int64_t> end = checkedMultiply(ref.pre, ref.size);
    if (ref.pre < 1 || ref.size < 1 || !end ||
        artifact.rows<MeshAxis>()[ref.axis].size % *end != 0)
      return fail("sub-axis (", ref.pre, ")", ref.size,
                  " does not cut its axis evenly");
  }
  for (const CommunicatorRow &communicator : artifact.rows<CommunicatorRow>())
    TPRT_RETURN_IF_ERROR(verifyAxes(communicator.axes));
  return absl::OkStatus();
}

absl::Status Verifier::verifyAxes(Range axes) const {
  if (!isInside<AxisRefRow>(axes))
    return fail("a list of axes lies outside its table");
  absl::Span<const AxisRefRow> refs = artifact.rows<AxisRefRow>(axes);
  if (refs.size() > 64)
    return fail("a list of ", refs.size(), " axes");
  for (size_t i = 0; i < refs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (refs[i].axis == refs[j].axis &&
          refs[i].pre < refs[j].pre * refs[j].size &&
          refs[j].pre < refs[i].pre * refs[i].size)
        return fail("a list of axes has a digit twice");
  return absl::OkStatus();
}

absl::Status Verifier::verifyDims(Range dims, DType dtype) const {
  if (!isDType(dtype))
    return fail("element type ", static_cast<uint32_t>(dtype), " is unknown");
  if (!isInside<DimRow>(dims))
    return fail("a shape lies outside its table");
  std::vector<int64_t> global = artifact.getGlobalShape(dims);
  std::vector<int64_t> local = artifact.getLocalShape(dims);
  global.push_back(getSize(dtype));
  local.push_back(getSize(dtype));
  if (!getNumElements(global) || !getNumElements(local))
    return fail("a shape has a negative size or more elements than memory");
  for (const DimRow &dim : artifact.rows<DimRow>(dims)) {
    TPRT_RETURN_IF_ERROR(verifyAxes(dim.axes));
    int64_t devices = artifact.getGroupSize(dim.axes);
    int64_t block = dim.global / devices + (dim.global % devices != 0);
    if (dim.local != block)
      return fail("a dimension of ", dim.global, " over ", devices,
                  " devices has blocks of ", dim.local);
  }
  return absl::OkStatus();
}

absl::Status Verifier::verifySources(const InputRow &input) const {
  if (!isInside<SourceRow>(input.sources))
    return fail("an input's sources lie outside their table");
  std::vector<int64_t> shape = artifact.getGlobalShape(input.dims);
  absl::Span<const SourceRow> parts = artifact.rows<SourceRow>(input.sources);
  if (parts.empty())
    return absl::OkStatus();
  if (parts.size() == 1)
    return verifySource(parts.front(), shape);
  if (input.joined >= shape.size())
    return fail("an input is joined along dimension ", input.joined, " of ",
                shape.size());
  int64_t &extent = shape[input.joined], left = extent;
  for (const SourceRow &part : parts) {
    if (part.extent < 1 || part.extent > left)
      return fail("the parts of an input are larger than it");
    extent = part.extent;
    left -= extent;
    TPRT_RETURN_IF_ERROR(verifySource(part, shape));
  }
  if (left > 0)
    return fail("the parts of an input do not cover it");
  return absl::OkStatus();
}

absl::Status Verifier::verifySource(const SourceRow &source,
                                    absl::Span<const int64_t> shape) const {
  TPRT_RETURN_IF_ERROR(verifyText(source.tensor));
  for (Range list : {source.stored, source.view, source.start, source.size,
                     source.step, source.permutation})
    if (!isInside<int64_t>(list) || list.count > 64)
      return fail("a source's list lies outside its table");
  absl::Span<const int64_t> view = artifact.integers(source.view);
  absl::optional<int64_t> elements =
      getNumElements(artifact.integers(source.stored));
  if (!elements || elements != getNumElements(view) ||
      source.start.count != view.size() || source.size.count != view.size() ||
      source.step.count != view.size() ||
      source.permutation.count != view.size())
    return fail("the lists of a source do not fit each other");
  absl::Span<const int64_t> size = artifact.integers(source.size);
  std::vector<int64_t> permuted;
  uint64_t seen = 0;
  for (size_t i = 0; i < view.size(); ++i) {
    int64_t start = artifact.integers(source.start)[i];
    int64_t step = artifact.integers(source.step)[i];
    absl::optional<int64_t> last = checkedMultiply(size[i] - 1, step);
    if (last)
      last = checkedAdd(*last, start);
    if (size[i] < 1 || step < 1 || start < 0 || !last || *last >= view[i])
      return fail("a source's slice leaves its tensor");
    int64_t from = artifact.integers(source.permutation)[i];
    if (from < 0 || from >= static_cast<int64_t>(view.size()) ||
        seen >> from & 1)
      return fail("a source's permutation is none");
    seen |= uint64_t{1} << from;
    permuted.push_back(size[from]);
  }
  if (!factorReshape(permuted, shape))
    return fail("a source does not reshape to its input by merging and "
                "splitting dimensions");
  return absl::OkStatus();
}

/// The dimension along which an output is a slice of its tensor; none if it is
/// one along several dimensions, or all of it.
absl::optional<size_t> Verifier::getPartDim(const OutputRow &output) const {
  const SourceRow &part = artifact.rows<SourceRow>(output.part)[0];
  absl::Span<const int64_t> stored = artifact.integers(part.stored);
  std::vector<int64_t> shape = artifact.getGlobalShape(output.dims);
  absl::optional<size_t> found;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == stored[dim])
      continue;
    if (found)
      return absl::nullopt;
    found = dim;
  }
  return found;
}

absl::Status Verifier::verifyPart(const OutputRow &output) const {
  if (!isInside<SourceRow>(output.part) || output.part.count > 1)
    return fail("the part that an output is lies outside its table");
  if (output.part.count == 0)
    return absl::OkStatus();
  const SourceRow &part = artifact.rows<SourceRow>(output.part)[0];
  std::vector<int64_t> shape = artifact.getGlobalShape(output.dims);
  TPRT_RETURN_IF_ERROR(verifySource(part, shape));
  absl::Span<const int64_t> steps = artifact.integers(part.step);
  if (artifact.integers(part.view) != artifact.integers(part.stored) ||
      artifact.integers(part.size) != absl::MakeConstSpan(shape) ||
      absl::c_count(steps, 1) != static_cast<int64_t>(steps.size()) ||
      !getPartDim(output))
    return fail("output '", artifact.text(output.name),
                "' is not some elements of one dimension of its tensor");
  return absl::OkStatus();
}

/// Whether the parts of each tensor follow each other and are all of it.
absl::Status Verifier::verifyParts(absl::Span<const OutputRow> outputs) const {
  absl::flat_hash_set<absl::string_view> tensors;
  for (const OutputRow &output : outputs)
    if (output.part.count == 0)
      tensors.insert(artifact.text(output.name));
  for (size_t i = 0; i < outputs.size();) {
    if (outputs[i].part.count == 0) {
      ++i;
      continue;
    }
    const SourceRow &first = artifact.rows<SourceRow>(outputs[i].part)[0];
    absl::string_view name = artifact.text(first.tensor);
    absl::optional<size_t> dim = getPartDim(outputs[i]);
    int64_t end = 0, size = artifact.integers(first.stored)[*dim];
    DType dtype = outputs[i].dtype;
    for (; i < outputs.size() && end < size; ++i) {
      if (outputs[i].part.count == 0 || outputs[i].dtype != dtype)
        return fail("a part of '", name, "' is missing");
      const SourceRow &part = artifact.rows<SourceRow>(outputs[i].part)[0];
      if (artifact.text(part.tensor) != name ||
          artifact.integers(part.stored) != artifact.integers(first.stored) ||
          getPartDim(outputs[i]) != dim ||
          artifact.integers(part.start)[*dim] != end)
        return fail("the parts of '", name, "' do not follow each other");
      end += artifact.integers(part.size)[*dim];
    }
    if (end != size || !tensors.insert(name).second)
      return fail("the parts of '", name, "' are not all of it, or not once");
  }
  return absl::OkStatus();
}

absl::Status Verifier::verifyTensors() const {
  absl::flat_hash_set<absl::string_view> names;
  for (const InputRow &input : artifact.rows<InputRow>()) {
    TPRT_RETURN_IF_ERROR(verifyText(input.name));
    if (!names.insert(artifact.text(input.name)).second)
      return fail("two inputs are called '", artifact.text(input.name), "'");
    if (static_cast<uint32_t>(input.role) >= kNumRoles)
      return fail("an input has an unknown role");
    TPRT_RETURN_IF_ERROR(verifyDims(input.dims, input.dtype));
    TPRT_RETURN_IF_ERROR(verifySources(input));
  }
  for (const OutputRow &output : artifact.rows<OutputRow>()) {
    TPRT_RETURN_IF_ERROR(verifyText(output.name));
    TPRT_RETURN_IF_ERROR(verifyDims(output.dims, output.dtype));
    TPRT_RETURN_IF_ERROR(verifyPart(output));
    if (output.alias == kNone)
      continue;
    if (output.alias >= artifact.rows<InputRow>().size() ||
        artifact.getLocalBytes(artifact.rows<InputRow>()[output.alias]) !=
            artifact.getLocalBytes(output))
      return fail("output '", artifact.text(output.name),
                  "' does not fit the input it overwrites");
  }
  return absl::OkStatus();
}

absl::Status Verifier::verifyEntry() {
  TPRT_RETURN_IF_ERROR(verifyText(entry->name));
  if (!isInside<int64_t>(entry->inputs) ||
      !isInside<OutputRow>(entry->outputs) || !isInside<StepRow>(entry->steps))
    return fail("an entry's lists lie outside their tables");
  if (entry->arenaSize > INT64_MAX || entry->positions < 0)
    return fail("an entry has an arena of ", entry->arenaSize, " bytes");
  if (entry->counters > artifact.rows<ControlRow>().size())
    return fail("an entry has ", entry->counters, " counters, but only ",
                artifact.rows<ControlRow>().size(), " loops there are");
  absl::Span<const int64_t> inputs = artifact.integers(entry->inputs);
  for (int64_t input : inputs)
    if (input < 0 ||
        static_cast<uint64_t>(input) >= artifact.rows<InputRow>().size())
      return fail("an entry has no such input: ", input);
  TPRT_RETURN_IF_ERROR(verifyParts(artifact.rows<OutputRow>(entry->outputs)));
  absl::flat_hash_set<uint32_t> donated;
  for (const OutputRow &output : artifact.rows<OutputRow>(entry->outputs))
    if (output.alias != kNone &&
        (!absl::c_linear_search(inputs, output.alias) ||
         !donated.insert(output.alias).second))
      return fail("an output overwrites an input that is not the entry's or "
                  "is overwritten already");
  activeLoops.clear();
  return verifySteps(entry->steps.first, entry->steps.count, 0);
}

/// Checks steps [first, first + count), with what they govern.
absl::Status Verifier::verifySteps(uint64_t first, uint64_t count,
                                   unsigned depth) {
  if (depth > kMaxNesting)
    return fail("loops nest deeper than ", kMaxNesting);
  absl::flat_hash_set<uint32_t> running;
  uint64_t end = first + count;
  for (uint64_t i = first; i < end; ++i) {
    const StepRow &step = artifact.rows<StepRow>()[i];
    TPRT_RETURN_IF_ERROR(
        addContext(verifyStep(step), absl::StrCat("step ", i)));
    if (step.kind == StepKind::CollectiveStart &&
        !running.insert(step.row).second)
      return fail("step ", i, " starts a collective that is under way");
    if (step.kind == StepKind::CollectiveDone && running.erase(step.row) == 0)
      return fail("step ", i, " finishes a collective that was not started");
    if (step.kind != StepKind::Control)
      continue;

    const ControlRow &control = artifact.rows<ControlRow>()[step.row];
    uint64_t nested = uint64_t{control.first} + control.second;
    if (nested > end - i - 1)
      return fail("step ", i, " governs steps beyond its region");
    bool loops = control.kind != ControlKind::If;
    if (loops) {
      if (control.counter >= entry->counters || control.trips < 0 ||
          control.trips > INT32_MAX ||
          !activeLoops.try_emplace(control.counter, control.trips).second)
        return fail("step ", i, " is a loop with a bad counter or bound");
    }
    TPRT_RETURN_IF_ERROR(verifySteps(i + 1, control.first, depth + 1));
    TPRT_RETURN_IF_ERROR(
        verifySteps(i + 1 + control.first, control.second, depth + 1));
    if (loops)
      activeLoops.erase(control.counter);
    i += nested;
  }
  if (!running.empty())
    return fail("a collective is started but not finished");
  return absl::OkStatus();
}

absl::Status Verifier::verifyStep(const StepRow &step) {
  TPRT_RETURN_IF_ERROR(verifyText(step.name));
  auto has = [&](size_t rows) {
    return step.row < rows ? absl::OkStatus()
                           : fail("row ", step.row, " of ", rows);
  };
  switch (step.kind) {
  case StepKind::Kernel:
    TPRT_RETURN_IF_ERROR(has(artifact.rows<KernelCallRow>().size()));
    return verifyKernelCall(artifact.rows<KernelCallRow>()[step.row]);
  case StepKind::Matmul:
    TPRT_RETURN_IF_ERROR(has(artifact.rows<MatmulRow>().size()));
    return verifyMatmul(artifact.rows<MatmulRow>()[step.row]);
  case StepKind::CollectiveStart:
  case StepKind::CollectiveDone:
    TPRT_RETURN_IF_ERROR(has(artifact.rows<CollectiveRow>().size()));
    return verifyCollective(artifact.rows<CollectiveRow>()[step.row]);
  case StepKind::Copy: {
    TPRT_RETURN_IF_ERROR(has(artifact.rows<CopyRow>().size()));
    const CopyRow &copy = artifact.rows<CopyRow>()[step.row];
    if (copy.rank > kMaxDims)
      return fail("a copy of ", copy.rank, " dimensions");
    absl::Span<const int64_t> sizes(copy.sizes, copy.rank);
    TPRT_RETURN_IF_ERROR(verifyView(copy.source, copy.dtype, Access::Read,
                                    sizes, {copy.from.strides, copy.rank}));
    return verifyView(copy.destination, copy.dtype, Access::Write, sizes,
                      {copy.to.strides, copy.rank});
  }
  case StepKind::Fill: {
    TPRT_RETURN_IF_ERROR(has(artifact.rows<FillRow>().size()));
    const FillRow &fill = artifact.rows<FillRow>()[step.row];
    if (fill.rank > kMaxDims)
      return fail("a fill of ", fill.rank, " dimensions");
    return verifyView(fill.destination, fill.dtype, Access::Write,
                      {fill.sizes, fill.rank}, {fill.to.strides, fill.rank});
  }
  case StepKind::Control: {
    TPRT_RETURN_IF_ERROR(has(artifact.rows<ControlRow>().size()));
    const ControlRow &control = artifact.rows<ControlRow>()[step.row];
    if (control.kind > ControlKind::If)
      return fail("an unknown control step");
    if (control.kind == ControlKind::Loop)
      return control.second == 0 ? absl::OkStatus()
                                 : fail("a loop with two bodies");
    return verifyView(control.predicate, DType::Bool, Access::Read, {}, {});
  }
  case StepKind::Scatter:
    TPRT_RETURN_IF_ERROR(has(artifact.rows<ScatterRow>().size()));
    return verifyScatter(artifact.rows<ScatterRow>()[step.row]);
  case StepKind::Sort:
    TPRT_RETURN_IF_ERROR(has(artifact.rows<SortRow>().size()));
    return verifySort(artifact.rows<SortRow>()[step.row]);
  }
  return fail("kind ", static_cast<uint32_t>(step.kind), " is unknown");
}

/// The buffer stays inside its storage on every trip of the loop around it,
/// elements are aligned, and only what may be written is.
absl::Status Verifier::verifyBuffer(const BufferRow &buffer,
                                    uint64_t elementSize, Access access) const {
  if (buffer.space > Space::Constant)
    return fail("a buffer in an unknown space");
  int64_t storage = 0;
  bool writable = true;
  switch (buffer.space) {
  case Space::Arena:
    storage = static_cast<int64_t>(entry->arenaSize);
    break;
  case Space::Input: {
    if (!absl::c_linear_search(artifact.integers(entry->inputs), buffer.index))
      return fail("input ", buffer.index, " is not the entry's");
    storage = artifact.getLocalBytes(artifact.rows<InputRow>()[buffer.index]);
    writable = false;
    for (const OutputRow &output : artifact.rows<OutputRow>(entry->outputs))
      writable |= output.alias == buffer.index;
    break;
  }
  case Space::Output:
    if (buffer.index < entry->outputs.first ||
        buffer.index - entry->outputs.first >= entry->outputs.count ||
        artifact.rows<OutputRow>()[buffer.index].alias != kNone)
      return fail("output ", buffer.index, " is not the entry's own storage");
    storage = artifact.getLocalBytes(artifact.rows<OutputRow>()[buffer.index]);
    break;
  case Space::Constant:
    storage =
        static_cast<int64_t>(artifact.bytes(SectionKind::Constants).size());
    writable = false;
    break;
  }
  if (access == Access::Write && !writable)
    return fail("a write to a buffer that is only read");

  if (buffer.offset > INT64_MAX || buffer.size > INT64_MAX)
    return fail("a buffer leaves its storage of ", storage, " bytes");
  auto offset = static_cast<int64_t>(buffer.offset);
  absl::optional<int64_t> distance = 0; // there and back
  if (buffer.counter != kNone) {
    auto loop = activeLoops.find(buffer.counter);
    if (loop == activeLoops.end())
      return fail("a buffer moves with a loop that is not around it");
    int64_t step = buffer.step == INT64_MIN ? INT64_MAX : std::abs(buffer.step);
    distance = checkedMultiply(std::max<int64_t>(loop->second - 1, 0), step);
  }
  bool isForward = buffer.step >= 0;
  absl::optional<int64_t> end =
      checkedAdd(offset, static_cast<int64_t>(buffer.size));
  if (end && distance && isForward)
    end = checkedAdd(*end, *distance);
  if (!end || *end > storage || !distance || (!isForward && *distance > offset))
    return fail("a buffer leaves its storage of ", storage, " bytes");
  if (buffer.offset % elementSize != 0 || buffer.step % elementSize != 0)
    return fail("a buffer is not aligned to its elements");
  return absl::OkStatus();
}

absl::Status Verifier::verifyView(const BufferRow &buffer, DType dtype,
                                  Access access,
                                  absl::Span<const int64_t> sizes,
                                  absl::Span<const int64_t> strides) const {
  if (!isDType(dtype))
    return fail("element type ", static_cast<uint32_t>(dtype), " is unknown");
  TPRT_RETURN_IF_ERROR(verifyBuffer(buffer, getSize(dtype), access));
  absl::optional<int64_t> bytes = getExtent(sizes, strides);
  if (bytes)
    bytes = checkedMultiply(*bytes, getSize(dtype));
  if (!bytes || static_cast<uint64_t>(*bytes) > buffer.size)
    return fail("strides leave a buffer of ", buffer.size, " bytes");
  // This also bounds the elements: there is memory for each.
  if (access == Access::Write && !isWithoutOverlap(sizes, strides))
    return fail("a step writes elements that share memory");
  return absl::OkStatus();
}

absl::Status Verifier::verifyGpuCode() const {
  absl::Span<const LaunchRow> launches = artifact.rows<LaunchRow>();
  size_t kernels = artifact.rows<KernelRow>().size();
  size_t images = artifact.rows<GpuImageRow>().size();
  if (artifact.getTarget() == kCudaTarget &&
      launches.size() != images * kernels)
    return fail(kernels, " kernels of ", images, " images have ",
                launches.size(), " launches");
  for (const LaunchRow &launch : launches)
    if (launch.blocks < 1 || launch.blocks > INT32_MAX || launch.threads < 1 ||
        launch.threads > kMaxGpuThreads)
      return fail("a launch of ", launch.blocks, " blocks of ", launch.threads,
                  " threads");
  uint64_t size = artifact.bytes(SectionKind::GpuCode).size();
  for (const GpuImageRow &image : artifact.rows<GpuImageRow>()) {
    TPRT_RETURN_IF_ERROR(verifyText(image.name));
    if (image.kind > GpuImageKind::Cubin || image.offset > size ||
        image.size > size - image.offset)
      return fail("code for a GPU lies outside its section");
  }
  for (const CombineRow &combine : artifact.rows<CombineRow>())
    if (combine.kernel >= kernels || !isDType(combine.dtype) ||
        combine.reduction < Reduction::Sum ||
        combine.reduction > Reduction::Min || combine.groupSize < 1)
      return fail("kernel ", combine.kernel, " combines nothing there is");
  for (const RandomRow &random : artifact.rows<RandomRow>())
    if (random.kernel >= kernels || !isDType(random.dtype))
      return fail("kernel ", random.kernel, " fills nothing there is");
  return absl::OkStatus();
}

absl::Status Verifier::verifyKernelCall(const KernelCallRow &call) const {
  if (call.kernel >= artifact.rows<KernelRow>().size() ||
      !isInside<BufferRow>(call.buffers) || !isInside<ScalarRow>(call.scalars))
    return fail("a kernel call refers outside its tables");
  if (call.rowBegin < 0 || call.rowEnd < call.rowBegin)
    return fail("a kernel call with rows ", call.rowBegin, " to ", call.rowEnd);
  absl::Span<const BufferRow> buffers = artifact.rows<BufferRow>(call.buffers);
  for (size_t i = 0; i < buffers.size(); ++i)
    TPRT_RETURN_IF_ERROR(verifyBuffer(
        buffers[i], 1, i < call.firstWritten ? Access::Read : Access::Write));
  for (const ScalarRow &scalar : artifact.rows<ScalarRow>(call.scalars)) {
    bool known = scalar.kind == ScalarKind::Constant ||
                 (scalar.kind == ScalarKind::Coordinate &&
                  scalar.index < artifact.rows<AxisRefRow>().size()) ||
                 (scalar.kind == ScalarKind::Counter &&
                  activeLoops.contains(scalar.index));
    if (!known)
      return fail("a kernel's scalar refers to nothing");
  }
  return absl::OkStatus();
}

absl::Status Verifier::verifyMatmul(const MatmulRow &matmul) const {
  auto verifyOperand = [&](const MatmulOperand &operand, int64_t rows,
                           int64_t columns, Access access) {
    int64_t sizes[kMaxBatch + 2];
    std::copy_n(matmul.batch, kMaxBatch, sizes);
    sizes[kMaxBatch] = rows;
    sizes[kMaxBatch + 1] = columns;
    return verifyView(operand.buffer, operand.dtype, access, sizes,
                      operand.strides);
  };
  // No matrix library takes a matrix whose rows or columns share elements.
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
      return fail("a matmul with a dimension of ", size);
  // A may be brought into another order as a whole, in f32.
  int64_t packed[] = {matmul.batch[0], matmul.batch[1], matmul.batch[2],
                      matmul.m,        matmul.k,        getSize(DType::F32)};
  if (!getNumElements(packed))
    return fail("a matmul with too many batches");
  bool isCuda = artifact.getTarget() == kCudaTarget;
  auto isResult = [&](DType type) {
    return type == DType::F32 || type == DType::BF16 ||
           (type == DType::F16 && isCuda);
  };
  bool isFloat8 = a.dtype == DType::F8E4M3FN && isCuda;
  if (a.dtype != b.dtype || (!isFloat8 && !isResult(a.dtype)) ||
      !isResult(c.dtype) ||
      (!isFloat8 && c.dtype != DType::F32 && c.dtype != a.dtype))
    return fail("a matmul of types that the target does not multiply");
  if (!isMatrix(a, matmul.m, matmul.k) || !isMatrix(b, matmul.k, matmul.n) ||
      c.strides[kMaxBatch + 1] != 1)
    return fail("a matmul of strides that are no matrix's");
  TPRT_RETURN_IF_ERROR(verifyOperand(a, matmul.m, matmul.k, Access::Read));
  TPRT_RETURN_IF_ERROR(verifyOperand(b, matmul.k, matmul.n, Access::Read));
  TPRT_RETURN_IF_ERROR(verifyOperand(c, matmul.m, matmul.n, Access::Write));
  bool isConstant =
      b.buffer.space == Space::Constant ||
      (b.buffer.space == Space::Input &&
       artifact.rows<InputRow>()[b.buffer.index].role == Role::Parameter);
  if (matmul.constantB && !isConstant)
    return fail("a matmul whose constant operand is none");
  if (!isInside<PostOpRow>(matmul.postOps) || matmul.postOps.count > 16)
    return fail("a matmul's post-ops lie outside their table");
  absl::Span<const PostOpRow> postOps =
      artifact.rows<PostOpRow>(matmul.postOps);
  for (size_t i = 0; i < postOps.size(); ++i) {
    if (static_cast<uint32_t>(postOps[i].kind) >= kNumPostOps ||
        (postOps[i].kind == PostOpKind::Accumulate && i != 0))
      return fail("a matmul has an unknown or misplaced post-op");
    if (postOps[i].kind > PostOpKind::Multiply)
      continue;
    const MatmulOperand &operand = postOps[i].operand;
    if (!isResult(operand.dtype))
      return fail("a post-op's operand is of a type that no matmul gives");
    TPRT_RETURN_IF_ERROR(
        verifyOperand(operand, matmul.m, matmul.n, Access::Read));
  }
  return absl::OkStatus();
}

absl::Status Verifier::verifyScatter(const ScatterRow &row) const {
  if (static_cast<uint32_t>(row.kind) >= kNumScatterKinds)
    return fail("a scatter of an unknown kind");
  bool isNarrow = isDType(row.dtype) && isFloat(row.dtype) &&
                  getSize(row.dtype) < getSize(DType::F32);
  if (isNarrow && row.kind != ScatterKind::Set)
    return fail("a scatter that computes in ", getName(row.dtype));
  if (!getNumElements({row.batch, row.outer, row.count, row.inner}))
    return fail("a scatter of too many updates");
  TPRT_RETURN_IF_ERROR(verifyView(row.updates, row.dtype, Access::Read,
                                  {row.batch, row.outer, row.count, row.inner},
                                  row.updateStrides));
  TPRT_RETURN_IF_ERROR(verifyView(row.indices, DType::I64, Access::Read,
                                  {row.batch, row.count}, row.indexStrides));
  TPRT_RETURN_IF_ERROR(verifyView(row.destination, row.dtype, Access::Write,
                                  {row.batch, row.outer, row.axis, row.inner},
                                  row.strides));
  if (overlap(row.updates, row.destination) ||
      overlap(row.indices, row.destination))
    return fail("a scatter reads what it writes");
  return absl::OkStatus();
}

absl::Status Verifier::verifySort(const SortRow &row) const {
  if (!getNumElements({row.rows, row.columns}) || row.columns > INT32_MAX ||
      row.kept > row.columns)
    return fail("a sort of ", row.columns, " columns that keeps ", row.kept);
  if (isDType(row.dtype) && row.dtype >= DType::F8E4M3FN)
    return fail("a sort of 8-bit floats");
  TPRT_RETURN_IF_ERROR(verifyView(row.source, row.dtype, Access::Read,
                                  {row.rows, row.columns}, row.sourceStrides));
  TPRT_RETURN_IF_ERROR(verifyView(row.values, row.dtype, Access::Write,
                                  {row.rows, row.kept}, row.valueStrides));
  TPRT_RETURN_IF_ERROR(verifyView(row.indices, DType::I32, Access::Write,
                                  {row.rows, row.kept}, row.indexStrides));
  if (overlap(row.source, row.values) || overlap(row.source, row.indices) ||
      overlap(row.values, row.indices))
    return fail("a sort's buffers overlap");
  return absl::OkStatus();
}

/// Whether two buffers of the current entry may share bytes.
bool Verifier::overlap(const BufferRow &a, const BufferRow &b) const {
  if (a.space != b.space || a.index != b.index)
    return false;
  // Buffers that move are taken as all they sweep over.
  auto getRange = [&](const BufferRow &buffer) {
    int64_t trips =
        buffer.counter == kNone ? 1 : activeLoops.at(buffer.counter);
    int64_t moved = buffer.step * std::max<int64_t>(trips - 1, 0);
    auto begin = static_cast<int64_t>(buffer.offset);
    return std::make_pair(begin + std::min<int64_t>(moved, 0),
                          begin + static_cast<int64_t>(buffer.size) +
                              std::max<int64_t>(moved, 0));
  };
  auto [beginA, endA] = getRange(a);
  auto [beginB, endB] = getRange(b);
  return beginA < endB && beginB < endA;
}

absl::Status Verifier::verifyCollective(const CollectiveRow &row) const {
  if (static_cast<uint32_t>(row.kind) >= kNumCollectives ||
      row.communicator >= artifact.rows<CommunicatorRow>().size())
    return fail("a collective of an unknown kind or communicator");
  int64_t group = artifact.getGroupSize(
      artifact.rows<CommunicatorRow>()[row.communicator].axes);
  bool reduces = row.kind == CollectiveKind::AllReduce ||
                 row.kind == CollectiveKind::ReduceScatter;
  if (reduces != (row.reduction != Reduction::None) ||
      row.reduction > Reduction::Min)
    return fail("a collective with the wrong reduction");
  if (reduces && isDType(row.dtype) && row.dtype >= DType::F8E4M3FN)
    return fail("a sum of 8-bit floats");
  bool manyIn = row.kind == CollectiveKind::ReduceScatter ||
                row.kind == CollectiveKind::AllToAll;
  bool manyOut = row.kind == CollectiveKind::AllGather ||
                 row.kind == CollectiveKind::AllToAll;
  TPRT_RETURN_IF_ERROR(verifyView(row.source, row.dtype, Access::Read,
                                  {manyIn ? group : 1, row.count},
                                  {row.count, 1}));
  TPRT_RETURN_IF_ERROR(verifyView(row.destination, row.dtype, Access::Write,
                                  {manyOut ? group : 1, row.count},
                                  {row.count, 1}));
  bool inPlace =
      row.kind == CollectiveKind::AllReduce &&
      std::memcmp(&row.source, &row.destination, sizeof(BufferRow)) == 0;
  if (!inPlace && row.count > 0 && overlap(row.source, row.destination))
    return fail("a collective's source and destination overlap");

  bool permutes = row.kind == CollectiveKind::CollectivePermute;
  if (!isInside<int64_t>(row.permutation) ||
      row.permutation.count != (permutes ? group : 0))
    return fail("a permutation of ", row.permutation.count, " for ", group,
                " positions");
  for (int64_t from : artifact.integers(row.permutation))
    if (from < -1 || from >= group)
      return fail("a permutation names position ", from, " of ", group);
  return absl::OkStatus();
}

absl::Status Artifact::verify() const { return Verifier(*this).verify(); }
