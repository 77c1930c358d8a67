// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Backend.h"

#include <dlfcn.h>

using namespace tprt;

/// The library that has the backend or transport of this name.
static std::string getLibrary(const std::string &name) {
  bool isCuda = name == kVirtual || name == kEnvironment;
  return absl::StrCat("libtprt_", isCuda ? "cuda" : name, ".so");
}

absl::StatusOr<const Plugin *> tprt::loadPlugin(const std::string &name) {
  auto fail = [&](absl::string_view why) {
    return makeError(ErrorCode::BackendMissing, "cannot load '", name,
                     "': ", why, "; install ", getLibrary(name),
                     " and what it links beside libtprt.so");
  };
  if (name.empty() || name.find('/') != std::string::npos)
    return fail("this is no name of a backend");
  // Our own folder first: the plugin must be of the same build.
  Dl_info self;
  std::string library = getLibrary(name);
  if (dladdr(reinterpret_cast<void *>(&loadPlugin), &self) && self.dli_fname)
    if (const char *slash = strrchr(self.dli_fname, '/'))
      library.insert(0, self.dli_fname, slash + 1 - self.dli_fname);
  // Open MPI finds its own plugins through symbols that must be global.
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle)
    return fail(dlerror());
  using GetPlugin = const Plugin *(*)();
  auto get = reinterpret_cast<GetPlugin>(dlsym(handle, "tprtGetPlugin"));
  if (!get)
    return fail("it is no plugin of this runtime");
  const Plugin *plugin = get();
  if (plugin->version != kPluginVersion)
    return fail(absl::StrCat("it has plugin version ", plugin->version,
                             ", not ", kPluginVersion));
  return plugin;
}
