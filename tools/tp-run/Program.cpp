// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Program.h"

#include "Compiled.h"
#include "Interpreter.h"
#include "MemoryFile.h"
#include "Progress.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Shapes.h"

#include "absl/strings/match.h"

#include <fstream>
#include <sys/stat.h>

using namespace tprt;
using namespace tprun;

/// A check uses the interpreter if all inputs together have at most this many
/// elements. If the work of such a program is proportional to the size of its
/// weights, the interpreter takes only seconds.
static constexpr int64_t kMaxInterpreted = int64_t{1} << 20;

/// Returns the whole program from which an artifact was made, as a file.
static absl::StatusOr<MemoryFile> getWholeProgram(const Artifact &artifact) {
  absl::string_view bytes = artifact.bytes(SectionKind::GlobalProgram);
  if (bytes.empty())
    return makeError(
        ErrorCode::NoWholeProgram,
        "the artifact does not contain the program that it was compiled from; "
        "compile it with tp-opt --tp-compile --tp-artifact");
  return MemoryFile::create(bytes);
}

/// Returns true for programs that the compiler reads. Text is recognized by the
/// file's name, bytecode also by its first bytes.
static bool isSource(const std::string &path) {
  if (absl::EndsWith(path, ".mlir") || absl::EndsWith(path, ".mlirbc"))
    return true;
  // Opening a pipe would block until somebody writes to it.
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return false;
  char start[4] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof(start));
  return getFileKind({start, sizeof(start)}) == FileKind::Bytecode;
}

absl::StatusOr<Program> tprun::loadProgram(const Options &options) {
  bool needsCompiler = isSource(options.program);
  if (!needsCompiler && !options.shard.empty()) {
    TPRT_RETURN_IF_ERROR(Artifact::open(options.program).status());
    return makeError(ErrorCode::BadOption,
                     "--shard is only for a .mlir file: '", options.program,
                     "' is already compiled");
  }
  if (options.backend == kInterpreter) {
    if (needsCompiler) {
      // tp-opt would also report this, but not with our error code.
      TPRT_RETURN_IF_ERROR(File::open(options.program).status());
      return loadInterpreted(options.program, options.shard);
    }
    TPRT_ASSIGN_OR_RETURN(auto artifact, Artifact::open(options.program));
    TPRT_ASSIGN_OR_RETURN(MemoryFile whole, getWholeProgram(*artifact));
    return loadInterpreted(whole.getPath(), "");
  }
  // Check the backend before anything is compiled for it.
  absl::Status loaded = loadBackend(options.backend).status();
  if (getErrorCode(loaded) == ErrorCode::UnknownBackend)
    return makeError(ErrorCode::UnknownBackend, "--backend=", options.backend,
                     ": unknown backend; write ", kCpuTarget, ", ", kCudaTarget,
                     ", ", kVirtual, " or ", kInterpreter);
  if (!loaded.ok())
    return addContext(loaded, absl::StrCat("--backend=", options.backend));
  TPRT_ASSIGN_OR_RETURN(auto artifact, needsCompiler
                                           ? compile(options)
                                           : Artifact::open(options.program));
  return Program{std::move(artifact), nullptr};
}

/// Returns true if the interpreter is fast enough for the program.
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
  // A mesh with the same axes, each of size 1, so that it has one device.
  std::string mesh;
  for (const MeshAxis &axis : artifact.rows<MeshAxis>())
    absl::StrAppend(&mesh, mesh.empty() ? " mesh=" : ",",
                    artifact.text(axis.name), "=1");
  std::vector<std::string> before;
  if (draw > 0)
    before = {"--tp-import-stablehlo",
              absl::StrCat("--tp-move-arguments=seed=", draw)};
  TPRT_ASSIGN_OR_RETURN(
      auto single, compile(whole.getPath(),
                           absl::StrCat("target=", kCpuTarget, mesh), before));
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
