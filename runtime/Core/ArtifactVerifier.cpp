// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Checks once, at load, what Artifact promises about its rows: meshes,
/// tensors and entries here, and steps in StepVerifier.h. InFlight.h checks
/// that steps do not touch the memory of collectives under way.

#include "runtime/Core/InFlight.h"
#include "runtime/Core/RowVerifier.h"
#include "runtime/Core/Shapes.h"
#include "runtime/Core/StepVerifier.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"

using namespace tprt;

/// Returns true if the numbers are consecutive from `first` on. The tables that
/// map them to names rely on this.
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
#define TPRT_STEP(enumerator, number, Row) number,
static_assert(countsFrom(0, {
#include "runtime/Core/ArtifactEnums.def"
                            }));
#define TPRT_ROWS(section, number, Row) number,
static_assert(countsFrom(1, {
#include "runtime/Core/ArtifactEnums.def"
                            }));

namespace {

class Verifier : RowVerifier {
public:
  explicit Verifier(const Artifact &artifact) : RowVerifier(artifact) {}

  absl::Status verify() {
    TPRT_RETURN_IF_ERROR(verifyMesh());
    TPRT_RETURN_IF_ERROR(verifyTensors());
    TPRT_RETURN_IF_ERROR(verifyBundles());
    for (const KernelRow &kernel : artifact.rows<KernelRow>())
      TPRT_RETURN_IF_ERROR(verifyText(kernel.symbol));
    TPRT_RETURN_IF_ERROR(verifyGpuCode());
    for (const EntryRow &entry : artifact.rows<EntryRow>())
      TPRT_RETURN_IF_ERROR(verifyEntry(entry));
    return absl::OkStatus();
  }

private:
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
  absl::Status verifyBundles() const;
  absl::Status verifyEntry(const EntryRow &entry) const;
  absl::Status verifyGpuCode() const;
};

} // namespace

absl::Status Verifier::verifyMesh() const {
  int64_t devices = 1;
  uint32_t links = 0;
  for (const MeshAxis &axis : artifact.rows<MeshAxis>()) {
    TPRT_RETURN_IF_ERROR(verifyText(axis.name));
    if (axis.link > links)
      return fail("a mesh axis has link ", axis.link,
                  ", but links are numbered in the order of axes, so it must "
                  "be at most ",
                  links);
    links = std::max(links, axis.link + 1);
    if (axis.size < 1 || axis.size > kMaxDevices / devices)
      return fail("a mesh axis has size ", axis.size,
                  ", but a mesh must have at least 1 and at most ", kMaxDevices,
                  " devices");
    devices *= axis.size;
  }
  absl::Span<const DeviceRow> order = artifact.rows<DeviceRow>();
  if (!order.empty() && static_cast<int64_t>(order.size()) != devices)
    return fail("the mesh has ", devices,
                " devices, but its device order lists ", order.size(),
                " devices");
  std::vector<bool> placed(order.size());
  for (const DeviceRow &device : order) {
    if (device.rank >= placed.size() || placed[device.rank])
      return fail(
          "rank ", device.rank,
          " is listed twice in the mesh's device order, or does not exist");
    placed[device.rank] = true;
  }
  for (const AxisRefRow &ref : artifact.rows<AxisRefRow>()) {
    if (ref.axis >= artifact.rows<MeshAxis>().size())
      return fail(
          "an axis reference names an axis that does not exist: number ",
          ref.axis);
    absl::optional<int64_t> end = checkedMultiply(ref.pre, ref.size);
    if (ref.pre < 1 || ref.size < 1 || !end ||
        artifact.rows<MeshAxis>()[ref.axis].size % *end != 0)
      return fail("sub-axis (", ref.pre, ")", ref.size,
                  " does not divide its axis evenly");
  }
  for (const CommunicatorRow &communicator : artifact.rows<CommunicatorRow>())
    TPRT_RETURN_IF_ERROR(verifyAxes(communicator.axes));
  for (const PlaceRow &place : artifact.rows<PlaceRow>()) {
    TPRT_RETURN_IF_ERROR(verifyAxes(place.axes));
    if (place.plus < 0 || place.plus >= artifact.getGroupSize(place.axes))
      return fail("the offset of a device position is ", place.plus,
                  ", but must be from 0 to ",
                  artifact.getGroupSize(place.axes) - 1);
  }
  return absl::OkStatus();
}

