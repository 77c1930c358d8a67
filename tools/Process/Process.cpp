// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Process.h"

#include "FrontDoor.h"

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

/// Ends the process, after removing the files that it was writing.
[[noreturn]] static void leave(int code) {
  sys::RunInterruptHandlers();
  std::_Exit(code);
}

[[noreturn]] static void die(ErrorCode code, StringRef why) {
  errs() << "error: " << prefix(code) << why << "\n";
  printHint(code);
  leave(3);
}

/// Uses a fixed message, as there may be no memory for assembling one.
[[noreturn]] static void dieOutOfMemory() {
  static constexpr char message[] =
      "error: [TP0621] out of memory: compile on a machine with more memory, "
      "or raise "
      "the limit (ulimit -v)\n"
      "note: for more about TP0621 run tp-opt --explain-error=TP0621\n";
  (void)!::write(STDERR_FILENO, message, sizeof(message) - 1);
  leave(3);
}

// Defined in tools that allocate with mimalloc, which ignores the new-handler
// and aborts when memory runs out.
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

/// Constructors of shared libraries run before main. Those of LLVM allocate
/// memory, so this must run before them.
[[gnu::section(".preinit_array"),
  gnu::used]] static void (*catchEarly)() = catchNoMemory;

/// LLVM calls this where it would otherwise abort. Some of these failures are
/// the machine's fault, and none is the fault of the compiled program.
static void dieOfFatalError(void *, const char *reason, bool) {
  StringRef why = reason;
  if (why.consume_front("pthread_create failed: "))
    die(ErrorCode::LimitReached,
        "cannot start a thread: " + why.str() +
            "; raise the limit (ulimit -u), or pass --mlir-disable-threading");
  if (why.consume_front("IO failure on output stream: "))
    die(ErrorCode::DiskFull, "cannot write: " + why.str());
  errs() << "error: LLVM failed: " << why << "\n";
  leave(2);
}

/// Runs in exit(), no matter who called it.
static void finishOutput() {
  outs().flush();
  std::error_code error = outs().error();
  outs().clear_error();
  if (error)
    die(ErrorCode::DiskFull, "cannot write to stdout: " + error.message());
  // If errors could not be printed, the exit code reports them.
  errs().clear_error();
}

void tp::setUpProcess() {
  tprt::occupyStandardStreams();
  // Deadlock detection would map memory at the first lock, and abort if that
  // fails.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  std::signal(SIGXFSZ, SIG_IGN); // exceeding a file size limit is an error
  install_bad_alloc_error_handler(
      [](void *, const char *, bool) { dieOutOfMemory(); });
  install_fatal_error_handler(dieOfFatalError);
  // Creates the streams first: their own cleanup is registered at creation, and
  // must run after finishOutput.
  (void)outs();
  (void)errs();
  std::atexit(finishOutput);
}
