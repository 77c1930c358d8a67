// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/File.h"

#include "absl/strings/match.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tprt;

ErrorCode tprt::getFileError(int error, ErrorCode otherwise) {
  switch (error) {
  case EMFILE:
  case ENFILE:
    return ErrorCode::LimitReached;
  case ENOMEM:
    return ErrorCode::OutOfMemory;
  case ENOSPC:
  case EDQUOT:
    return ErrorCode::DiskFull;
  default:
    return otherwise;
  }
}

ErrorCode tprt::getLoaderError(absl::string_view why, ErrorCode otherwise) {
  for (int error : {ENOMEM, EMFILE, ENFILE})
    if (absl::StrContains(why, std::strerror(error)))
      return getFileError(error, otherwise);
  return absl::StrContains(why, "failed to map segment")
             ? ErrorCode::OutOfMemory
             : otherwise;
}

static absl::Status failFile(absl::string_view what, absl::string_view name) {
  return makeError(getFileError(errno, ErrorCode::FileUnreadable), "cannot ",
                   what, " '", name, "': ", std::strerror(errno));
}

absl::StatusOr<File> File::open(const std::string &path) {
  // With O_NONBLOCK, as opening a pipe would otherwise block until somebody
  // writes to it.
  int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0)
    return failFile("open", path);
  return adopt(descriptor, path);
}

absl::StatusOr<File> File::adopt(int descriptor, std::string name) {
  File file(descriptor, 0, std::move(name));
  struct stat info;
  if (::fstat(descriptor, &info) != 0)
    return failFile("examine", file.name);
  if (!S_ISREG(info.st_mode))
    return makeError(ErrorCode::FileUnreadable, "'", file.name,
                     "' is not a regular file");
  file.length = static_cast<uint64_t>(info.st_size);
  return file;
}

File::~File() {
  if (descriptor >= 0)
    ::close(descriptor);
}

absl::Status File::read(uint64_t offset, uint64_t size, char *to) const {
  while (size > 0) {
    // Linux reads at most 2 GiB at once.
    ssize_t count = ::pread(descriptor, to, std::min<uint64_t>(size, 1 << 30),
                            static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failFile("read", name);
    if (count == 0)
      return makeError(ErrorCode::FileUnreadable, "'", name, "' ends at byte ",
                       offset, " but had ", length,
                       " bytes when it was opened: the file was changed while "
                       "it was being read");
    to += count;
    offset += static_cast<uint64_t>(count);
    size -= static_cast<uint64_t>(count);
  }
  return absl::OkStatus();
}

absl::StatusOr<AlignedBuffer> File::readAll() const {
  auto buffer = AlignedBuffer::create(length, /*isZeroed=*/false);
  if (!buffer.ok())
    return addContext(buffer.status(), name);
  TPRT_RETURN_IF_ERROR(read(0, length, buffer->data()));
  return buffer;
}
