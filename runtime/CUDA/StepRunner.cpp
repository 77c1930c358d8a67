// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/StepRunner.h"

#include "absl/container/inlined_vector.h"

using namespace tprt;

absl::Status StepRunner::run(const StepRow &step, const BufferPlaces &places,
                             absl::Span<const int64_t> counters,
                             cuda::Stream stream) {
  switch (step.kind) {
  case StepKind::Kernel:
    return runKernel(artifact->rows<KernelCallRow>()[step.row], places,
                     counters, stream);
  case StepKind::Matmul:
    return matmuls->run(step.row, places, counters, stream);
  case StepKind::Copy:
    return runCopy(artifact->rows<CopyRow>()[step.row], places, counters,
                   stream);
  case StepKind::Fill:
    return runFill(artifact->rows<FillRow>()[step.row], places, counters,
                   stream);
  case StepKind::CollectiveStart:
  case StepKind::CollectiveDone:
  case StepKind::Control:
    break; // handled by the caller, which goes through the steps
  case StepKind::Scatter:
  case StepKind::Sort:
    break; // refused by checkGpuSteps
  }
  return absl::OkStatus();
}

absl::Status StepRunner::runKernel(const KernelCallRow &call,
                                   const BufferPlaces &places,
                                   absl::Span<const int64_t> counters,
                                   cuda::Stream stream) {
  absl::InlinedVector<cuda::Pointer, 8> operands;
  for (const BufferRow &buffer : artifact->rows<BufferRow>(call.buffers))
    operands.push_back(places.resolve(buffer, counters));
  absl::InlinedVector<int64_t, 8> scalars;
  for (const ScalarRow &scalar : artifact->rows<ScalarRow>(call.scalars))
    scalars.push_back(artifact->evaluate(scalar, rank, counters));
  absl::InlinedVector<void *, 16> arguments;
  for (cuda::Pointer &operand : operands)
    arguments.push_back(&operand);
  for (int64_t &scalar : scalars)
    arguments.push_back(&scalar);
  return program->launch(call.kernel, arguments.data(), stream);
}

static size_t countElements(const int64_t *sizes, uint32_t rank) {
  int64_t count = 1;
  for (uint32_t i = 0; i < rank; ++i)
    count *= sizes[i];
  return static_cast<size_t>(count);
}

absl::Status StepRunner::runCopy(const CopyRow &copy,
                                 const BufferPlaces &places,
                                 absl::Span<const int64_t> counters,
                                 cuda::Stream stream) {
  size_t bytes = countElements(copy.sizes, copy.rank) *
                 static_cast<size_t>(getSize(copy.dtype));
  if (bytes == 0)
    return absl::OkStatus();
  const Device &device = program->getDevice();
  return device.check(
      device.driver.copy(places.resolve(copy.destination, counters),
                         places.resolve(copy.source, counters), bytes, stream),
      "copying");
}

absl::Status StepRunner::runFill(const FillRow &fill,
                                 const BufferPlaces &places,
                                 absl::Span<const int64_t> counters,
                                 cuda::Stream stream) {
  size_t count = countElements(fill.sizes, fill.rank);
  if (count == 0)
    return absl::OkStatus();
  const Device &device = program->getDevice();
  cuda::Pointer to = places.resolve(fill.destination, counters);
  auto fillWith = [&](auto set, auto pattern, size_t elements) {
    return device.check(set(to, pattern, elements, stream), "filling");
  };
  switch (getSize(fill.dtype)) {
  case 1:
    return fillWith(device.driver.set8, static_cast<uint8_t>(fill.pattern),
                    count);
  case 2:
    return fillWith(device.driver.set16, static_cast<uint16_t>(fill.pattern),
                    count);
  case 4:
    return fillWith(device.driver.set32, static_cast<uint32_t>(fill.pattern),
                    count);
  default: // 8 bytes with equal halves, see checkGpuSteps
    return fillWith(device.driver.set32, static_cast<uint32_t>(fill.pattern),
                    2 * count);
  }
}
