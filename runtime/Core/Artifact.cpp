// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Artifact.h"

#include "runtime/Core/Errors.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Hash.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

#include <algorithm>

using namespace tprt;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "artifacts are little-endian and used without conversion");

uint32_t tprt::getRowSize(SectionKind kind) {
  switch (kind) {
  case SectionKind::Integers:
    return sizeof(int64_t);
  case SectionKind::MeshAxes:
    return sizeof(MeshAxis);
  case SectionKind::AxisRefs:
    return sizeof(AxisRefRow);
  case SectionKind::Communicators:
    return sizeof(CommunicatorRow);
  case SectionKind::Dims:
    return sizeof(DimRow);
  case SectionKind::Sources:
    return sizeof(SourceRow);
  case SectionKind::Inputs:
    return sizeof(InputRow);
  case SectionKind::Outputs:
    return sizeof(OutputRow);
  case SectionKind::Buffers:
    return sizeof(BufferRow);
  case SectionKind::Scalars:
    return sizeof(ScalarRow);
  case SectionKind::Kernels:
    return sizeof(KernelRow);
  case SectionKind::KernelCalls:
    return sizeof(KernelCallRow);
  case SectionKind::PostOps:
    return sizeof(PostOpRow);
  case SectionKind::Matmuls:
    return sizeof(MatmulRow);
  case SectionKind::Collectives:
    return sizeof(CollectiveRow);
  case SectionKind::Copies:
    return sizeof(CopyRow);
  case SectionKind::Fills:
    return sizeof(FillRow);
  case SectionKind::Controls:
    return sizeof(ControlRow);
  case SectionKind::Steps:
    return sizeof(StepRow);
  case SectionKind::Entries:
    return sizeof(EntryRow);
  case SectionKind::Scatters:
    return sizeof(ScatterRow);
  case SectionKind::Sorts:
    return sizeof(SortRow);
  case SectionKind::Launches:
    return sizeof(LaunchRow);
  case SectionKind::GpuImages:
    return sizeof(GpuImageRow);
  case SectionKind::Combines:
    return sizeof(CombineRow);
  case SectionKind::Randoms:
    return sizeof(RandomRow);
  case SectionKind::Devices:
    return sizeof(DeviceRow);
  case SectionKind::Places:
    return sizeof(PlaceRow);
  case SectionKind::Bundles:
    return sizeof(BundleRow);
  case SectionKind::Text:
  case SectionKind::Constants:
  case SectionKind::ObjectCode:
  case SectionKind::CpuFeatures:
  case SectionKind::LocalProgram:
  case SectionKind::GlobalProgram:
  case SectionKind::Target:
  case SectionKind::GpuCode:
    return 1;
  }
  return 0;
}

/// Returns an error unless a file that starts with these bytes is an artifact.
static absl::Status checkMagic(absl::string_view start) {
  if (start.size() >= sizeof(kMagic) &&
      std::memcmp(start.data(), kMagic, sizeof(kMagic)) == 0)
    return absl::OkStatus();
  absl::string_view what, make = "make an artifact with tp-opt";
  switch (getFileKind({start.data(), start.size()})) {
  case FileKind::Bytecode:
    what = ", but MLIR bytecode";
    make = "compile it with tp-opt FILE";
    break;
  case FileKind::Safetensors:
    what = ", but a safetensors file, which can be given by --weights=";
    break;
  case FileKind::Artifact:
  case FileKind::Text:
  case FileKind::Binary:
    break;
  }
  return makeError(ErrorCode::NotAnArtifact, "the file is not a .tpx artifact",
                   what, "; ", make, " --tp-compile --tp-artifact=FILE.tpx");
}

