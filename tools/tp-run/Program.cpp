// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Program.h"

#include "Interpreter.h"
#include "MemoryFile.h"
#include "Progress.h"
#include "TpOpt.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Hash.h"
#include "runtime/Core/Shapes.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace tprt;
using namespace tprun;

/// As many elements the interpreter may get as input for a check: seconds, for
/// programs whose work grows with their weights.
static constexpr int64_t kMaxInterpreted = int64_t{1} << 20;

/// What errno says of the folder for compiled programs.
static absl::Status makeCacheError(absl::string_view what,
                                   absl::string_view folder) {
  return makeError(errno == ENOSPC || errno == EDQUOT
                       ? ErrorCode::DiskFull
                       : ErrorCode::CompilerHindered,
                   "cannot ", what, " the folder '", folder,
                   "' for compiled programs: ", std::strerror(errno),
                   "; set XDG_CACHE_HOME to one that can be written");
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
    return makeCacheError("make", folder);
  return folder;
}

/// What the compiler calls the backend's target: virtual ranks run what GPUs
/// do.
static std::string getTarget(const Options &options) {
  return options.backend == kVirtual ? kCudaTarget : options.backend;
}

/// The path of what a .mlir compiles to.
static absl::StatusOr<std::string> compile(const Options &options) {
  TPRT_ASSIGN_OR_RETURN(MappedFile text, MappedFile::open(options.program));
  TPRT_ASSIGN_OR_RETURN(std::string compiler, findCompiler());
  TPRT_ASSIGN_OR_RETURN(std::string cache, makeCache());
  std::string target =
      absl::StrCat("target=", getTarget(options),
                   options.shard.empty() ? "" : " ", options.shard);
  struct stat info = {};
  ::stat(compiler.c_str(), &info);
  std::string compilerIs = absl::StrCat(info.st_size, " ", info.st_mtim.tv_sec,
                                        " ", info.st_mtim.tv_nsec);
  uint64_t low = hashBytes(text.bytes(), hashBytes(target));
  uint64_t high = hashBytes(text.bytes(), hashBytes(compilerIs, ~low));
  std::string artifact = absl::StrFormat("%s/%016x%016x.tpx", cache, high, low);
  if (::access(artifact.c_str(), R_OK) == 0)
    return artifact;
  // From tp-opt it would be as if the program were wrong.
  if (::access(absl::StrCat(cache, "/.").c_str(), W_OK) != 0)
    return makeCacheError("write to", cache);
  Progress progress(absl::StrCat("compiling ", options.program));
  // tp-opt moves it there whole: ranks of one job may do this at once.
  TPRT_RETURN_IF_ERROR(
      runCompiler({options.program, absl::StrCat("--tp-compile=", target),
                   absl::StrCat("--tp-artifact=", artifact)}));
  return artifact;
}

/// The whole program that an artifact was made of, as a file.
static absl::StatusOr<MemoryFile> getWholeProgram(const Artifact &artifact) {
  absl::string_view bytes = artifact.bytes(SectionKind::GlobalProgram);
  if (bytes.empty())
    return makeError(ErrorCode::NoWholeProgram,
                     "the artifact does not carry the program it was made of; "
                     "compile it with tp-opt --tp-compile --tp-artifact");
  return MemoryFile::create(bytes);
}

absl::StatusOr<Program> tprun::loadProgram(const Options &options) {
  bool isText = absl::EndsWith(options.program, ".mlir");
  if (!isText && !options.shard.empty())
    return makeError(ErrorCode::BadOption, "--shard is for a .mlir: '",
                     options.program, "' is compiled already");
  if (options.backend == kInterpreter) {
    if (isText) {
      // tp-opt would say so, too, but not with our code.
      TPRT_RETURN_IF_ERROR(MappedFile::open(options.program).status());
      return loadInterpreted(options.program, options.shard);
    }
    TPRT_ASSIGN_OR_RETURN(auto artifact, Artifact::open(options.program));
    TPRT_ASSIGN_OR_RETURN(MemoryFile whole, getWholeProgram(*artifact));
    return loadInterpreted(whole.getPath(), "");
  }
  // Before anything is compiled for it.
  absl::Status loaded = loadBackend(options.backend).status();
  if (getErrorCode(loaded) == ErrorCode::UnknownBackend)
    return makeError(ErrorCode::UnknownBackend, "--backend=", options.backend,
                     ": there is no such backend; write ", kCpuTarget, ", ",
                     kCudaTarget, ", ", kVirtual, " or ", kInterpreter);
  if (!loaded.ok())
    return addContext(loaded, absl::StrCat("--backend=", options.backend));
  std::string path = options.program;
  if (isText) {
    TPRT_ASSIGN_OR_RETURN(path, compile(options));
  }
  TPRT_ASSIGN_OR_RETURN(auto artifact, Artifact::open(path));
  return Program{std::move(artifact), nullptr};
}

/// Whether the interpreter is fast enough for it.
static bool isSmall(const Artifact &artifact) {
  int64_t total = 0;
  for (const InputRow &input : artifact.rows<InputRow>()) {
    auto count = getNumElements(artifact.getGlobalShape(input.dims));
    if (!count || *count > kMaxInterpreted)
      return false;
    total += *count;
  }
  return total <= kMaxInterpreted;
}

absl::StatusOr<Program> tprun::loadReference(const Artifact &artifact,
                                             const Options &options, int draw) {
  TPRT_ASSIGN_OR_RETURN(MemoryFile whole, getWholeProgram(artifact));
  Progress progress("preparing the check");
  if (isSmall(artifact))
    return loadInterpreted(whole.getPath(), "", draw);
  // The same mesh, of one device.
  std::string mesh;
  for (const MeshAxis &axis : artifact.rows<MeshAxis>())
    absl::StrAppend(&mesh, mesh.empty() ? " mesh=" : ",",
                    artifact.text(axis.name), "=1");
  TPRT_ASSIGN_OR_RETURN(MemoryFile compiled, MemoryFile::create());
  std::vector<std::string> arguments = {whole.getPath()};
  if (draw > 0)
    arguments.insert(arguments.end(),
                     {"--tp-import-stablehlo",
                      absl::StrCat("--tp-move-arguments=seed=", draw)});
  arguments.insert(arguments.end(),
                   {absl::StrCat("--tp-compile=target=", kCpuTarget, mesh),
                    absl::StrCat("--tp-artifact=", compiled.getPath())});
  TPRT_RETURN_IF_ERROR(runCompiler(std::move(arguments)));
  TPRT_ASSIGN_OR_RETURN(std::string bytes, compiled.read());
  TPRT_ASSIGN_OR_RETURN(auto single, Artifact::fromBytes(bytes));
  return Program{std::move(single), nullptr};
}

std::string tprun::chooseEntry(const Artifact &artifact,
                               const Options &options) {
  if (!options.entry.empty())
    return options.entry;
  absl::Span<const EntryRow> entries = artifact.rows<EntryRow>();
  if (artifact.findEntry("main") || entries.empty())
    return "main";
  return std::string(artifact.text(entries.front().name));
}
