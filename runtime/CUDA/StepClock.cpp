// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/StepClock.h"

#include <chrono>
#include <cmath>

using namespace tprt;

absl::Status StepClock::begin(cuda::Stream stream) {
  used = 0;
  steps.clear();
  TPRT_RETURN_IF_ERROR(mark(stream).status());
  TPRT_RETURN_IF_ERROR(device.wait(stream));
  origin = std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
               .count();
  return absl::OkStatus();
}

absl::StatusOr<size_t> StepClock::mark(cuda::Stream stream) {
  if (used == events.size()) {
    TPRT_ASSIGN_OR_RETURN(Owned<cuda::Event> event, device.createEvent(true));
    events.push_back(std::move(event));
  }
  TPRT_RETURN_IF_ERROR(
      device.check(device.driver.recordEvent(events[used].get(), stream),
                   "taking the time"));
  return used++;
}

void StepClock::add(uint32_t step, size_t begin, size_t end, bool isWait) {
  steps.push_back({step, begin, end, isWait});
}

absl::Status StepClock::finish(std::vector<StepTime> &times) const {
  auto read = [&](size_t note, int64_t &time) {
    float milliseconds = 0;
    absl::Status status =
        device.check(device.driver.getElapsed(&milliseconds, events[0].get(),
                                              events[note].get()),
                     "reading the time");
    time = origin + std::llround(static_cast<double>(milliseconds) * 1e6);
    return status;
  };
  for (const Step &step : steps) {
    StepTime time = {step.step, 0, 0, 0};
    TPRT_RETURN_IF_ERROR(read(step.begin, time.begin));
    TPRT_RETURN_IF_ERROR(read(step.end, time.end));
    if (step.isWait) {
      time.wait = time.end - time.begin;
      time.begin = time.end;
    }
    times.push_back(time);
  }
  return absl::OkStatus();
}
