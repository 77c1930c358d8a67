// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TrainLog.h"

#include "OutputFile.h"
#include "Process.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/WriteAll.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace tprt;
using namespace tprun;

StepSplit tprun::split(const Artifact &artifact,
                       const Session::RankTimes &times, double total) {
  StepSplit split;
  split.total = total;
  for (const StepTime &time : times.steps) {
    double seconds = static_cast<double>(time.end - time.begin) * 1e-9;
    StepKind kind = artifact.rows<StepRow>()[time.step].kind;
    if (kind != StepKind::CollectiveStart && kind != StepKind::CollectiveDone) {
      split.compute += seconds;
      continue;
    }
    double waited = static_cast<double>(time.wait) * 1e-9;
    split.waiting += waited;
    // On GPUs, the host's wait takes no time: kernels wait on their stream
    // while the collective runs on its own stream.
    split.communication += std::max(0.0, seconds - waited);
  }
  return split;
}

absl::StatusOr<TrainLog> TrainLog::open(const std::string &path) {
  TrainLog log;
  if (path.empty())
    return log;
  TPRT_RETURN_IF_ERROR(checkWritable(path));
  log.path = path;
  log.descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
             0666 /* less the umask */);
  if (log.descriptor < 0)
    return makeError(ErrorCode::FileUnwritable, "cannot write '", path,
                     "': ", std::strerror(errno),
                     "; name a file in a folder that can be written to");
  return log;
}

TrainLog::~TrainLog() {
  if (descriptor >= 0)
    ::close(descriptor);
}

static void print(const TrainedStep &step) {
  const StepSplit &time = step.time;
  std::string last = std::to_string(step.last);
  bool hasTokens = step.tokens > 0;
  std::printf(
      "step %*llu/%s  loss %-10.6g %9.0f %s/s %9.2f ms: %.2f compute, %.2f "
      "communication, %.2f waiting\n",
      static_cast<int>(last.size()),
      static_cast<unsigned long long>(step.number), last.c_str(), step.loss,
      static_cast<double>(hasTokens ? step.tokens : step.samples) / time.total,
      hasTokens ? "tokens" : "samples", time.total * 1e3, time.compute * 1e3,
      time.communication * 1e3, time.waiting * 1e3);
}

absl::Status TrainLog::add(const TrainedStep &step) const {
  print(step);
  TPRT_RETURN_IF_ERROR(flushStdout());
  if (descriptor < 0)
    return absl::OkStatus();
  nlohmann::ordered_json line;
  line["step"] = step.number;
  line["loss"] = step.loss;
  for (const auto &[name, value] : step.scalars)
    line[name] = value;
  line[step.tokens > 0 ? "tokens" : "samples"] =
      step.tokens > 0 ? step.tokens : step.samples;
  line["seconds"] = step.time.total;
  line["compute_s"] = step.time.compute;
  line["communication_s"] = step.time.communication;
  line["waiting_s"] = step.time.waiting;
  // A name that is not UTF-8 cannot be in JSON: its invalid bytes are replaced.
  std::string text =
      line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (!writeAll(descriptor, text + "\n"))
    return makeError(ErrorCode::DiskFull, "cannot write all of '", path,
                     "': ", std::strerror(errno),
                     "; make room, or name a file elsewhere");
  return absl::OkStatus();
}