absl::Status Verifier::verifyAxes(Range axes) const {
  if (!isInside<AxisRefRow>(axes))
    return fail("a list of axes is not inside its table");
  absl::Span<const AxisRefRow> refs = artifact.rows<AxisRefRow>(axes);
  if (refs.size() > 64)
    return fail("a list has more than 64 axes: ", refs.size(), " axes");
  for (size_t i = 0; i < refs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (refs[i].axis == refs[j].axis &&
          refs[i].pre < refs[j].pre * refs[j].size &&
          refs[j].pre < refs[i].pre * refs[i].size)
        return fail("a list of axes contains a part of an axis twice");
  return absl::OkStatus();
}

absl::Status Verifier::verifyDims(Range dims, DType dtype) const {
  if (!isDType(dtype))
    return fail("element type ", static_cast<uint32_t>(dtype), " is unknown");
  if (!isInside<DimRow>(dims))
    return fail("a shape runs past the end of the table of shapes");
  std::vector<int64_t> global = artifact.getGlobalShape(dims);
  std::vector<int64_t> local = artifact.getLocalShape(dims);
  global.push_back(getSize(dtype));
  local.push_back(getSize(dtype));
  if (!getNumElements(global) || !getNumElements(local))
    return fail(
        "a shape has a negative size or more elements than can be addressed");
  for (const DimRow &dim : artifact.rows<DimRow>(dims)) {
    TPRT_RETURN_IF_ERROR(verifyAxes(dim.axes));
    int64_t devices = artifact.getGroupSize(dim.axes);
    int64_t block = dim.global / devices + (dim.global % devices != 0);
    if (dim.local != block)
      return fail("a dimension of size ", dim.global, ", sharded over ",
                  devices, " devices, cannot have blocks of size ", dim.local);
  }
  return absl::OkStatus();
}

absl::Status Verifier::verifySources(const InputRow &input) const {
  if (!isInside<SourceRow>(input.sources))
    return fail("the sources of an input are not inside their table");
  std::vector<int64_t> shape = artifact.getGlobalShape(input.dims);
  absl::Span<const SourceRow> parts = artifact.rows<SourceRow>(input.sources);
  if (parts.empty())
    return absl::OkStatus();
  if (parts.size() == 1)
    return verifySource(parts.front(), shape);
  if (input.joined >= shape.size())
    return fail("the parts of an input are joined along dimension number ",
                input.joined, ", but the input has rank ", shape.size());
  int64_t &extent = shape[input.joined], left = extent;
  for (const SourceRow &part : parts) {
    if (part.extent < 1 || part.extent > left)
      return fail("the parts of an input are larger than the input");
    extent = part.extent;
    left -= extent;
    TPRT_RETURN_IF_ERROR(verifySource(part, shape));
  }
  if (left > 0)
    return fail("the parts of an input do not cover the input");
  return absl::OkStatus();
}

absl::Status Verifier::verifySource(const SourceRow &source,
                                    absl::Span<const int64_t> shape) const {
  TPRT_RETURN_IF_ERROR(verifyText(source.tensor));
  for (Range list : {source.stored, source.view, source.start, source.size,
                     source.step, source.permutation})
    if (!isInside<int64_t>(list) || list.count > 64)
      return fail("a list of a source has more than 64 numbers, or is not "
                  "inside its table");
  absl::Span<const int64_t> view = artifact.integers(source.view);
  absl::optional<int64_t> elements =
      getNumElements(artifact.integers(source.stored));
  if (!elements || elements != getNumElements(view) ||
      source.start.count != view.size() || source.size.count != view.size() ||
      source.step.count != view.size() ||
      source.permutation.count != view.size())
    return fail(
        "the shapes, slice and permutation of a source are inconsistent");
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
      return fail("the slice of a source is not inside its tensor");
    int64_t from = artifact.integers(source.permutation)[i];
    if (from < 0 || from >= static_cast<int64_t>(view.size()) ||
        seen >> from & 1)
      return fail("the permutation of a source is not valid");
    seen |= uint64_t{1} << from;
    permuted.push_back(size[from]);
  }
  if (!factorReshape(permuted, shape))
    return fail("a source cannot be reshaped to its input by merging and "
                "splitting dimensions");
  return absl::OkStatus();
}

/// Returns the dimension along which an output is a slice of its tensor; none
/// if it is a slice along several dimensions, or is the whole tensor.
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
    return fail("an output has more than one source, or its source is not "
                "inside the table of sources");
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
                "' is not a slice of its tensor along one dimension");
  return absl::OkStatus();
}

/// Checks that the parts of each tensor follow each other and together form the
/// whole tensor.
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
        return fail("the parts of '", name,
                    "' are not consecutive, or do not slice one tensor along "
                    "one dimension");
      end += artifact.integers(part.size)[*dim];
    }
    if (end != size || !tensors.insert(name).second)
      return fail("the parts of '", name,
                  "' do not cover the tensor exactly once");
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
                  "' does not have the size of the input that it overwrites");
  }
  return absl::OkStatus();
}

