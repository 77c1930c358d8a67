// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Writes files, either completely or not at all.
///
///     if (llvm::Error error = tp::writeFile("mlp.tpx", bytes))
///       module.emitError() << toMessage(std::move(error));
///
/// To write a file piece by piece, use an `OutputFile`:
///
///     auto file = OutputFile::open(path); // an llvm::Expected
///     (*file)->os() << module;
///     if (llvm::Error error = (*file)->keep()) ...
///
/// The bytes go to a temporary file beside `path`, which is then renamed to
/// `path`: readers never see a partial file, and if the disk is full, the old
/// file is kept. A path that is not a regular file, such as /dev/null or an
/// open descriptor under /proc, is written to directly.
///
/// Errors: UnwritableFile, a user error (no such folder, no permission), if the
/// file cannot be opened; DiskFull, an error of the machine, if not all bytes
/// can be written.

#ifndef TPOPT_SUPPORT_OUTPUTFILE_H
#define TPOPT_SUPPORT_OUTPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <optional>
#include <string>

namespace tp {

class OutputFile {
public:
  static llvm::Expected<std::unique_ptr<OutputFile>> open(llvm::StringRef path);
  /// Deletes the temporary file unless keep() was called.
  ~OutputFile();

  llvm::raw_ostream &os() { return *stream; }
  /// Moves the written file to its path. Must be called at most once.
  llvm::Error keep();

private:
  explicit OutputFile(llvm::StringRef path) : path(path) {}

  std::string path;
  /// The temporary file; none if the path is written to directly.
  std::optional<llvm::sys::fs::TempFile> file;
  std::unique_ptr<llvm::raw_fd_ostream> stream;
};

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes);

} // namespace tp

#endif // TPOPT_SUPPORT_OUTPUTFILE_H
