// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Interpreter.h"

#include "MemoryFile.h"
#include "TpOpt.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/HostMemory.h"
#include "runtime/Core/Safetensors.h"

using namespace tprt;
using namespace tprun;

namespace {

class InterpreterExecutor final : public HostExecutor {
public:
  InterpreterExecutor(const Artifact &artifact, HostMemory memory,
                      MemoryFile program, int roundingSeed)
      : HostExecutor(artifact, std::move(memory)), program(std::move(program)),
        roundingSeed(roundingSeed) {}

  absl::Status run(uint32_t entryIndex, std::vector<StepTime> *) override {
    const EntryRow &entry = artifact.rows<EntryRow>()[entryIndex];
    TPRT_ASSIGN_OR_RETURN(MemoryFile inputs,
                          MemoryFile::create(packInputs(entry)));
    TPRT_ASSIGN_OR_RETURN(MemoryFile outputs, MemoryFile::create());
    TPRT_RETURN_IF_ERROR(runCompiler(
        {program.getPath(),
         absl::StrCat("--tp-interpret-entry=entry='", artifact.text(entry.name),
                      "' inputs=", inputs.getPath(), " outputs=",
                      outputs.getPath(), " rounding-seed=", roundingSeed)}));
    TPRT_ASSIGN_OR_RETURN(std::string bytes, outputs.read());
    return unpackOutputs(entry, bytes);
  }

private:
  std::string packInputs(const EntryRow &entry) const {
    absl::btree_map<std::string, StoredTensor> tensors;
    for (int64_t index : artifact.integers(entry.inputs)) {
      const InputRow &input = artifact.rows<InputRow>()[index];
      tensors[std::string(artifact.text(input.name))] = {
          input.dtype,
          artifact.getGlobalShape(input.dims),
          {memory.getInput(static_cast<uint32_t>(index)),
           static_cast<size_t>(artifact.getLocalBytes(input))}};
    }
    return writeSafetensors(tensors);
  }

  absl::Status unpackOutputs(const EntryRow &entry, absl::string_view bytes) {
    TPRT_ASSIGN_OR_RETURN(auto tensors, parseSafetensors(bytes));
    uint32_t index = entry.outputs.first;
    for (const OutputRow &output : artifact.rows<OutputRow>(entry.outputs)) {
      char *block = memory.getOutput(index++);
      std::string name(artifact.text(output.name));
      auto found = tensors.find(name);
      auto size = static_cast<size_t>(artifact.getLocalBytes(output));
      if (found == tensors.end() || found->second.data.size() != size)
        return makeError(ErrorCode::CompilerBroke,
                         "tp-opt did not write the output '", name, "'");
      if (size > 0)
        std::memcpy(block, found->second.data.data(), size);
    }
    return absl::OkStatus();
  }

  const MemoryFile program;
  const int roundingSeed;
};

class InterpreterBackend final : public Backend {
public:
  InterpreterBackend(std::shared_ptr<const Artifact> artifact, int roundingSeed)
      : artifact(std::move(artifact)), roundingSeed(roundingSeed) {}

  absl::StatusOr<std::unique_ptr<Executor>> createExecutor(World &,
                                                           int) override {
    TPRT_ASSIGN_OR_RETURN(HostMemory memory, HostMemory::create(*artifact));
    TPRT_ASSIGN_OR_RETURN(
        MemoryFile program,
        MemoryFile::create(artifact->bytes(SectionKind::GlobalProgram)));
    return std::make_unique<InterpreterExecutor>(
        *artifact, std::move(memory), std::move(program), roundingSeed);
  }

private:
  const std::shared_ptr<const Artifact> artifact;
  const int roundingSeed;
};

} // namespace

absl::StatusOr<Program> tprun::loadInterpreted(const std::string &path,
                                               const std::string &shard,
                                               int roundingSeed) {
  TPRT_ASSIGN_OR_RETURN(MemoryFile interface, MemoryFile::create());
  std::vector<std::string> arguments = {path, "--tp-import-stablehlo"};
  if (!shard.empty())
    arguments.push_back(absl::StrCat("--tp-shard=", shard));
  arguments.push_back("--tp-name-inputs");
  arguments.push_back(
      absl::StrCat("--tp-write-interface=file=", interface.getPath()));
  TPRT_RETURN_IF_ERROR(runCompiler(std::move(arguments)));
  TPRT_ASSIGN_OR_RETURN(std::string bytes, interface.read());
  TPRT_ASSIGN_OR_RETURN(auto artifact, Artifact::fromBytes(bytes));
  auto createBackend = [roundingSeed](std::shared_ptr<const Artifact> of,
                                      const BackendOptions &) {
    return std::make_unique<InterpreterBackend>(std::move(of), roundingSeed);
  };
  return Program{std::move(artifact), createBackend};
}
