// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Writes a report to the place that the user has chosen.

#include "lib/Report/Report.h"
#include "lib/Support/OutputFile.h"

using namespace tp;

llvm::Error tp::writeReport(const Report &report, llvm::StringRef path) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (path == "-" || path.ends_with(".json"))
    writeJSON(report, os);
  else if (path.ends_with(".html"))
    writeHTML(report, os);
  else
    return createError(ErrorCode::UnknownFileKind,
                       "'" + path +
                           "' ends neither in .json nor in .html: name a file "
                           "of one of these kinds");
  if (path != "-")
    return writeFile(path, text);
  llvm::outs() << text;
  return llvm::Error::success();
}
