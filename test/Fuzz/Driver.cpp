// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Trials in processes of their own.

#include "Driver.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstring>
#include <optional>
#include <vector>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tp::fuzz;
namespace cl = llvm::cl;

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

namespace {

/// What a worker writes: the seed before its trial, and again with the report
/// behind it.
struct Header {
  uint64_t seed;
  int64_t size; ///< Of the report; -1 before the trial.
};

void writeAll(int file, const void *data, size_t size) {
  const char *bytes = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t written = write(file, bytes, size);
    if (written <= 0)
      _exit(3); // the parent is gone
    bytes += written;
    size -= written;
  }
}

/// A process that works on seeds from `next` to `end`.
struct Worker {
  pid_t pid = -1;
  int file = -1;
  std::string input; ///< What has been read and makes no message yet.
  uint64_t next = 0, end = 0;
  std::optional<uint64_t> running;
  Clock::time_point started;

  bool isAlive() const { return pid > 0; }

  void start(const std::function<Trial()> &makeTrial) {
    int files[2];
    if (pipe(files) != 0)
      return;
    llvm::outs().flush();
    pid = fork();
    if (pid == 0) {
      close(files[0]);
      Trial trial = makeTrial();
      for (uint64_t seed = next; seed < end; ++seed) {
        Header header{seed, -1};
        writeAll(files[1], &header, sizeof(header));
        std::string report = trial(seed);
        header.size = report.size();
        writeAll(files[1], &header, sizeof(header));
        writeAll(files[1], report.data(), report.size());
      }
      // No destructors of what belongs to the parent.
      _exit(0);
    }
    close(files[1]);
    file = files[0];
    started = Clock::now();
    running.reset();
    input.clear();
  }

  /// Reads what is there. Returns false at the end.
  bool receive(const std::function<void(const Outcome &)> &take) {
    char buffer[1 << 16];
    ssize_t count = read(file, buffer, sizeof(buffer));
    if (count <= 0)
      return false;
    input.append(buffer, count);
    Header header;
    while (input.size() >= sizeof(header)) {
      std::memcpy(&header, input.data(), sizeof(header));
      size_t size = std::max<int64_t>(header.size, 0);
      if (input.size() < sizeof(header) + size)
        break;
      started = Clock::now();
      if (header.size < 0) {
        running = header.seed;
      } else {
        running.reset();
        next = header.seed + 1;
        take({header.seed, input.substr(sizeof(header), size), ""});
      }
      input.erase(0, sizeof(header) + size);
    }
    return true;
  }

  /// The process has ended; if in a trial, that is what killed it.
  void bury(bool hung, const std::function<void(const Outcome &)> &take) {
    close(file);
    int status = 0;
    waitpid(pid, &status, 0);
    pid = -1;
    if (!running)
      return;
    std::string death = hung ? "hangs"
                        : WIFSIGNALED(status)
                            ? "signal " + std::to_string(WTERMSIG(status))
                            : "exit " + std::to_string(WEXITSTATUS(status));
    take({*running, "", death});
    next = *running + 1;
  }
};

} // namespace

Options::Options(double deadline)
    : seed("seed", cl::desc("First seed"), cl::init(1)),
      deadline("deadline", cl::desc("Seconds after which one hangs"),
               cl::init(deadline)),
      count("count", cl::desc("How many trials"), cl::init(1)),
      seconds("time", cl::desc("End after so many seconds")),
      jobs("jobs", cl::desc("Processes at a time"), cl::init(1)),
      folder("out", cl::desc("Where failures are written"), cl::init(".")) {}

/// Rewrites the last line of a terminal, says nothing elsewhere.
static void showProgress(const llvm::Twine &text) {
  static const bool isTerminal = isatty(STDERR_FILENO);
  if (isTerminal)
    llvm::errs() << '\r' << text << "\x1b[K";
}

int Options::run(llvm::StringRef what, const std::function<Trial()> &makeTrial,
                 llvm::function_ref<bool(const Outcome &)> take,
                 llvm::function_ref<void()> summarize) const {
  Schedule schedule;
  schedule.seed = seed;
  // Without a count, as many as fit into the time.
  schedule.count = seconds > 0 && count == 1 ? UINT64_MAX - seed : count;
  schedule.seconds = seconds;
  schedule.jobs = jobs;
  schedule.deadline = deadline;
  Clock::time_point begin = Clock::now();
  uint64_t done = 0, failures = 0;
  runTrials(schedule, makeTrial, [&](const Outcome &outcome) {
    failures += take(outcome);
    if (++done % 50 == 0)
      showProgress(llvm::Twine(done) + " " + what + ", " +
                   llvm::Twine(failures) + " failures");
  });
  showProgress("");
  llvm::outs() << done << ' ' << what << " from seed " << seed << " in "
               << llvm::format("%.1f", secondsSince(begin)) << " s\n";
  summarize();
  llvm::outs() << failures << " failures\n";
  return failures > 0;
}

void Options::write(const std::string &name, llvm::StringRef bytes) const {
  std::error_code error;
  llvm::sys::fs::create_directories(folder.getValue());
  llvm::raw_fd_ostream os(folder + "/" + name, error);
  if (error)
    llvm::errs() << name << ": " << error.message() << '\n';
  else
    os << bytes;
}

void tp::fuzz::runTrials(const Schedule &schedule,
                         const std::function<Trial()> &makeTrial,
                         const std::function<void(const Outcome &)> &take) {
  constexpr uint64_t kChunk = 250;
  Clock::time_point begin = Clock::now();
  uint64_t next = schedule.seed, end = schedule.seed + schedule.count;
  auto isOver = [&] {
    return schedule.seconds > 0 && secondsSince(begin) > schedule.seconds;
  };
  std::vector<Worker> workers(schedule.jobs);
  while (true) {
    std::vector<pollfd> files;
    std::vector<Worker *> owners;
    for (Worker &worker : workers) {
      if (!worker.isAlive()) {
        if (worker.next == worker.end && next < end) {
          worker.next = next;
          worker.end = next = std::min(end, next + kChunk);
        }
        if (worker.next < worker.end && !isOver())
          worker.start(makeTrial);
      }
      if (worker.isAlive()) {
        files.push_back({worker.file, POLLIN, 0});
        owners.push_back(&worker);
      }
    }
    if (files.empty())
      return;
    poll(files.data(), files.size(), /*milliseconds=*/200);
    for (size_t i = 0; i < files.size(); ++i) {
      Worker &worker = *owners[i];
      // Whatever kept this process from reading, the trial is not to blame.
      bool hung = worker.running &&
                  secondsSince(worker.started) > schedule.deadline &&
                  poll(&files[i], 1, /*milliseconds=*/0) == 0;
      if (hung || (isOver() && !worker.running))
        kill(worker.pid, SIGKILL);
      else if (files[i].revents == 0 || worker.receive(take))
        continue;
      worker.bury(hung, take);
    }
  }
}

Outcome tp::fuzz::runTrial(const std::function<std::string()> &trial,
                           double deadline) {
  Outcome result;
  Schedule schedule;
  schedule.deadline = deadline;
  runTrials(
      schedule, [&]() -> Trial { return [&](uint64_t) { return trial(); }; },
      [&](const Outcome &outcome) { result = outcome; });
  return result;
}
