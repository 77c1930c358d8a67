// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Compile.h"

#include "runtime/Core/Errors.h"
#include "runtime/Core/Hash.h"
#include "runtime/Core/MappedFile.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tprt;

extern char **environ;

/// The tp-opt in this tool's folder.
static absl::StatusOr<std::string> findCompiler() {
  char self[4096];
  ssize_t length = ::readlink("/proc/self/exe", self, sizeof(self));
  std::string path(self, length > 0 ? length : 0);
  path = path.substr(0, path.rfind('/') + 1) + "tp-opt";
  if (::access(path.c_str(), X_OK) == 0)
    return path;
  return makeError(ErrorCode::CompilerMissing,
                   "a .mlir needs the compiler, but "
                   "there is no '",
                   path,
                   "'; compile it elsewhere with tp-opt --tp-compile "
                   "--tp-artifact=FILE.tpx and run that");
}

/// Where compiled programs are kept; made if it is not there.
static absl::StatusOr<std::string> makeCache() {
  std::string folder;
  if (const char *cache = std::getenv("XDG_CACHE_HOME"))
    folder = cache;
  else if (const char *home = std::getenv("HOME"))
    folder = absl::StrCat(home, "/.cache");
  else
    folder = "/tmp";
  ::mkdir(folder.c_str(), 0777);
  folder += "/tp-opt";
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    return makeError(ErrorCode::FileUnreadable, "cannot make the folder '",
                     folder, "' for compiled programs: ", std::strerror(errno),
                     "; set XDG_CACHE_HOME to one that can be written");
  return folder;
}

/// Runs tp-opt; what it has to say goes to our stderr.
static absl::Status compile(const std::string &compiler,
                            const std::vector<std::string> &arguments) {
  std::vector<char *> argv = {const_cast<char *>(compiler.c_str())};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
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
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return absl::OkStatus();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
    return makeError(ErrorCode::CompilerFailed,
                     "tp-opt refused the program; see its message above");
  return makeError(ErrorCode::CompilerBroke, "tp-opt ended with ",
                   WIFEXITED(status) ? "code " : "signal ",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
                   "; see its message above");
}

absl::StatusOr<std::string> tprun::getArtifact(const Options &options) {
  if (!absl::EndsWith(options.program, ".mlir")) {
    if (!options.shard.empty())
      return makeError(ErrorCode::BadOption, "--shard is for a .mlir: '",
                       options.program, "' is compiled already");
    return options.program;
  }
  TPRT_ASSIGN_OR_RETURN(MappedFile text, MappedFile::open(options.program));
  TPRT_ASSIGN_OR_RETURN(std::string compiler, findCompiler());
  TPRT_ASSIGN_OR_RETURN(std::string cache, makeCache());
  std::string target =
      absl::StrCat("target=", options.backend, options.shard.empty() ? "" : " ",
                   options.shard);
  struct stat info = {};
  ::stat(compiler.c_str(), &info);
  std::string compilerIs = absl::StrCat(info.st_size, " ", info.st_mtim.tv_sec,
                                        " ", info.st_mtim.tv_nsec);
  uint64_t low = hashBytes(text.bytes(), hashBytes(target));
  uint64_t high = hashBytes(text.bytes(), hashBytes(compilerIs, ~low));
  std::string artifact = absl::StrFormat("%s/%016x%016x.tpx", cache, high, low);
  if (::access(artifact.c_str(), R_OK) == 0)
    return artifact;
  if (::isatty(STDERR_FILENO))
    std::fprintf(stderr, "compiling %s\n", options.program.c_str());
  // Ranks of one job may do this at once: each in its own file, renamed whole.
  std::string fresh = absl::StrCat(artifact, ".", ::getpid());
  absl::Status status = compile(
      compiler, {options.program, absl::StrCat("--tp-compile=", target),
                 absl::StrCat("--tp-artifact=", fresh), "-o", "/dev/null"});
  if (status.ok() && std::rename(fresh.c_str(), artifact.c_str()) != 0)
    status = makeError(ErrorCode::FileUnreadable, "cannot keep '", artifact,
                       "': ", std::strerror(errno));
  if (!status.ok()) {
    std::remove(fresh.c_str());
    return status;
  }
  return artifact;
}
