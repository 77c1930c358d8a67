// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TpOpt.h"

#include "runtime/Core/Errors.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tprt;

extern char **environ;

absl::StatusOr<std::string> tprun::findCompiler() {
  char self[4096];
  ssize_t length = ::readlink("/proc/self/exe", self, sizeof(self));
  std::string path(self, length > 0 ? length : 0);
  path = path.substr(0, path.rfind('/') + 1) + "tp-opt";
  if (::access(path.c_str(), X_OK) == 0)
    return path;
  return makeError(ErrorCode::CompilerMissing,
                   "a .mlir file, --check and the interpreter need the "
                   "compiler, but it was not found at '",
                   path,
                   "'; compile elsewhere with tp-opt --tp-compile "
                   "--tp-artifact=FILE.tpx and run that");
}

absl::Status tprun::runCompiler(std::vector<std::string> arguments) {
  TPRT_ASSIGN_OR_RETURN(std::string compiler, findCompiler());
  arguments.insert(arguments.begin(), compiler);
  arguments.insert(arguments.end(), {"-o", "/dev/null"});
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(&argument[0]);
  argv.push_back(nullptr);
  pid_t child;
  int error = ::posix_spawn(&child, compiler.c_str(), nullptr, nullptr,
                            argv.data(), environ);
  if (error != 0)
    return makeError(ErrorCode::CompilerMissing, "cannot start '", compiler,
                     "': ", std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == 0)
    return absl::OkStatus();
  if (code == 1)
    return makeError(ErrorCode::CompilerFailed,
                     "tp-opt rejected the program; see its message above; if "
                     "the message names --tp-shard, write --shard for tp-run");
  if (code == 3)
    return makeError(ErrorCode::CompilerHindered,
                     "tp-opt failed on this machine; see its message above");
  // The exit code is 127 if the loader does not find a library, or has no
  // memory for it.
  if (code == 127)
    return makeError(ErrorCode::CompilerHindered,
                     "tp-opt could not be started; see the message above");
  // Other signals come from a user who stops tp-opt, and end this process, too.
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    return makeError(
        ErrorCode::CompilerHindered,
        "tp-opt was killed, probably because the machine ran out of memory");
  return makeError(ErrorCode::CompilerBroke, "tp-opt ended with ",
                   WIFEXITED(status) ? "code " : "signal ",
                   WIFEXITED(status) ? code : WTERMSIG(status),
                   "; see its message above");
}
