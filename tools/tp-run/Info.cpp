// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Info.h"
#include "Times.h"

#include "runtime/Core/Artifact.h"
#include "runtime/Core/Errors.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <algorithm>

using namespace tprt;

static std::string formatBytes(uint64_t bytes) {
  if (bytes < 1024)
    return absl::StrCat(bytes, " B");
  double size = static_cast<double>(bytes);
  const char *unit = "KiB";
  for (const char *next : {"KiB", "MiB", "GiB", "TiB"}) {
    size /= 1024;
    unit = next;
    if (size < 1024)
      break;
  }
  return absl::StrFormat("%.1f %s", size, unit);
}

static std::string count(uint64_t number, absl::string_view what) {
  return absl::StrCat(number, " ", what, number == 1 ? "" : "s");
}

static std::string describeType(DType dtype, absl::Span<const int64_t> shape) {
  return absl::StrCat(getName(dtype), "[", absl::StrJoin(shape, ","), "]");
}

/// Returns an axis as text, for example `model`, or `model:(1)2` for a part of
/// it.
static std::string describeAxis(const Artifact &artifact,
                                const AxisRefRow &ref) {
  const MeshAxis &axis = artifact.rows<MeshAxis>()[ref.axis];
  std::string text(artifact.text(axis.name));
  if (ref.size != axis.size)
    absl::StrAppend(&text, ":(", ref.pre, ")", ref.size);
  return text;
}

/// Returns a sharding in the notation of programs, for example `[{"data"},
/// {}]`; `whole` if nothing is sharded.
static std::string describeSharding(const Artifact &artifact, Range dims) {
  std::vector<std::string> parts;
  bool isCut = false;
  for (const DimRow &dim : artifact.rows<DimRow>(dims)) {
    std::vector<std::string> axes;
    for (const AxisRefRow &ref : artifact.rows<AxisRefRow>(dim.axes))
      axes.push_back(absl::StrCat("\"", describeAxis(artifact, ref), "\""));
    isCut |= !axes.empty();
    parts.push_back(absl::StrCat("{", absl::StrJoin(axes, ", "), "}"));
  }
  return isCut ? absl::StrCat("[", absl::StrJoin(parts, ", "), "]") : "whole";
}

static const char *describeRole(Role role) {
  switch (role) {
  case Role::Input:
    return "input";
  case Role::Parameter:
    return "parameter";
  case Role::State:
    return "state";
  case Role::KVCache:
    return "kv cache";
  case Role::Gradient:
    return "gradient";
  case Role::OptimizerState:
    return "optimizer";
  }
  return "input";
}

namespace {

/// A line for one input or output, or for several whose names differ only in a
/// number.
struct Line {
  std::string kind, name, type, sharding, local;
  int first = -1, last = -1; ///< The numbers for `*` in the name.
  size_t count = 1;
};

class Description {
public:
  explicit Description(const Artifact &artifact) : artifact(artifact) {}

  std::string get(const std::string &path, uint64_t size) {
    absl::StrAppend(&text, path, ": ", formatBytes(size), " for ",
                    artifact.getTarget(), "\n");
    addRow("format", getFormat());
    addRow("mesh", getMesh());
    if (artifact.getNumLinks() > 1)
      addRow("links", getLinks());
    if (std::string code = getCode(); !code.empty())
      addRow("runs on", code);
    for (const EntryRow &entry : artifact.rows<EntryRow>())
      add(entry);
    return std::move(text);
  }

private:
  void addRow(absl::string_view name, absl::string_view value) {
    absl::StrAppendFormat(&text, "  %-8s%s\n", name, value);
  }

  std::string getFormat() const {
    std::string format = absl::StrCat(kFormatVersion);
    absl::string_view whole = artifact.bytes(SectionKind::GlobalProgram);
    // Bytecode begins with a magic number, a version and the name of its
    // producer.
    if (whole.size() > 5) {
      absl::string_view by = whole.substr(5, whole.find('\0', 5) - 5);
      if (absl::ConsumePrefix(&by, "MLIR"))
        absl::StrAppend(&format, ", written with MLIR ", by);
    }
    if (whole.empty())
      absl::StrAppend(&format,
                      ", without the whole program that --check needs");
    return format;
  }

  std::string getMesh() const {
    std::vector<std::string> axes;
    for (const MeshAxis &axis : artifact.rows<MeshAxis>())
      axes.push_back(absl::StrCat(artifact.text(axis.name), "=", axis.size));
    return absl::StrCat(
        absl::StrJoin(axes, ","), ", ",
        count(artifact.getNumDevices(), "device"),
        artifact.rows<DeviceRow>().empty() ? "" : ", in a custom order");
  }

  /// Returns the axes, grouped by the link that they share.
  std::string getLinks() const {
    std::vector<std::string> links;
    for (uint32_t link = 0; link < artifact.getNumLinks(); ++link)
      links.push_back(tprun::getAxes(artifact, link));
    return absl::StrJoin(links, " | ");
  }

