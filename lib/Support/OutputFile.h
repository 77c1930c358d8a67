// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How every file of ours is written: whole or not at all.
///
///     if (llvm::Error error = tp::writeFile("mlp.tpx", bytes))
///       module.emitError() << toMessage(std::move(error));
///
/// What is written bit by bit goes through an `OutputFile`:
///
///     auto file = OutputFile::open(path); // an llvm::Expected
///     (*file)->os() << module;
///     if (llvm::Error error = (*file)->keep()) ...
///
/// The bytes go to a file beside `path`, which is then moved there: nobody ever
/// reads half of it, and a full disk leaves what was there before. A path that
/// is no regular file, such as /dev/null or an open descriptor under /proc, is
/// written to as it is.
///
/// Errors: UnwritableFile (the user's: no such folder, no permission) if the
/// file cannot be opened, DiskFull (the machine's) if bytes get lost.

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
  /// Of what was not kept, nothing is left.
  ~OutputFile();

  llvm::raw_ostream &os() { return *stream; }
  /// Puts what was written in its place. Once.
  llvm::Error keep();

private:
  explicit OutputFile(llvm::StringRef path) : path(path) {}

  std::string path;
  /// None if the path is written to as it is.
  std::optional<llvm::sys::fs::TempFile> file;
  std::unique_ptr<llvm::raw_fd_ostream> stream;
};

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes);

} // namespace tp

#endif // TPOPT_SUPPORT_OUTPUTFILE_H
