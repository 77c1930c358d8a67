// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/Library.h"

#include "runtime/CUDA/Blas.h"
#include "runtime/CUDA/Driver.h"
#include "runtime/CUDA/Nccl.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"

#include <dlfcn.h>
#include <utility>
#include <vector>

using namespace tprt;

absl::Status tprt::openLibrary(absl::Span<const char *const> names,
                               absl::string_view remedy,
                               absl::Span<const LibraryFunction> functions) {
  void *handle = nullptr;
  std::string why;
  for (const char *name : names) {
    handle = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (handle)
      break;
    if (why.empty())
      why = dlerror();
  }
  if (!handle)
    return makeError(ErrorCode::GpuLibrary, "cannot load ",
                     absl::StrJoin(names, " or "), ": ", why, "; ", remedy);
  for (const LibraryFunction &function : functions) {
    *function.place = dlsym(handle, function.symbol);
    if (!*function.place && !function.optional)
      return makeError(ErrorCode::GpuLibrary, names.front(), " does not have ",
                       function.symbol, ", because it is too old; ", remedy);
  }
  return absl::OkStatus();
}

#define TPRT_REQUIRED(name, symbol, ...)                                       \
  {#symbol, reinterpret_cast<void **>(&library.name), false},
#define TPRT_OPTIONAL(name, symbol, ...)                                       \
  {#symbol, reinterpret_cast<void **>(&library.name), true},

absl::StatusOr<const Driver *> tprt::openDriver() {
  static Driver library;
  static const absl::Status status = openLibrary(
      {"libcuda.so.1"}, "install version 535 or later of the NVIDIA driver",
      {TPRT_DRIVER_FUNCTIONS(TPRT_REQUIRED)});
  TPRT_RETURN_IF_ERROR(status);
  return &library;
}

/// The newer library comes first, if the driver is new enough: an old driver
/// can load the newer library, but that then fails to initialize.
static std::vector<const char *> getBlasNames() {
  std::vector<const char *> names = {"libcublasLt.so.13", "libcublasLt.so.12"};
  int version = 0; // 1000 * major + 10 * minor
  absl::StatusOr<const Driver *> driver = openDriver();
  if (driver.ok() && (*driver)->getVersion(&version) == cuda::kSuccess &&
      version < 13000)
    std::swap(names[0], names[1]);
  return names;
}

absl::StatusOr<const Blas *> tprt::openBlas() {
  static Blas library;
  static const absl::Status status = openLibrary(
      getBlasNames(),
      "install cuBLAS (libcublas of CUDA 12 or 13, or the PyPI package "
      "nvidia-cublas) and add its folder to LD_LIBRARY_PATH",
      {TPRT_BLAS_FUNCTIONS(TPRT_REQUIRED)});
  TPRT_RETURN_IF_ERROR(status);
  return &library;
}

absl::StatusOr<const Nccl *> tprt::openNccl() {
  static Nccl library;
  static const absl::Status status =
      openLibrary({"libnccl.so.2"},
                  "install NCCL 2.18 or later (libnccl2, or the PyPI package "
                  "nvidia-nccl-cu13) and add its folder to LD_LIBRARY_PATH",
                  {TPRT_NCCL_FUNCTIONS(TPRT_REQUIRED)
                       TPRT_NCCL_OPTIONAL_FUNCTIONS(TPRT_OPTIONAL)});
  TPRT_RETURN_IF_ERROR(status);
  return &library;
}

absl::Status Driver::check(cuda::Result result, absl::string_view what) const {
  if (result == cuda::kSuccess)
    return absl::OkStatus();
  const char *text = nullptr;
  if (getErrorString(result, &text) != cuda::kSuccess || !text)
    text = "an unknown error";
  return makeError(ErrorCode::GpuFailed, "the GPU: ", what, ": ", text, " (",
                   result, ")");
}

absl::Status Blas::check(blas::Status result, absl::string_view what) const {
  if (result == blas::kSuccess)
    return absl::OkStatus();
  return makeError(ErrorCode::MatmulFailed, "cuBLASLt: ", what, ": ",
                   getStatusString(result));
}

absl::Status Nccl::check(nccl::Result result, absl::string_view what) const {
  if (result == nccl::kSuccess || result == nccl::kInProgress)
    return absl::OkStatus();
  // "invalid usage" does not say what was wrong, but the last error does.
  absl::string_view details = getLastError ? getLastError(nullptr) : "";
  details = absl::StripAsciiWhitespace(details);
  // Another process has ended or cannot be reached. That process reports the
  // cause.
  ErrorCode code = result == nccl::kRemoteError ? ErrorCode::PeerFailed
                                                : ErrorCode::Transport;
  return makeError(code, "NCCL: ", what, ": ", getErrorString(result),
                   details.empty() ? "" : ": ", details);
}
