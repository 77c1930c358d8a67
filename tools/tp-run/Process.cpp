// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Process.h"

#include "runtime/Core/Errors.h"
#include "runtime/Core/StandardStreams.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>

using namespace tprt;

static std::atomic<bool> isExitExpected{true};

/// Ends the process with a fixed message, as there may be no memory for
/// assembling one.
[[noreturn]] static void dieOutOfMemory() {
  static constexpr char message[] =
      "error: [TP0878] out of memory: use more devices, or a smaller batch or "
      "cache, or raise the limit (ulimit -v)\n"
      "note: for more about TP0878 run tp-opt --explain-error=TP0878\n";
  (void)!::write(STDERR_FILENO, message, sizeof(message) - 1);
  std::_Exit(3);
}

void tprun::printHint(const absl::Status &status) {
  ErrorCode code = getErrorCode(status);
  if (code == ErrorCode::CompilerFailed ||
      code == ErrorCode::CompilerHindered || code == ErrorCode::CompilerBroke)
    return;
  int number = int(code);
  std::fprintf(
      stderr, "note: for more about TP%04d run tp-opt --explain-error=TP%04d\n",
      number, number);
}

static void die(const absl::Status &status) {
  std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  tprun::printHint(status);
  std::_Exit(getExitCode(status));
}

/// Runs in exit(), no matter who called it.
static void checkExit() {
  if (!isExitExpected)
    die(makeError(ErrorCode::LimitReached,
                  "a library ended the process; see its message above. If it "
                  "could not start a thread, raise the limit (ulimit -u)"));
  if (absl::Status status = tprun::flushStdout(); !status.ok())
    die(status);
}

void tprun::setUpProcess() {
  occupyStandardStreams();
  std::signal(SIGXFSZ, SIG_IGN); // exceeding a file size limit is an error
  std::set_new_handler(dieOutOfMemory);
  std::atexit(checkExit);
}

void tprun::expectNoExit() { isExitExpected = false; }

void tprun::expectExit() { isExitExpected = true; }

absl::Status tprun::flushStdout() {
  errno = 0;
  // If an earlier flush failed, the error flag is still set.
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return absl::OkStatus();
  return makeError(ErrorCode::DiskFull, "cannot write to stdout: ",
                   errno != 0 ? std::strerror(errno) : "output was lost");
}
