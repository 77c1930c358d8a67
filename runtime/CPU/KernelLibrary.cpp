// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CPU/KernelLibrary.h"

#include "runtime/Core/CpuFeatures.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/File.h"
#include "runtime/Core/WriteAll.h"

#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tprt;

void KernelLibrary::Close::operator()(void *handle) const { dlclose(handle); }

/// Returns the folder of open descriptors, spelt differently each time. The
/// loader identifies a library by its path. As descriptor numbers are reused,
/// the loader would mistake the next library for the last one. So the path
/// contains the bits of a counter.
static std::string getNewFolder() {
  static std::atomic<uint64_t> counter{0};
  std::string path = "/proc/self/fd";
  for (uint64_t bits = ++counter; bits > 0; bits >>= 1)
    path += bits & 1 ? "//." : "/.";
  return path;
}

/// Opens the bytes of a shared object.
static absl::StatusOr<void *> openBytes(absl::string_view bytes) {
  auto fail = [](ErrorCode code, absl::string_view why) {
    return makeError(code, "cannot load the artifact's object code: ", why);
  };
  int descriptor = memfd_create("tprt-kernels", MFD_CLOEXEC);
  if (descriptor < 0)
    return fail(ErrorCode::OutOfMemory, std::strerror(errno));
  if (!writeAll(descriptor, bytes)) {
    absl::Status status = fail(ErrorCode::OutOfMemory, std::strerror(errno));
    ::close(descriptor);
    return status;
  }
  std::string path = absl::StrCat(getNewFolder(), "/", descriptor);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ::close(descriptor);
  if (handle)
    return handle;
  absl::string_view why = dlerror();
  return fail(getLoaderError(why, ErrorCode::ObjectCode), why);
}

absl::StatusOr<KernelLibrary> KernelLibrary::load(const Artifact &artifact) {
  TPRT_RETURN_IF_ERROR(artifact.checkTarget(kCpuTarget));
  KernelLibrary library;
  absl::string_view code = artifact.bytes(SectionKind::ObjectCode);
  absl::string_view cpu = artifact.bytes(SectionKind::CpuFeatures);
  absl::Span<const KernelRow> kernels = artifact.rows<KernelRow>();
  bool hasCode = !code.empty() || !kernels.empty();
  if (hasCode || !cpu.empty())
    TPRT_RETURN_IF_ERROR(checkCpu(cpu));
  if (!hasCode)
    return library; // only matmuls, copies and collectives
  TPRT_ASSIGN_OR_RETURN(void *handle, openBytes(code));
  library.handle.reset(handle);
  for (const KernelRow &kernel : kernels) {
    std::string symbol(artifact.text(kernel.symbol));
    void *address = dlsym(handle, symbol.c_str());
    if (!address)
      return makeError(ErrorCode::ObjectCode,
                       "the artifact's object code lacks the kernel '", symbol,
                       "'");
    library.functions.push_back(reinterpret_cast<KernelFunction>(address));
  }
  return library;
}
