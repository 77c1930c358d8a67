// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/TuningBench.h"

#include "absl/time/clock.h"

#include <algorithm>
#include <vector>

using namespace tprt;

/// Random operands repeat after this many bytes.
static constexpr uint64_t kPiece = 1 << 20;
static constexpr int kRounds = 8;
/// How long an idle GPU must be kept busy until its clocks have risen.
static constexpr absl::Duration kWarmUp = absl::Milliseconds(50);

absl::StatusOr<TuningBench> TuningBench::create(const Device &device) {
  TuningBench bench(device);
  TPRT_ASSIGN_OR_RETURN(bench.stream, device.createStream(false));
  TPRT_ASSIGN_OR_RETURN(bench.begin, device.createEvent(true));
  TPRT_ASSIGN_OR_RETURN(bench.end, device.createEvent(true));
  TPRT_ASSIGN_OR_RETURN(bench.staging, device.allocateHost(kPiece));
  // If this allocation fails, all times are measured with a warm L2 cache.
  if (auto memory = device.allocate(2 * device.cacheBytes); memory.ok())
    bench.cleared = *std::move(memory);
  return bench;
}

/// Returns two bit masks for a 32-bit word of random elements: the bits to draw
/// at random (signs and fractions), and the other bits that are 1.
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
  case DType::U8: // read by kernels, as floats of any type or as large integers
    return {0x007f007f, 0x3f003f00};
  default: // cuBLASLt multiplies no other types
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
  uint64_t state = 1; // Knuth's generator for MMIX
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

absl::StatusOr<Owned<cuda::GraphExec>> TuningBench::prepare(int way, Run run,
                                                            absl::Status &ran) {
  ran = run(way, stream.get());
  TPRT_RETURN_IF_ERROR(device->wait(stream.get()));
  if (!ran.ok())
    return Owned<cuda::GraphExec>();
  absl::StatusOr<Owned<cuda::GraphExec>> graph =
      device->capture(stream.get(), [&] {
        ran = run(way, stream.get());
        return ran;
      });
  return graph.ok() ? *std::move(graph) : Owned<cuda::GraphExec>();
}

absl::Status TuningBench::warmUp() {
  absl::Time end = absl::Now() + kWarmUp;
  while (!isWarm && absl::Now() < end) {
    TPRT_RETURN_IF_ERROR(clearCache());
    TPRT_RETURN_IF_ERROR(device->wait(stream.get()));
  }
  isWarm = true;
  return absl::OkStatus();
}

absl::StatusOr<float>
TuningBench::time(absl::FunctionRef<absl::Status()> launch) {
  TPRT_RETURN_IF_ERROR(clearCache());
  TPRT_RETURN_IF_ERROR(
      device->check(device->driver.recordEvent(begin.get(), stream.get()),
                    "taking the time"));
  TPRT_RETURN_IF_ERROR(launch());
  TPRT_RETURN_IF_ERROR(device->check(
      device->driver.recordEvent(end.get(), stream.get()), "taking the time"));
  TPRT_RETURN_IF_ERROR(device->wait(stream.get()));
  float milliseconds = 0;
  TPRT_RETURN_IF_ERROR(device->check(
      device->driver.getElapsed(&milliseconds, begin.get(), end.get()),
      "taking the time"));
  return milliseconds;
}

/// Returns true if three quarters of the rounds took about as long as the
/// fastest round.
/// Events can distinguish times that differ by half a microsecond.
static bool doAgree(std::vector<float> rounds) {
  constexpr float factor = 1.25f, resolution = 1e-3f;
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() * 3 / 4] <= factor * rounds.front() + resolution;
}

absl::StatusOr<TuningBench::Finding> TuningBench::findFastest(int ways,
                                                              Run run) {
  struct Way {
    int number;
    Owned<cuda::GraphExec> graph;
    std::vector<float> rounds;
  };
  std::vector<Way> left;
  absl::Status failure;
  for (int way = 0; way < ways; ++way) {
    absl::Status ran;
    TPRT_ASSIGN_OR_RETURN(Owned<cuda::GraphExec> graph, prepare(way, run, ran));
    failure.Update(ran);
    if (ran.ok())
      left.push_back({way, std::move(graph), {}});
  }
  if (left.empty())
    return failure;
  TPRT_RETURN_IF_ERROR(warmUp());
  for (int round = 0; round < kRounds; ++round)
    for (Way &way : left) {
      TPRT_ASSIGN_OR_RETURN(
          float taken, time([&] {
            return way.graph ? device->check(device->driver.launchGraph(
                                                 way.graph.get(), stream.get()),
                                             "launching a graph")
                             : run(way.number, stream.get());
          }));
      way.rounds.push_back(taken);
    }
  auto getBest = [](const Way &way) {
    return *std::min_element(way.rounds.begin(), way.rounds.end());
  };
  auto best = std::min_element(
      left.begin(), left.end(),
      [&](const Way &a, const Way &b) { return getBest(a) < getBest(b); });
  return Finding{best->number, doAgree(best->rounds)};
}
