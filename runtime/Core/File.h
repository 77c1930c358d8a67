// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A regular file that is read, never mapped.
///
/// Another process may change or truncate a file while we use it. Bytes that
/// have been read are our own copy, so what was checked stays as it was. A file
/// that has become shorter is an error with a code, where a mapping would raise
/// SIGBUS.

#ifndef TPRT_CORE_FILE_H
#define TPRT_CORE_FILE_H

#include "runtime/Core/AlignedBuffer.h"

#include <string>
#include <utility>

namespace tprt {

class File {
public:
  static absl::StatusOr<File> open(const std::string &path);
  /// Takes over an open descriptor. The name is for messages.
  static absl::StatusOr<File> adopt(int descriptor, std::string name);

  File(File &&other) noexcept
      : descriptor(std::exchange(other.descriptor, -1)), length(other.length),
        name(std::move(other.name)) {}
  File &operator=(File &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    std::swap(length, other.length);
    std::swap(name, other.name);
    return *this;
  }
  ~File();

  /// Returns the size that the file had when it was opened.
  uint64_t size() const { return length; }
  const std::string &getName() const { return name; }

  /// Reads all `size` bytes from `offset` on; any thread may call it.
  absl::Status read(uint64_t offset, uint64_t size, char *to) const;
  absl::StatusOr<AlignedBuffer> readAll() const;

private:
  File(int descriptor, uint64_t length, std::string name)
      : descriptor(descriptor), length(length), name(std::move(name)) {}

  int descriptor;
  uint64_t length;
  std::string name;
};

/// Returns the code of an error in opening a file: one that blames the machine
/// if errno says that memory, descriptors or space are used up, else
/// `otherwise`.
ErrorCode getFileError(int error, ErrorCode otherwise);
/// Like getFileError, for a library that cannot be loaded. The loader gives no
/// error number, so `why` is the text of its message.
ErrorCode getLoaderError(absl::string_view why, ErrorCode otherwise);

} // namespace tprt

#endif // TPRT_CORE_FILE_H
