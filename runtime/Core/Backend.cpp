// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Backend.h"

#include "runtime/Core/File.h"

#include "absl/algorithm/container.h"

#include <dlfcn.h>
#include <unistd.h>

using namespace tprt;

/// Returns the file name of the library that contains the backend or transport
/// of this name.
static std::string getLibrary(const std::string &name) {
  bool isCuda = name == kVirtual || name == kEnvironment;
  return absl::StrCat("libtprt_", isCuda ? "cuda" : name, ".so");
}

/// Returns true if this project builds the library for this name. Without that
/// library, the installation is incomplete.
static bool isOurs(const std::string &name) {
  constexpr absl::string_view ours[] = {kCpuTarget, kCudaTarget, kVirtual,
                                        kEnvironment, "mpi"};
  return absl::c_linear_search(ours, name);
}

/// Opens `libtprt_NAME.so` in the folder of this library, once per process.
/// Null if there is none and none is required.
static absl::StatusOr<const Plugin *> loadPlugin(const std::string &name) {
  auto fail = [&](absl::string_view why) {
    return makeError(
        ErrorCode::BackendMissing, "cannot load '", name, "': ", why,
        "; install ", getLibrary(name),
        " and the libraries that it depends on in the folder of libtprt.so");
  };
  if (name.empty() || name.find('/') != std::string::npos)
    return nullptr;
  // Look in this library's own folder first: the plugin must come from the same
  // build.
  Dl_info self;
  std::string library = getLibrary(name);
  if (dladdr(reinterpret_cast<void *>(&loadPlugin), &self) && self.dli_fname)
    if (const char *slash = strrchr(self.dli_fname, '/'))
      library.insert(0, self.dli_fname, slash + 1 - self.dli_fname);
  // Open MPI finds its own plugins through symbols that must be global.
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle && !isOurs(name) && ::access(library.c_str(), F_OK) != 0)
    return nullptr;
  if (!handle) {
    absl::string_view why = dlerror();
    ErrorCode code = getLoaderError(why, ErrorCode::BackendMissing);
    if (code != ErrorCode::BackendMissing)
      return makeError(code, "cannot load '", name, "': ", why,
                       "; raise the limits (ulimit -v, ulimit -n)");
    return fail(why);
  }
  using GetPlugin = const Plugin *(*)();
  auto get = reinterpret_cast<GetPlugin>(dlsym(handle, "tprtGetPlugin"));
  if (!get)
    return fail("it is not a plugin of this runtime");
  const Plugin *plugin = get();
  if (plugin->version != kPluginVersion)
    return fail(absl::StrCat("it has plugin version ", plugin->version,
                             ", but this runtime expects ", kPluginVersion));
  return plugin;
}

absl::StatusOr<CreateBackend *> tprt::loadBackend(const std::string &name) {
  TPRT_ASSIGN_OR_RETURN(const Plugin *plugin, loadPlugin(name));
  if (plugin && plugin->createBackend)
    return plugin->createBackend;
  return makeError(ErrorCode::UnknownBackend, "unknown backend '", name,
                   "'; write ", kCpuTarget, ", ", kCudaTarget, " or ",
                   kVirtual);
}

absl::StatusOr<Plugin::CreateWorld>
tprt::loadTransport(const std::string &name) {
  TPRT_ASSIGN_OR_RETURN(const Plugin *plugin, loadPlugin(name));
  if (plugin && plugin->createWorld)
    return plugin->createWorld;
  return makeError(ErrorCode::UnknownBackend, "unknown transport '", name,
                   "'; write threads, mpi or ", kEnvironment);
}
