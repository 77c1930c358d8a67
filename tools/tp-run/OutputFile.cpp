// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OutputFile.h"

#include "runtime/Core/File.h"
#include "runtime/Core/WriteAll.h"

#include "absl/strings/match.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tprt;

/// Returns the error for a file that cannot be written, from errno.
static absl::Status makeUnwritable(const std::string &path) {
  return makeError(
      getFileError(errno, ErrorCode::FileUnwritable), "cannot write '", path,
      "': ", std::strerror(errno),
      "; name a file in a folder that exists and can be written to");
}

/// Returns true if no file can be moved to this path.
static bool isWrittenInPlace(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || S_ISDIR(info.st_mode))
    return false;
  // Paths such as /dev/fd/3 name an open file. Even if that is a regular file,
  // no other file can be moved to such a path.
  return !S_ISREG(info.st_mode) || absl::StartsWith(path, "/proc/") ||
         absl::StartsWith(path, "/dev/fd/") ||
         absl::StartsWith(path, "/dev/std");
}

/// Opens a new file in the folder of `path`; returns a negative number on
/// failure, like ::open. All processes of a job may call this at the same time.
static int createBeside(const std::string &path, std::string &name) {
  for (int attempt = 0;; ++attempt) {
    name = absl::StrCat(path, ".", ::getpid(), "-", attempt, ".tmp");
    int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                      0666 /* less the umask */);
    if (file >= 0 || errno != EEXIST)
      return file;
  }
}

absl::Status tprun::checkWritable(const std::string &path) {
  struct stat info;
  bool isThere = ::stat(path.c_str(), &info) == 0;
  if (isThere && S_ISDIR(info.st_mode))
    return makeError(ErrorCode::BadOption, "'", path,
                     "' is a folder; name a file in it");
  // Replacing the file would only need permission for the folder, so check the
  // file itself.
  if (isThere && ::access(path.c_str(), W_OK) != 0)
    return makeUnwritable(path);
  if (isWrittenInPlace(path))
    return absl::OkStatus();
  std::string beside;
  int file = createBeside(path, beside);
  if (file < 0)
    return makeUnwritable(path);
  ::close(file);
  ::unlink(beside.c_str());
  return absl::OkStatus();
}

absl::Status tprun::writeFile(const std::string &path,
                              absl::string_view bytes) {
  std::string beside;
  bool isInPlace = isWrittenInPlace(path);
  int file = isInPlace ? ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC)
                       : createBeside(path, beside);
  if (file < 0)
    return makeUnwritable(path);
  absl::Status status;
  bool isWhole = writeAll(file, bytes);
  int error = errno;
  // A network file system may report a failed write only in close().
  if (::close(file) != 0 && isWhole) {
    isWhole = false;
    error = errno;
  }
  if (!isWhole)
    status = makeError(ErrorCode::DiskFull, "cannot write all of '", path,
                       "': ", std::strerror(error),
                       "; make room, or name a file elsewhere");
  else if (!isInPlace && std::rename(beside.c_str(), path.c_str()) != 0)
    status = makeUnwritable(path);
  if (!status.ok() && !isInPlace)
    ::unlink(beside.c_str());
  return status;
}