  /// Returns the CPU's features, or the GPUs for which there is code.
  std::string getCode() const {
    std::vector<std::string> chips;
    for (const GpuImageRow &image : artifact.rows<GpuImageRow>())
      chips.push_back(absl::StrCat(
          artifact.text(image.name),
          image.kind == GpuImageKind::Ptx ? " and later (PTX)" : ""));
    if (!chips.empty())
      return absl::StrJoin(chips, ", ");
    // A CPU has many features, but only the widest vector extension is printed.
    std::pair<absl::string_view, absl::string_view> cpu = absl::StrSplit(
        artifact.bytes(SectionKind::CpuFeatures), absl::MaxSplits(':', 1));
    std::vector<absl::string_view> features = absl::StrSplit(cpu.second, ',');
    for (absl::string_view widest : {"avx512f", "avx2", "avx"})
      if (std::find(features.begin(), features.end(), widest) != features.end())
        return absl::StrCat(cpu.first, " with ", widest);
    return std::string(cpu.first);
  }

  void add(const EntryRow &entry) {
    absl::StrAppend(&text, "\nentry ", artifact.text(entry.name), "\n");
    std::vector<Line> lines;
    uint64_t held = 0;
    for (int64_t index : artifact.integers(entry.inputs)) {
      const InputRow &input = artifact.rows<InputRow>()[index];
      held += artifact.getLocalBytes(input);
      addLine(lines, describeRole(input.role), artifact.text(input.name),
              input.dtype, input.dims);
    }
    uint64_t made = 0;
    for (const OutputRow &output : artifact.rows<OutputRow>(entry.outputs)) {
      if (output.alias == kNone)
        made += artifact.getLocalBytes(output);
      addLine(lines, "output", artifact.text(output.name), output.dtype,
              output.dims);
    }
    print(lines);
    addRow("steps", getSteps(entry));
    addRow("memory", absl::StrCat("per device: inputs ", formatBytes(held),
                                  ", outputs ", formatBytes(made), ", arena ",
                                  formatBytes(entry.arenaSize)));
  }

  void addLine(std::vector<Line> &lines, absl::string_view kind,
               absl::string_view name, DType dtype, Range dims) {
    std::vector<int64_t> shape = artifact.getGlobalShape(dims);
    std::vector<int64_t> local = artifact.getLocalShape(dims);
    Line line;
    line.kind = std::string(kind);
    line.type = describeType(dtype, shape);
    line.sharding = describeSharding(artifact, dims);
    if (local != shape)
      line.local = describeType(dtype, local);
    std::vector<std::string> words = absl::StrSplit(name, '.');
    for (std::string &word : words)
      if (line.first < 0 && !word.empty() && word.size() < 6 &&
          std::all_of(word.begin(), word.end(), absl::ascii_isdigit)) {
        line.first = line.last = std::stoi(word);
        word = "*";
      }
    line.name = absl::StrJoin(words, ".");
    for (Line &known : lines)
      if (known.first >= 0 && known.kind == line.kind &&
          known.name == line.name && known.type == line.type &&
          known.sharding == line.sharding) {
        known.last = line.last;
        ++known.count;
        return;
      }
    lines.push_back(std::move(line));
  }

  void print(std::vector<Line> &lines) {
    size_t kinds = 0, names = 0, types = 0, shardings = 0;
    for (Line &line : lines) {
      if (line.first >= 0) {
        size_t star = line.name.find('*');
        line.name.replace(star, 1,
                          line.count == 1
                              ? absl::StrCat(line.first)
                              : absl::StrCat(line.first, "..", line.last));
      }
      kinds = std::max(kinds, line.kind.size());
      names = std::max(names, line.name.size());
      types = std::max(types, line.type.size());
      shardings = std::max(shardings, line.sharding.size());
    }
    for (const Line &line : lines) {
      std::string row = absl::StrFormat(
          "  %-*s  %-*s  %-*s  %-*s", static_cast<int>(kinds), line.kind,
          static_cast<int>(names), line.name, static_cast<int>(types),
          line.type, static_cast<int>(shardings), line.sharding);
      if (!line.local.empty())
        absl::StrAppend(&row, "  ", line.local, " each");
      absl::StripTrailingAsciiWhitespace(&row);
      absl::StrAppend(&text, row, "\n");
    }
  }

  std::string getSteps(const EntryRow &entry) const {
    uint64_t kernels = 0, matmuls = 0, collectives = 0, choices = 0, others = 0;
    for (const StepRow &step : artifact.rows<StepRow>(entry.steps))
      switch (step.kind) {
      case StepKind::Kernel:
        ++kernels;
        break;
      case StepKind::Matmul:
        ++matmuls;
        break;
      case StepKind::CollectiveStart:
        collectives += !artifact.rows<CollectiveRow>()[step.row].joined;
        break;
      case StepKind::CollectiveDone:
        break;
      case StepKind::Control:
        if (artifact.rows<ControlRow>()[step.row].kind == ControlKind::Choice)
          ++choices;
        else
          ++others;
        break;
      default:
        ++others;
      }
    std::vector<std::string> parts;
    auto add = [&](uint64_t number, absl::string_view what) {
      if (number > 0)
        parts.push_back(count(number, what));
    };
    add(kernels, "kernel");
    add(matmuls, "matmul");
    add(collectives, "collective");
    add(others, "other step");
    add(choices, "choice");
    if (choices > 0)
      parts.back() += " of the faster branch on the GPU";
    if (parts.empty())
      return "none";
    return absl::StrJoin(parts, ", ");
  }

  const Artifact &artifact;
  std::string text;
};

} // namespace

absl::StatusOr<std::string> tprun::describeArtifact(const std::string &path) {
  TPRT_ASSIGN_OR_RETURN(File file, File::open(path));
  TPRT_ASSIGN_OR_RETURN(auto artifact, Artifact::read(file));
  return Description(*artifact).get(path, file.size());
}
