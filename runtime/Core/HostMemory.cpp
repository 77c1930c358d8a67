// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/HostMemory.h"

using namespace tprt;

absl::StatusOr<HostMemory> HostMemory::create(const Artifact &artifact) {
  HostMemory memory;
  auto allocate = [&](uint64_t bytes) -> absl::StatusOr<char *> {
    TPRT_ASSIGN_OR_RETURN(char *buffer, memory.pages.allocate(bytes));
    std::memset(buffer, 0, bytes);
    return buffer;
  };
  std::vector<BundlePlace> places = getBundlePlaces(artifact);
  for (size_t i = 0; i < places.size(); ++i) {
    char *buffer = nullptr;
    if (!places[i].isMember()) {
      TPRT_ASSIGN_OR_RETURN(buffer, allocate(artifact.getLocalBytes(
                                        artifact.rows<InputRow>()[i])));
    }
    memory.inputs.push_back(buffer);
  }
  for (const BundleRow &bundle : artifact.rows<BundleRow>()) {
    TPRT_ASSIGN_OR_RETURN(char *buffer, allocate(getBytes(artifact, bundle)));
    memory.bundles.push_back(buffer);
  }
  for (const OutputRow &output : artifact.rows<OutputRow>()) {
    if (output.alias != kNone) {
      memory.outputs.push_back(memory.getInput(output.alias));
      continue;
    }
    TPRT_ASSIGN_OR_RETURN(char *buffer,
                          allocate(artifact.getLocalBytes(output)));
    memory.outputs.push_back(buffer);
  }
  TPRT_ASSIGN_OR_RETURN(memory.arena,
                        AlignedBuffer::create(artifact.getArenaBytes()));
  return memory;
}

void HostExecutor::copyRows(const BundlePlace &place, char *block,
                            bool isBack) const {
  for (int64_t row = 0; row < place.rows; ++row, block += place.rowBytes) {
    char *to = getRow(place, row), *from = block;
    if (isBack)
      std::swap(to, from);
    std::memcpy(to, from, place.rowBytes);
  }
}

absl::Status
HostExecutor::writeInput(uint32_t input,
                         absl::FunctionRef<absl::Status(char *block)> fill) {
  const BundlePlace &place = places[input];
  if (!place.isMember())
    return fill(memory.getInput(input));
  TPRT_ASSIGN_OR_RETURN(
      AlignedBuffer block,
      AlignedBuffer::create(static_cast<uint64_t>(place.rows) * place.rowBytes,
                            /*isZeroed=*/false));
  TPRT_RETURN_IF_ERROR(fill(block.data()));
  copyRows(place, block.data(), /*isBack=*/false);
  return absl::OkStatus();
}

absl::Status HostExecutor::clearInput(uint32_t input) {
  const BundlePlace &place = places[input];
  if (!place.isMember())
    std::memset(memory.getInput(input), 0,
                artifact.getLocalBytes(artifact.rows<InputRow>()[input]));
  for (int64_t row = 0; row < place.rows; ++row)
    std::memset(getRow(place, row), 0, place.rowBytes);
  return absl::OkStatus();
}

absl::Status HostExecutor::readOutput(
    uint32_t output, absl::FunctionRef<absl::Status(const char *block)> use) {
  return use(memory.getOutput(output));
}

absl::Status HostExecutor::readInput(
    uint32_t input, absl::FunctionRef<absl::Status(const char *block)> use) {
  const BundlePlace &place = places[input];
  if (!place.isMember())
    return use(memory.getInput(input));
  TPRT_ASSIGN_OR_RETURN(
      AlignedBuffer block,
      AlignedBuffer::create(static_cast<uint64_t>(place.rows) * place.rowBytes,
                            /*isZeroed=*/false));
  copyRows(place, block.data(), /*isBack=*/true);
  return use(block.data());
}