absl::Status Verifier::verifyBundles() const {
  absl::Span<const InputRow> inputs = artifact.rows<InputRow>();
  std::vector<bool> isMember(inputs.size());
  for (const BundleRow &bundle : artifact.rows<BundleRow>()) {
    if (!isInside<int64_t>(bundle.members) || bundle.members.count < 2 ||
        bundle.rows < 1)
      return fail("a bundle has ", bundle.members.count, " members and ",
                  bundle.rows,
                  " rows, but must have at least 2 members and at least 1 row");
    absl::Span<const int64_t> members = artifact.integers(bundle.members);
    int64_t bytes = 0;
    for (int64_t member : members) {
      if (member < 0 || static_cast<uint64_t>(member) >= inputs.size() ||
          isMember[member])
        return fail("member ", member,
                    " of a bundle is not an input, or is already in a bundle");
      isMember[member] = true;
      const InputRow &input = inputs[member];
      int64_t own = artifact.getLocalBytes(input);
      if (input.role != Role::Parameter ||
          artifact.isDonated(static_cast<uint32_t>(member)) ||
          input.dtype != inputs[members[0]].dtype)
        return fail("member ", member,
                    " of a bundle must be a parameter that is not overwritten "
                    "and has the element type of the first member");
      absl::optional<int64_t> sum = checkedAdd(bytes, own);
      if (!sum || own / getSize(input.dtype) % bundle.rows != 0)
        return fail("member ", member, " of a bundle cannot be divided into ",
                    bundle.rows, " rows");
      bytes = *sum;
    }
  }
  return absl::OkStatus();
}

absl::Status Verifier::verifyEntry(const EntryRow &entry) const {
  TPRT_RETURN_IF_ERROR(verifyText(entry.name));
  if (!isInside<int64_t>(entry.inputs) || !isInside<OutputRow>(entry.outputs) ||
      !isInside<StepRow>(entry.steps))
    return fail("the lists of an entry are not inside their tables");
  if (entry.arenaSize > INT64_MAX || entry.positions < 0)
    return fail("an entry has an invalid arena of ", entry.arenaSize, " bytes");
  if (entry.counters > artifact.rows<ControlRow>().size())
    return fail("an entry has ", entry.counters,
                " counters, but the artifact has only ",
                artifact.rows<ControlRow>().size(), " loops");
  absl::Span<const int64_t> inputs = artifact.integers(entry.inputs);
  for (int64_t input : inputs)
    if (input < 0 ||
        static_cast<uint64_t>(input) >= artifact.rows<InputRow>().size())
      return fail("an entry names an input that does not exist, number ",
                  input);
  TPRT_RETURN_IF_ERROR(verifyParts(artifact.rows<OutputRow>(entry.outputs)));
  absl::flat_hash_set<uint32_t> donated;
  for (const OutputRow &output : artifact.rows<OutputRow>(entry.outputs))
    if (output.alias != kNone &&
        (!absl::c_linear_search(inputs, output.alias) ||
         !donated.insert(output.alias).second))
      return fail("an output overwrites an input that does not belong to the "
                  "entry or is already overwritten");
  TPRT_RETURN_IF_ERROR(verifySteps(artifact, entry));
  return verifyInFlight(artifact, entry);
}

absl::Status Verifier::verifyGpuCode() const {
  absl::Span<const LaunchRow> launches = artifact.rows<LaunchRow>();
  size_t kernels = artifact.rows<KernelRow>().size();
  size_t images = artifact.rows<GpuImageRow>().size();
  if (artifact.getTarget() == kCudaTarget &&
      launches.size() != images * kernels)
    return fail(kernels, " kernels in ", images,
                " images need one launch for each pair, but the artifact has ",
                launches.size(), " launches");
  for (const LaunchRow &launch : launches)
    if (launch.blocks < 1 || launch.blocks > INT32_MAX || launch.threads < 1 ||
        launch.threads > kMaxGpuThreads)
      return fail("a launch has an invalid size of ", launch.blocks,
                  " blocks of ", launch.threads, " threads");
  uint64_t size = artifact.bytes(SectionKind::GpuCode).size();
  for (const GpuImageRow &image : artifact.rows<GpuImageRow>()) {
    TPRT_RETURN_IF_ERROR(verifyText(image.name));
    if (image.kind > GpuImageKind::Cubin || image.offset > size ||
        image.size > size - image.offset)
      return fail("the code for a GPU is not inside its section");
  }
  for (const CombineRow &combine : artifact.rows<CombineRow>())
    if (combine.kernel >= kernels || !isDType(combine.dtype) ||
        combine.reduction < Reduction::Sum ||
        combine.reduction > Reduction::Min || combine.groupSize < 1)
      return fail("kernel ", combine.kernel,
                  " is used to combine values, but it does not exist or its "
                  "description is not valid");
  for (const RandomRow &random : artifact.rows<RandomRow>())
    if (random.kernel >= kernels || !isDType(random.dtype))
      return fail("kernel ", random.kernel,
                  " is used to generate random numbers, but it does not exist "
                  "or its type is not valid");
  return absl::OkStatus();
}

absl::Status Artifact::verify() const { return Verifier(*this).verify(); }
