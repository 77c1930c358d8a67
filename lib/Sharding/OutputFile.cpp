// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Support/OutputFile.h"

#include "tpopt/Support/ErrorCodes.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static Error fail(tp::ErrorCode code, StringRef path, std::error_code why) {
  return createStringError(why, tp::prefix(code) + "cannot write '" + path +
                                    "': " + why.message());
}

/// What went wrong while writing, if anything did.
static std::error_code write(int descriptor, StringRef bytes) {
  raw_fd_ostream os(descriptor, /*shouldClose=*/false);
  os << bytes;
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  return error;
}

/// Devices, pipes and descriptors: nothing can be moved to their place.
static Error writeInPlace(StringRef path, StringRef bytes) {
  int descriptor;
  if (std::error_code error = sys::fs::openFileForWrite(path, descriptor))
    return fail(tp::ErrorCode::UnwritableFile, path, error);
  std::error_code error = write(descriptor, bytes);
  std::error_code closing = sys::Process::SafelyCloseFileDescriptor(descriptor);
  if (error || closing)
    return fail(tp::ErrorCode::DiskFull, path, error ? error : closing);
  return Error::success();
}

Error tp::writeFile(StringRef path, StringRef bytes) {
  sys::fs::file_status status;
  bool isThere = !sys::fs::status(path, status);
  // A descriptor may be of a regular file, too.
  if (isThere && (!sys::fs::is_regular_file(status) ||
                  path.starts_with("/proc/") || path.starts_with("/dev/")))
    return writeInPlace(path, bytes);
  auto file = sys::fs::TempFile::create(path + ".%%%%%%%%.tmp",
                                        sys::fs::all_read | sys::fs::all_write);
  if (!file)
    return fail(ErrorCode::UnwritableFile, path,
                errorToErrorCode(file.takeError()));
  if (std::error_code error = write(file->FD, bytes)) {
    consumeError(file->discard());
    return fail(ErrorCode::DiskFull, path, error);
  }
  if (Error error = file->keep(path))
    return fail(ErrorCode::UnwritableFile, path,
                errorToErrorCode(std::move(error)));
  return Error::success();
}
