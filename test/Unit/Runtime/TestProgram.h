// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Artifacts made by hand, a step at a time.
///
///     TestProgram program({{"x", 4}});
///     uint32_t in = program.addInput("in", DType::F32, {{8, {0}}});
///     uint32_t out = program.addOutput("out", DType::F32, {{8, {0}}});
///     program.addStep(StepKind::Copy, program.writer.add(CopyRow{...}));
///     std::string bytes = program.finish();
///
/// Adding steps and outputs builds up one entry, "main"; `endEntry` closes it
/// and begins the next.

#ifndef TPOPT_TEST_UNIT_RUNTIME_TESTPROGRAM_H
#define TPOPT_TEST_UNIT_RUNTIME_TESTPROGRAM_H

#include "runtime/Core/Artifact.h"
#include "runtime/Core/ArtifactWriter.h"

#include <string>
#include <utility>
#include <vector>

namespace tprt::test {

/// A dimension and the whole mesh axes it is cut along.
struct TestDim {
  int64_t size;
  std::vector<uint32_t> axes;
};

class TestProgram {
public:
  explicit TestProgram(
      const std::vector<std::pair<std::string, int64_t>> &mesh = {}) {
    for (const auto &[name, size] : mesh) {
      writer.add(MeshAxis{writer.text(name), size});
      sizes.push_back(size);
    }
  }

  Range axes(const std::vector<uint32_t> &indices) {
    std::vector<AxisRefRow> refs;
    for (uint32_t axis : indices)
      refs.push_back({axis, 0, 1, sizes[axis]});
    return writer.addAll<AxisRefRow>(absl::MakeConstSpan(refs));
  }

  Range dims(const std::vector<TestDim> &shape) {
    std::vector<DimRow> rows;
    for (const TestDim &dim : shape) {
      int64_t devices = 1;
      for (uint32_t axis : dim.axes)
        devices *= sizes[axis];
      rows.push_back(
          {dim.size, (dim.size + devices - 1) / devices, axes(dim.axes)});
    }
    return writer.addAll<DimRow>(absl::MakeConstSpan(rows));
  }

  uint32_t addInput(const std::string &name, DType dtype,
                    const std::vector<TestDim> &shape, Role role = Role::Input,
                    uint32_t source = kNone) {
    return addJoined(name, dtype, shape, role,
                     source == kNone ? Range{} : Range{source, 1}, 0);
  }

  /// Of parts that follow each other along `joined`.
  uint32_t addJoined(const std::string &name, DType dtype,
                     const std::vector<TestDim> &shape, Role role,
                     Range sources, uint32_t joined) {
    uint32_t input = writer.add(
        InputRow{writer.text(name), role, dtype, dims(shape), sources, joined});
    inputs.push_back(input);
    return input;
  }

  /// Outputs of an entry stand together, so their rows are added at its end;
  /// the index is known before.
  uint32_t addOutput(const std::string &name, DType dtype,
                     const std::vector<TestDim> &shape,
                     uint32_t alias = kNone) {
    outputs.push_back({writer.text(name), dtype, alias, dims(shape)});
    return finishedOutputs + static_cast<uint32_t>(outputs.size()) - 1;
  }

  /// Rows [begin, begin + shape[0]) of `tensor`, a matrix of so many.
  void addPart(const std::string &tensor, const std::vector<int64_t> &shape,
               int64_t begin, int64_t rows) {
    addOutput(tensor + "#" + std::to_string(begin), DType::F32,
              {{shape[0], {}}, {shape[1], {}}});
    auto list = [&](const std::vector<int64_t> &values) {
      return writer.addAll<int64_t>(absl::MakeConstSpan(values));
    };
    SourceRow row = {};
    row.tensor = writer.text(tensor);
    row.stored = row.view = list({rows, shape[1]});
    row.start = list({begin, 0});
    row.size = list(shape);
    row.step = list({1, 1});
    row.permutation = list({0, 1});
    outputs.back().part = {writer.add(row), 1};
  }

  void addStep(StepKind kind, uint32_t row, const std::string &name = "") {
    steps.push_back({kind, row, writer.text(name)});
  }
  size_t numSteps() const { return steps.size(); }

  /// Both halves of a collective.
  void addCollective(const CollectiveRow &row, const std::string &name = "") {
    uint32_t index = writer.add(row);
    addStep(StepKind::CollectiveStart, index, name);
    addStep(StepKind::CollectiveDone, index, name);
  }

  /// A choice between the next `first` steps and the `second` behind them.
  void addChoice(uint32_t first, uint32_t second) {
    ControlRow choice = {};
    choice.kind = ControlKind::Choice;
    choice.first = first;
    choice.second = second;
    addStep(StepKind::Control, writer.add(choice));
  }

  static BufferRow buffer(Space space, uint32_t index, uint64_t size,
                          uint64_t offset = 0) {
    BufferRow row;
    row.space = space;
    row.index = index;
    row.offset = offset;
    row.size = size;
    return row;
  }

  void endEntry(const std::string &name = "main") {
    EntryRow entry = {};
    entry.name = writer.text(name);
    entry.inputs = writer.addAll<int64_t>(absl::MakeConstSpan(inputs));
    entry.outputs = writer.addAll<OutputRow>(absl::MakeConstSpan(outputs));
    entry.steps = writer.addAll<StepRow>(absl::MakeConstSpan(steps));
    entry.arenaSize = arena;
    entry.counters = counters;
    entry.positions = positions;
    writer.add(entry);
    finishedOutputs += static_cast<uint32_t>(outputs.size());
    inputs.clear();
    outputs.clear();
    steps.clear();
  }

  std::string finish() {
    if (!steps.empty() || !outputs.empty())
      endEntry();
    writer.setBytes(SectionKind::Target, target);
    return writer.finish();
  }

  ArtifactWriter writer;
  const char *target = kCpuTarget;
  uint64_t arena = 0;
  uint32_t counters = 0;
  int64_t positions = 0;
  std::vector<int64_t> inputs; ///< Of the current entry.
  std::vector<OutputRow> outputs;
  std::vector<StepRow> steps;

private:
  std::vector<int64_t> sizes;
  uint32_t finishedOutputs = 0;
};

} // namespace tprt::test

#endif // TPOPT_TEST_UNIT_RUNTIME_TESTPROGRAM_H
