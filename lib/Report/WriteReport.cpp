// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Writes a report to where its user wants it.

#include "tpopt/Report/Report.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"

using namespace tp;

static llvm::Error fail(llvm::StringRef path, std::error_code why) {
  return llvm::createStringError(why, prefix(ErrorCode::UnwritableFile) +
                                          "cannot write '" + path +
                                          "': " + why.message());
}

/// Writes to a file beside `path` and moves it there, so that nobody ever reads
/// half a report.
static llvm::Error replaceFile(llvm::StringRef path, llvm::StringRef text) {
  auto file = llvm::sys::fs::TempFile::create(path + ".%%%%%%%%.tmp",
                                              llvm::sys::fs::all_read |
                                                  llvm::sys::fs::all_write);
  if (!file)
    return fail(path, llvm::errorToErrorCode(file.takeError()));
  llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
  os << text;
  os.flush();
  if (std::error_code error = os.error()) {
    os.clear_error();
    llvm::consumeError(file->discard());
    return fail(path, error);
  }
  if (llvm::Error error = file->keep(path))
    return fail(path, llvm::errorToErrorCode(std::move(error)));
  return llvm::Error::success();
}

llvm::Error tp::writeReport(const Report &report, llvm::StringRef path) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (path == "-" || path.ends_with(".json"))
    writeJSON(report, os);
  else if (path.ends_with(".html"))
    writeHTML(report, os);
  else
    return llvm::createStringError(prefix(ErrorCode::UnknownFileKind) + "'" +
                                   path +
                                   "' ends in neither .json nor .html, so it "
                                   "is not known what to write");
  if (path != "-")
    return replaceFile(path, text);
  llvm::outs() << text;
  return llvm::Error::success();
}
