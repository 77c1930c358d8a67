// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/TuningBench.h"

#include <algorithm>
#include <limits>
#include <vector>

using namespace tprt;

/// Operands repeat after so many bytes.
static constexpr uint64_t kPiece = 1 << 20;
/// The first does not count: code is loaded in it.
static constexpr int kRounds = 8;

absl::StatusOr<TuningBench> TuningBench::create(const Device &device) {
  TuningBench bench(device);
  TPRT_ASSIGN_OR_RETURN(bench.stream, device.createStream(false));
  TPRT_ASSIGN_OR_RETURN(bench.begin, device.createEvent(true));
  TPRT_ASSIGN_OR_RETURN(bench.end, device.createEvent(true));
  TPRT_ASSIGN_OR_RETURN(bench.staging, device.allocateHost(kPiece));
  // Without it, what is measured is a warm cache.
  if (auto memory = device.allocate(2 * device.cacheBytes); memory.ok())
    bench.cleared = *std::move(memory);
  return bench;
}

/// Bits of a word that hold signs and fractions, and what the others are.
static std::pair<uint32_t, uint32_t> getPattern(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return {0x807fffff, 0x3f000000};
  case DType::BF16:
    return {0x807f807f, 0x3f003f00};
  case DType::F16:
    return {0x83ff83ff, 0x38003800};
  case DType::F8E4M3FN:
    return {0x87878787, 0x30303030};
  default: // nothing else is multiplied by cuBLASLt
    return {0, 0};
  }
}

absl::StatusOr<Owned<cuda::Pointer>> TuningBench::makeOperand(DType dtype,
                                                              uint64_t bytes) {
  auto memory = device->allocate(bytes);
  if (!memory.ok())
    return Owned<cuda::Pointer>();
  auto *words = static_cast<uint32_t *>(staging.get());
  auto [random, fixed] = getPattern(dtype);
  uint64_t state = 1; // Knuth's generator of MMIX
  for (uint64_t i = 0; i < kPiece / sizeof(uint32_t); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    words[i] = (static_cast<uint32_t>(state >> 32) & random) | fixed;
  }
  for (uint64_t at = 0; at < bytes; at += kPiece)
    TPRT_RETURN_IF_ERROR(device->check(
        device->driver.copyToDevice(memory->get() + at, words,
                                    std::min(kPiece, bytes - at), stream.get()),
        "making operands"));
  TPRT_RETURN_IF_ERROR(device->wait(stream.get()));
  return memory;
}

absl::Status TuningBench::clearCache() {
  if (!cleared)
    return absl::OkStatus();
  return device->check(device->driver.set8(cleared.get(), 0,
                                           2 * device->cacheBytes,
                                           stream.get()),
                       "clearing the cache");
}

absl::StatusOr<int> TuningBench::findFastest(
    int ways, absl::FunctionRef<absl::Status(int, cuda::Stream)> run) {
  constexpr float never = std::numeric_limits<float>::infinity();
  std::vector<float> times(ways, never);
  std::vector<absl::Status> failures(ways);
  auto time = [&](int way) -> absl::StatusOr<float> {
    TPRT_RETURN_IF_ERROR(clearCache());
    TPRT_RETURN_IF_ERROR(
        device->check(device->driver.recordEvent(begin.get(), stream.get()),
                      "taking the time"));
    failures[way] = run(way, stream.get());
    TPRT_RETURN_IF_ERROR(
        device->check(device->driver.recordEvent(end.get(), stream.get()),
                      "taking the time"));
    TPRT_RETURN_IF_ERROR(device->wait(stream.get()));
    float milliseconds = 0;
    TPRT_RETURN_IF_ERROR(device->check(
        device->driver.getElapsed(&milliseconds, begin.get(), end.get()),
        "taking the time"));
    return milliseconds;
  };
  for (int round = 0; round < kRounds; ++round)
    for (int way = 0; way < ways; ++way) {
      if (!failures[way].ok())
        continue;
      TPRT_ASSIGN_OR_RETURN(float taken, time(way));
      if (!failures[way].ok())
        times[way] = never;
      else if (round > 0)
        times[way] = std::min(times[way], taken);
    }
  auto best = std::min_element(times.begin(), times.end());
  if (*best == never)
    return failures.front();
  return static_cast<int>(best - times.begin());
}
