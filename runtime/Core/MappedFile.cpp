// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/MappedFile.h"

#include "runtime/Core/Errors.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tprt;

absl::StatusOr<MappedFile> MappedFile::open(const std::string &path) {
  auto fail = [&](absl::string_view what) {
    return makeError(ErrorCode::FileUnreadable, "cannot ", what, " '", path,
                     "': ", std::strerror(errno));
  };
  // Opened without waiting: a named pipe would wait for somebody to write.
  int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0)
    return fail("open");
  struct stat info;
  absl::Status status;
  if (::fstat(descriptor, &info) != 0)
    status = fail("examine");
  else if (!S_ISREG(info.st_mode))
    status = makeError(ErrorCode::FileUnreadable, "'", path,
                       "' is not a regular file");
  if (!status.ok()) {
    ::close(descriptor);
    return status;
  }
  size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) {
    ::close(descriptor);
    return MappedFile(nullptr, 0); // mmap refuses to map nothing
  }
  void *data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED)
    status = fail("map");
  ::close(descriptor);
  if (!status.ok())
    return status;
  return MappedFile(data, size);
}

MappedFile::~MappedFile() {
  if (data)
    ::munmap(data, size);
}
