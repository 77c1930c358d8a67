// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/HostMemory.h"

using namespace tprt;

absl::StatusOr<HostMemory> HostMemory::create(const Artifact &artifact) {
  HostMemory memory;
  for (const InputRow &input : artifact.rows<InputRow>()) {
    TPRT_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                          AlignedBuffer::create(artifact.getLocalBytes(input)));
    memory.inputs.push_back(std::move(buffer));
  }
  for (const OutputRow &output : artifact.rows<OutputRow>()) {
    if (output.alias != kNone) {
      memory.outputs.push_back(memory.getInput(output.alias));
      continue;
    }
    TPRT_ASSIGN_OR_RETURN(
        AlignedBuffer buffer,
        AlignedBuffer::create(artifact.getLocalBytes(output)));
    memory.outputs.push_back(buffer.data());
    memory.own.push_back(std::move(buffer));
  }
  TPRT_ASSIGN_OR_RETURN(memory.arena,
                        AlignedBuffer::create(artifact.getArenaBytes()));
  return memory;
}

absl::Status
HostExecutor::writeInput(uint32_t input,
                         absl::FunctionRef<absl::Status(char *block)> fill) {
  return fill(memory.getInput(input));
}

absl::Status HostExecutor::clearInput(uint32_t input) {
  std::memset(memory.getInput(input), 0,
              artifact.getLocalBytes(artifact.rows<InputRow>()[input]));
  return absl::OkStatus();
}

absl::Status HostExecutor::readOutput(
    uint32_t output, absl::FunctionRef<absl::Status(const char *block)> use) {
  return use(memory.getOutput(output));
}

absl::Status HostExecutor::readInput(
    uint32_t input, absl::FunctionRef<absl::Status(const char *block)> use) {
  return use(memory.getInput(input));
}