absl::Status Artifact::parse() {
  absl::string_view file = contents.view();
  TPRT_RETURN_IF_ERROR(checkMagic(file));
  if (file.size() < sizeof(FileHeader))
    return makeError(ErrorCode::ArtifactTruncated, "the artifact has ",
                     file.size(),
                     " bytes, fewer than an artifact's header has; copy or "
                     "compile it again");
  const auto &header = *reinterpret_cast<const FileHeader *>(file.data());
  if (header.version != kFormatVersion)
    return makeError(ErrorCode::ArtifactVersion,
                     "the artifact has format version ", header.version,
                     ", but this runtime reads version ", kFormatVersion,
                     "; compile the program again");
  uint64_t tableSize = uint64_t{header.sectionCount} * sizeof(SectionRow);
  if (header.fileSize > file.size() ||
      tableSize > file.size() - sizeof(FileHeader))
    return makeError(ErrorCode::ArtifactTruncated, "the artifact has ",
                     file.size(),
                     " bytes, but according to its header it should have ",
                     header.fileSize, "; copy or compile it again");
  absl::string_view table = file.substr(sizeof(FileHeader), tableSize);
  if (hashBytes(table) != header.checksum)
    return makeError(
        ErrorCode::ArtifactChecksum,
        "the section table has changed since it was written; copy or "
        "compile it again");

  absl::Span<const SectionRow> rows(
      reinterpret_cast<const SectionRow *>(table.data()), header.sectionCount);
  for (const SectionRow &row : rows) {
    auto number = static_cast<uint32_t>(row.kind);
    if (row.offset > file.size() || row.size > file.size() - row.offset)
      return makeError(
          ErrorCode::ArtifactTruncated, "section ", number,
          " ends after the end of the file; copy or compile it again");
    absl::string_view section = file.substr(row.offset, row.size);
    if (hashBytes(section) != row.checksum)
      return makeError(ErrorCode::ArtifactChecksum, "section ", number,
                       " has changed since it was written; copy or compile it "
                       "again");
    uint32_t rowSize = getRowSize(row.kind);
    if (rowSize == 0)
      continue; // written by a later compiler: nothing here refers to it
    if (row.rowSize != rowSize || row.size % rowSize != 0 ||
        row.offset % kSectionAlignment != 0)
      return makeError(ErrorCode::ArtifactCorrupt, "section ", number,
                       " does not consist of whole rows of ", rowSize,
                       " bytes");
    absl::string_view &place =
        number < kNumRowSections ? rowSections[number] : byteSections[row.kind];
    if (!place.empty())
      return makeError(ErrorCode::ArtifactCorrupt, "section ", number,
                       " occurs twice");
    place = section;
  }
  TPRT_RETURN_IF_ERROR(verify());
  absl::Span<const DeviceRow> devices = this->rows<DeviceRow>();
  places.resize(devices.size());
  for (uint32_t place = 0; place < devices.size(); ++place)
    places[devices[place].rank] = place;
  return absl::OkStatus();
}

absl::Status Artifact::checkTarget(absl::string_view target) const {
  if (getTarget() == target)
    return absl::OkStatus();
  return makeError(ErrorCode::TargetMismatch, "the program was compiled for '",
                   getTarget(), "', not for '", target,
                   "'; compile it with --tp-compile=\"target=", target, "\"");
}

absl::StatusOr<std::shared_ptr<const Artifact>>
Artifact::open(const std::string &path) {
  TPRT_ASSIGN_OR_RETURN(File file, File::open(path));
  return read(file);
}

absl::StatusOr<std::shared_ptr<const Artifact>>
Artifact::read(const File &file) {
  // Check the start first, to avoid reading all of a large file that is
  // something else.
  char start[512];
  uint64_t known = std::min<uint64_t>(file.size(), sizeof(start));
  TPRT_RETURN_IF_ERROR(file.read(0, known, start));
  absl::Status status = checkMagic({start, known});
  std::shared_ptr<Artifact> artifact(new Artifact);
  if (status.ok()) {
    TPRT_ASSIGN_OR_RETURN(artifact->contents, file.readAll());
    status = artifact->parse();
  }
  if (!status.ok())
    return addContext(status, file.getName());
  return artifact;
}

absl::StatusOr<std::shared_ptr<const Artifact>>
Artifact::fromBytes(absl::string_view bytes) {
  std::shared_ptr<Artifact> artifact(new Artifact);
  TPRT_ASSIGN_OR_RETURN(
      artifact->contents,
      AlignedBuffer::create(bytes.size(), /*isZeroed=*/false));
  if (!bytes.empty())
    std::memcpy(artifact->contents.data(), bytes.data(), bytes.size());
  TPRT_RETURN_IF_ERROR(artifact->parse());
  return artifact;
}

uint64_t Artifact::getHash() const {
  return reinterpret_cast<const FileHeader *>(contents.data())->checksum;
}

absl::string_view Artifact::bytes(SectionKind kind) const {
  auto found = byteSections.find(kind);
  return found == byteSections.end() ? absl::string_view() : found->second;
}

