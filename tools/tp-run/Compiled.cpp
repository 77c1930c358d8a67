// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Compiled.h"

#include "MemoryFile.h"
#include "Progress.h"
#include "TpOpt.h"
#include "runtime/Core/Backend.h"
#include "runtime/Core/CacheFolder.h"
#include "runtime/Core/CpuFeatures.h"
#include "runtime/Core/Sha256.h"

#include "absl/strings/strip.h"

#include <cstdio>
#include <sys/stat.h>

using namespace tprt;

/// The limit for the size of all cached programs together, which
/// docs/running.md mentions.
static constexpr uint64_t kMaxBytes = uint64_t{2} << 30;
static constexpr absl::string_view kSuffix = ".tpx";

/// Returns the compiler's name for the backend's target. Virtual ranks run the
/// same code as GPUs.
static std::string getTarget(const tprun::Options &options) {
  return options.backend == kVirtual ? kCudaTarget : options.backend;
}

/// Returns the values of the options in a text with tp-opt's syntax, `key=value
/// other='with blanks'`.
static std::vector<std::string> getValues(absl::string_view text) {
  std::vector<std::string> values;
  while (!text.empty()) {
    size_t equals = text.find('=');
    if (equals == absl::string_view::npos)
      break;
    text.remove_prefix(equals + 1);
    absl::string_view ends = " \t\n";
    if (absl::ConsumePrefix(&text, "'"))
      ends = "'";
    else if (absl::ConsumePrefix(&text, "\""))
      ends = "\"";
    else if (absl::ConsumePrefix(&text, "{"))
      ends = "}";
    values.emplace_back(text.substr(0, text.find_first_of(ends)));
    text.remove_prefix(values.back().size());
  }
  return values;
}

/// Identifies a file and its version.
static std::string identify(const std::string &path) {
  struct stat info = {};
  ::stat(path.c_str(), &info);
  return absl::StrCat(path, " ", info.st_dev, " ", info.st_ino, " ",
                      info.st_size, " ", info.st_mtim.tv_sec, " ",
                      info.st_mtim.tv_nsec, " ", info.st_ctim.tv_sec, " ",
                      info.st_ctim.tv_nsec);
}

/// Returns the name of a compiled program in the cache.
static absl::StatusOr<std::string> getName(const std::string &program,
                                           const std::string &pipeline) {
  TPRT_ASSIGN_OR_RETURN(File file, File::open(program));
  TPRT_ASSIGN_OR_RETURN(AlignedBuffer text, file.readAll());
  TPRT_ASSIGN_OR_RETURN(std::string compiler, tprun::findCompiler());
  Sha256 hash;
  hash.addPiece(absl::StrCat("format ", kFormatVersion));
  hash.addPiece(identify(compiler));
  hash.addPiece(getHostCpu());
  hash.addPiece(text.view());
  hash.addPiece(pipeline);
  // The value of an option may name a file (a plan, a machine, an assembler).
  // The name in the cache then depends on the contents of that file, too.
  for (const std::string &value : getValues(pipeline)) {
    auto named = File::open(value);
    if (getErrorCode(named.status()) == ErrorCode::FileUnreadable) {
      hash.addPiece("no file");
      continue;
    }
    TPRT_RETURN_IF_ERROR(named.status());
    TPRT_ASSIGN_OR_RETURN(AlignedBuffer contents, named->readAll());
    hash.addPiece("file");
    hash.addPiece(contents.view());
  }
  return absl::StrCat(hash.finish(), kSuffix);
}

/// Loads an entry of the cache, if it is complete and runs on this machine.
static absl::StatusOr<std::shared_ptr<const Artifact>>
load(const CacheFolder &folder, const std::string &name,
     absl::string_view target) {
  TPRT_ASSIGN_OR_RETURN(File file, folder.openEntry(name));
  TPRT_ASSIGN_OR_RETURN(auto artifact, Artifact::read(file));
  TPRT_RETURN_IF_ERROR(artifact->checkTarget(target));
  absl::string_view cpu = artifact->bytes(SectionKind::CpuFeatures);
  if (!cpu.empty())
    TPRT_RETURN_IF_ERROR(checkCpu(cpu));
  return artifact;
}

/// A failure of the cache is not an error.
static void noteNotKept(const absl::Status &status) {
  std::fprintf(stderr, "note: the compiled program is not cached: %s\n",
               std::string(status.message()).c_str());
}

static absl::StatusOr<std::string>
compileToBytes(const std::string &program, const std::string &pipeline,
               const std::vector<std::string> &before = {}) {
  TPRT_ASSIGN_OR_RETURN(tprun::MemoryFile compiled,
                        tprun::MemoryFile::create());
  std::vector<std::string> arguments = {program};
  arguments.insert(arguments.end(), before.begin(), before.end());
  arguments.push_back(absl::StrCat("--tp-compile=", pipeline));
  arguments.push_back(absl::StrCat("--tp-artifact=", compiled.getPath()));
  TPRT_RETURN_IF_ERROR(tprun::runCompiler(std::move(arguments)));
  return compiled.read();
}

absl::StatusOr<std::shared_ptr<const Artifact>>
tprun::compile(const std::string &program, const std::string &pipeline,
               const std::vector<std::string> &before) {
  TPRT_ASSIGN_OR_RETURN(std::string bytes,
                        compileToBytes(program, pipeline, before));
  return Artifact::fromBytes(bytes);
}

absl::StatusOr<std::shared_ptr<const Artifact>>
tprun::compile(const Options &options) {
  std::string target = getTarget(options);
  std::string pipeline =
      absl::StrCat("target=", target, " default-mesh=true",
                   options.shard.empty() ? "" : " ", options.shard);
  std::string what = absl::StrCat("compiling ", options.program);
  if (!options.cache) {
    Progress progress(what);
    return compile(options.program, pipeline);
  }
  TPRT_ASSIGN_OR_RETURN(std::string name, getName(options.program, pipeline));
  auto folder = CacheFolder::open();
  if (folder.ok())
    if (auto kept = load(*folder, name, target); kept.ok())
      return kept;
  Progress progress(what);
  TPRT_ASSIGN_OR_RETURN(std::string bytes,
                        compileToBytes(options.program, pipeline));
  TPRT_ASSIGN_OR_RETURN(auto artifact, Artifact::fromBytes(bytes));
  absl::Status kept = folder.status();
  if (kept.ok() && bytes.size() > kMaxBytes)
    kept = makeError(ErrorCode::CacheUnusable, "it has ", bytes.size(),
                     " bytes, more than the limit for the whole cache");
  if (kept.ok())
    kept = folder->write(name, bytes);
  if (!kept.ok())
    noteNotKept(kept);
  else
    folder->prune(kSuffix, kMaxBytes);
  return artifact;
}
