// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/TuningOperands.h"

#include "runtime/Core/StepAccesses.h"

#include <algorithm>

using namespace tprt;

/// The alignment of allocations: blocks keep the alignment that buffers have in
/// the program's memory.
static constexpr uint64_t kAlignment = 256;

void TuningOperands::add(const BufferRow &buffer, DType dtype, bool isWritten) {
  if (buffer.size == 0)
    return;
  Block block = {buffer.space,
                 buffer.index,
                 buffer.offset / kAlignment * kAlignment,
                 buffer.offset + buffer.size,
                 dtype,
                 isWritten,
                 {}};
  // Blocks that overlap are merged.
  auto touches = [&](const Block &other) {
    return other.space == block.space && other.index == block.index &&
           other.begin < block.end && block.begin < other.end;
  };
  for (auto it = std::find_if(blocks.begin(), blocks.end(), touches);
       it != blocks.end();
       it = std::find_if(blocks.begin(), blocks.end(), touches)) {
    block.begin = std::min(block.begin, it->begin);
    block.end = std::max(block.end, it->end);
    block.isWritten |= it->isWritten;
    // A kernel does not say what type its operands have.
    if (block.dtype == DType::U8)
      block.dtype = it->dtype;
    blocks.erase(it);
  }
  blocks.push_back(std::move(block));
}

absl::StatusOr<absl::optional<TuningOperands>>
TuningOperands::create(const Artifact &artifact, Range steps,
                       const BufferPlaces &memory, TuningBench &bench) {
  TuningOperands operands(memory);
  for (const StepRow &step : artifact.rows<StepRow>(steps))
    for (const StepAccess &access : getAccesses(artifact, step))
      operands.add(access.buffer, access.dtype,
                   access.kind == AccessKind::Write);
  for (Block &block : operands.blocks) {
    TPRT_ASSIGN_OR_RETURN(
        block.memory, bench.makeOperand(block.dtype, block.end - block.begin));
    if (!block.memory && block.isWritten)
      return absl::optional<TuningOperands>();
  }
  return absl::optional<TuningOperands>(std::move(operands));
}

cuda::Pointer
TuningOperands::resolve(const BufferRow &buffer,
                        absl::Span<const int64_t> counters) const {
  for (const Block &block : blocks)
    if (block.space == buffer.space && block.index == buffer.index &&
        block.begin <= buffer.offset && buffer.offset < block.end &&
        block.memory)
      return block.memory.get() + (buffer.offset - block.begin);
  return memory->resolve(buffer, counters);
}