absl::optional<uint32_t> Artifact::findEntry(absl::string_view name) const {
  absl::Span<const EntryRow> entries = rows<EntryRow>();
  for (uint32_t i = 0; i < entries.size(); ++i)
    if (text(entries[i].name) == name)
      return i;
  return absl::nullopt;
}

absl::optional<uint32_t> Artifact::findInput(absl::string_view name) const {
  absl::Span<const InputRow> inputs = rows<InputRow>();
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (text(inputs[i].name) == name)
      return i;
  return absl::nullopt;
}

const SourceRow *Artifact::getPartSource(uint32_t input) const {
  const InputRow &row = rows<InputRow>()[input];
  if (row.sources.count != 1)
    return nullptr;
  const SourceRow &source = rows<SourceRow>(row.sources)[0];
  absl::string_view name = text(row.name);
  return absl::ConsumePrefix(&name, text(source.tensor)) &&
                 absl::StartsWith(name, "#")
             ? &source
             : nullptr;
}

std::vector<uint32_t> Artifact::findParts(absl::string_view tensor) const {
  std::vector<uint32_t> parts;
  for (uint32_t i = 0; i < rows<InputRow>().size(); ++i)
    if (const SourceRow *source = getPartSource(i);
        source && text(source->tensor) == tensor)
      parts.push_back(i);
  return parts;
}

std::vector<Artifact::Result>
Artifact::getResults(const EntryRow &entry) const {
  std::vector<Result> results;
  uint32_t index = entry.outputs.first;
  for (const OutputRow &output : rows<OutputRow>(entry.outputs)) {
    Range own = {index++, 1};
    std::vector<int64_t> shape = getGlobalShape(output.dims);
    if (output.part.count == 0) {
      results.push_back(
          {text(output.name), output.dtype, std::move(shape), own, 0});
      continue;
    }
    const SourceRow &part = rows<SourceRow>(output.part)[0];
    absl::Span<const int64_t> stored = integers(part.stored);
    absl::string_view name = text(part.tensor);
    if (!results.empty() && results.back().name == name) {
      ++results.back().outputs.count;
      continue;
    }
    auto dim = std::mismatch(shape.begin(), shape.end(), stored.begin()).first -
               shape.begin();
    results.push_back({name,
                       output.dtype,
                       {stored.begin(), stored.end()},
                       own,
                       static_cast<uint32_t>(dim)});
  }
  return results;
}

std::vector<int64_t> Artifact::getGlobalShape(Range dims) const {
  std::vector<int64_t> shape;
  for (const DimRow &dim : rows<DimRow>(dims))
    shape.push_back(dim.global);
  return shape;
}

std::vector<int64_t> Artifact::getLocalShape(Range dims) const {
  std::vector<int64_t> shape;
  for (const DimRow &dim : rows<DimRow>(dims))
    shape.push_back(dim.local);
  return shape;
}

static int64_t getBytes(absl::Span<const DimRow> dims, DType dtype) {
  int64_t bytes = getSize(dtype);
  for (const DimRow &dim : dims)
    bytes *= dim.local;
  return bytes;
}

bool Artifact::isDonated(uint32_t input) const {
  return absl::c_any_of(rows<OutputRow>(), [&](const OutputRow &output) {
    return output.alias == input;
  });
}

bool Artifact::isKept(uint32_t input) const {
  Role role = rows<InputRow>()[input].role;
  return role != Role::Input && role != Role::Parameter && isDonated(input);
}

int64_t Artifact::getLocalBytes(const InputRow &input) const {
  return getBytes(rows<DimRow>(input.dims), input.dtype);
}

int64_t Artifact::getLocalBytes(const OutputRow &output) const {
  return getBytes(rows<DimRow>(output.dims), output.dtype);
}

uint64_t Artifact::getArenaBytes() const {
  uint64_t bytes = 0;
  for (const EntryRow &entry : rows<EntryRow>())
    bytes = std::max(bytes, entry.arenaSize);
  return bytes;
}

uint32_t Artifact::getNumCounters() const {
  uint32_t counters = 0;
  for (const EntryRow &entry : rows<EntryRow>())
    counters = std::max(counters, entry.counters);
  return counters;
}

bool Artifact::overlaps() const {
  int64_t underWay = 0;
  for (const StepRow &step : rows<StepRow>()) {
    if (step.kind == StepKind::CollectiveStart)
      ++underWay;
    else if (step.kind == StepKind::CollectiveDone)
      --underWay;
    else if (underWay > 0)
      return true;
  }
  return false;
}

