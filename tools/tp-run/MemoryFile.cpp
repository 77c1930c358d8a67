// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MemoryFile.h"

#include "runtime/Core/Errors.h"
#include "runtime/Core/WriteAll.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tprt;

static absl::Status fail(absl::string_view what) {
  return makeError(ErrorCode::OutOfMemory, "cannot ", what,
                   " a file in memory: ", std::strerror(errno));
}

absl::StatusOr<tprun::MemoryFile>
tprun::MemoryFile::create(absl::string_view bytes) {
  // Not close-on-exec: processes that this one starts must be able to open it.
  MemoryFile file(::memfd_create("tp-run", 0));
  if (file.descriptor < 0)
    return fail("make");
  if (!writeAll(file.descriptor, bytes))
    return fail("write");
  return file;
}

tprun::MemoryFile::~MemoryFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

std::string tprun::MemoryFile::getPath() const {
  return absl::StrCat("/proc/self/fd/", descriptor);
}

absl::StatusOr<std::string> tprun::MemoryFile::read() const {
  struct stat info = {};
  if (::fstat(descriptor, &info) != 0)
    return fail("read");
  std::string bytes(info.st_size, '\0');
  for (size_t at = 0; at < bytes.size();) {
    ssize_t count = ::pread(descriptor, &bytes[at], bytes.size() - at,
                            static_cast<off_t>(at));
    if (count <= 0 && !(count < 0 && errno == EINTR))
      return fail("read");
    at += count < 0 ? 0 : count;
  }
  return bytes;
}
