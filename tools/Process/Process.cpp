// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Process.h"

#include "runtime/Core/StandardStreams.h"
#include "tpopt/Support/ErrorCodes.h"

#include "absl/synchronization/mutex.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <new>
#include <unistd.h>

using namespace llvm;
using namespace tp;

/// Ends the process, without the files that it was writing.
[[noreturn]] static void leave(int code) {
  sys::RunInterruptHandlers();
  std::_Exit(code);
}

[[noreturn]] static void die(ErrorCode code, StringRef why) {
  errs() << "error: " << prefix(code) << why << "\n";
  leave(3);
}

/// There may be no memory for a message that is put together.
[[noreturn]] static void dieOutOfMemory() {
  static constexpr char message[] =
      "error: [TP0621] out of memory: compile on a machine with more, or raise "
      "the limit (ulimit -v)\n";
  (void)!::write(STDERR_FILENO, message, sizeof(message) - 1);
  leave(3);
}

// Of mimalloc, for tools that allocate by it: it knows no new-handler, and
// aborts.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" __attribute__((weak)) void
mi_register_error(void (*handler)(int error, void *argument), void *argument);
// NOLINTEND(readability-identifier-naming)

static void catchNoMemory() {
  std::set_new_handler(dieOutOfMemory);
  if (mi_register_error)
    mi_register_error(
        [](int error, void *) {
          if (error == ENOMEM)
            dieOutOfMemory();
        },
        nullptr);
}

/// Constructors of shared libraries run before main, and those of LLVM take
/// memory: this runs before them.
[[gnu::section(".preinit_array"),
  gnu::used]] static void (*catchEarly)() = catchNoMemory;

/// What LLVM calls where it would abort. Some of these failures are the
/// machine's, and none of them the program's.
static void dieOfFatalError(void *, const char *reason, bool) {
  StringRef why = reason;
  if (why.consume_front("pthread_create failed: "))
    die(ErrorCode::LimitReached,
        "cannot start a thread: " + why.str() +
            "; raise the limit (ulimit -u), or pass --mlir-disable-threading");
  if (why.consume_front("IO failure on output stream: "))
    die(ErrorCode::DiskFull, "cannot write: " + why.str());
  errs() << "error: LLVM cannot go on: " << why << "\n";
  leave(2);
}

/// Runs in exit(), whoever called that.
static void finishOutput() {
  outs().flush();
  std::error_code error = outs().error();
  outs().clear_error();
  if (error)
    die(ErrorCode::DiskFull, "cannot write to stdout: " + error.message());
  // Of errors that could not be said, the exit code tells.
  errs().clear_error();
}

void tp::setUpProcess() {
  tprt::occupyStandardStreams();
  // Which would map memory at the first lock, and abort if there is none.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  std::signal(SIGXFSZ, SIG_IGN); // a file's limit is an error, like a full disk
  install_bad_alloc_error_handler(
      [](void *, const char *, bool) { dieOutOfMemory(); });
  install_fatal_error_handler(dieOfFatalError);
  // Before the streams' own ends, which are registered when they are made.
  (void)outs();
  (void)errs();
  std::atexit(finishOutput);
}