uint32_t Artifact::getNumLinks() const {
  uint32_t count = 1;
  for (const MeshAxis &axis : rows<MeshAxis>())
    count = std::max(count, axis.link + 1);
  return count;
}

std::vector<uint32_t>
Artifact::getLinks(const CommunicatorRow &communicator) const {
  std::vector<uint32_t> links;
  for (const AxisRefRow &ref : rows<AxisRefRow>(communicator.axes))
    links.push_back(rows<MeshAxis>()[ref.axis].link);
  if (links.empty())
    links.push_back(0);
  absl::c_sort(links);
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

int64_t Artifact::getNumDevices() const {
  int64_t devices = 1;
  for (const MeshAxis &axis : rows<MeshAxis>())
    devices *= axis.size;
  return devices;
}

/// Returns the stride of an axis, or of a part of an axis, in the row-major
/// numbering of the places of the mesh.
static int64_t getWeight(absl::Span<const MeshAxis> mesh,
                         const AxisRefRow &ref) {
  int64_t weight = mesh[ref.axis].size / (ref.pre * ref.size);
  for (size_t i = ref.axis + 1; i < mesh.size(); ++i)
    weight *= mesh[i].size;
  return weight;
}

/// Returns the coordinate, along these axes, of the mesh place with number
/// `place`. The coordinates along several axes form one number, with the first
/// axis most significant.
static int64_t getPositionAt(int64_t place, absl::Span<const MeshAxis> mesh,
                             absl::Span<const AxisRefRow> axes) {
  int64_t position = 0;
  for (const AxisRefRow &ref : axes)
    position = position * ref.size + place / getWeight(mesh, ref) % ref.size;
  return position;
}

int64_t Artifact::getPlace(int64_t rank) const {
  return places.empty() ? rank : places[rank];
}

int64_t Artifact::getPosition(Range axes, int64_t rank) const {
  return getPositionAt(getPlace(rank), rows<MeshAxis>(),
                       rows<AxisRefRow>(axes));
}

int64_t Artifact::getShiftedPosition(const PlaceRow &place,
                                     int64_t rank) const {
  return (getPosition(place.axes, rank) + place.plus) %
         getGroupSize(place.axes);
}

int64_t Artifact::getDistance(const BufferRow &buffer, int64_t rank,
                              absl::Span<const int64_t> counters) const {
  if (buffer.place != kNone)
    return buffer.step *
           getShiftedPosition(rows<PlaceRow>()[buffer.place], rank);
  return buffer.counter == kNone ? 0 : buffer.step * counters[buffer.counter];
}

int64_t Artifact::evaluate(const ScalarRow &scalar, int64_t rank,
                           absl::Span<const int64_t> counters) const {
  switch (scalar.kind) {
  case ScalarKind::Constant:
    return scalar.value;
  case ScalarKind::Coordinate:
    return getPosition({scalar.index, 1}, rank);
  case ScalarKind::Counter:
    return counters[scalar.index];
  }
  return 0;
}

int64_t Artifact::getGroupSize(Range axes) const {
  int64_t size = 1;
  for (const AxisRefRow &ref : rows<AxisRefRow>(axes))
    size *= ref.size;
  return size;
}

std::vector<int> Artifact::getGroup(const CommunicatorRow &communicator,
                                    int64_t rank) const {
  absl::Span<const MeshAxis> mesh = rows<MeshAxis>();
  absl::Span<const AxisRefRow> axes = rows<AxisRefRow>(communicator.axes);
  absl::Span<const DeviceRow> devices = rows<DeviceRow>();
  // Ranks are in one group if their place numbers are equal once the
  // coordinates along these axes are set to zero.
  auto getBase = [&](int64_t of) {
    int64_t base = of;
    for (const AxisRefRow &ref : axes) {
      int64_t weight = getWeight(mesh, ref);
      base -= of / weight % ref.size * weight;
    }
    return base;
  };
  std::vector<int> group(getGroupSize(communicator.axes));
  int64_t base = getBase(getPlace(rank));
  for (int64_t place = 0, n = getNumDevices(); place < n; ++place)
    if (getBase(place) == base)
      group[getPositionAt(place, mesh, axes)] =
          static_cast<int>(devices.empty() ? place : devices[place].rank);
  return group;
}
