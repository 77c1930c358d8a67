// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Support/OutputFile.h"

#include "tpopt/Support/ErrorCodes.h"

using namespace llvm;

static Error fail(tp::ErrorCode code, StringRef path, std::error_code why) {
  return tp::createError(tp::getFileError(why, code),
                         "cannot write '" + path + "': " + why.message());
}

Expected<std::unique_ptr<tp::OutputFile>> tp::OutputFile::open(StringRef path) {
  std::unique_ptr<OutputFile> output(new OutputFile(path));
  sys::fs::file_status status;
  bool isThere = !sys::fs::status(path, status);
  // A descriptor in /proc or /dev may refer to a regular file, too.
  if (isThere && (!sys::fs::is_regular_file(status) ||
                  path.starts_with("/proc/") || path.starts_with("/dev/"))) {
    // Devices, pipes and descriptors cannot be replaced by another file.
    int descriptor;
    if (std::error_code error = sys::fs::openFileForWrite(path, descriptor))
      return fail(ErrorCode::UnwritableFile, path, error);
    output->stream =
        std::make_unique<raw_fd_ostream>(descriptor, /*shouldClose=*/true);
    return output;
  }
  auto file = sys::fs::TempFile::create(path + ".%%%%%%%%.tmp",
                                        sys::fs::all_read | sys::fs::all_write);
  if (!file)
    return fail(ErrorCode::UnwritableFile, path,
                errorToErrorCode(file.takeError()));
  output->file = std::move(*file);
  output->stream =
      std::make_unique<raw_fd_ostream>(output->file->FD, /*shouldClose=*/false);
  return output;
}

tp::OutputFile::~OutputFile() {
  if (stream) {
    stream->flush();
    stream->clear_error();
    stream.reset();
  }
  if (file)
    consumeError(file->discard());
}

Error tp::OutputFile::keep() {
  if (file)
    stream->flush();
  else
    stream->close();
  std::error_code error = stream->error();
  stream->clear_error();
  stream.reset();
  if (error)
    return fail(ErrorCode::DiskFull, path, error);
  if (!file)
    return Error::success();
  Error kept = file->keep(path);
  file.reset();
  if (kept)
    return fail(ErrorCode::UnwritableFile, path,
                errorToErrorCode(std::move(kept)));
  return Error::success();
}

Error tp::writeFile(StringRef path, StringRef bytes) {
  Expected<std::unique_ptr<OutputFile>> file = OutputFile::open(path);
  if (!file)
    return file.takeError();
  (*file)->os() << bytes;
  return (*file)->keep();
}
