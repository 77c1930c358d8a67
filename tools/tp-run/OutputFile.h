// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How files that a user names are written: whole or not at all.
///
/// The bytes go to a new file in the folder of `path`, which is then moved to
/// `path`. So no reader ever sees an incomplete file, and if the disk is full,
/// the previous file remains. Devices, pipes and open descriptors are written
/// to directly.

#ifndef TPRUN_OUTPUTFILE_H
#define TPRUN_OUTPUTFILE_H

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <string>

namespace tprun {

/// Checks that a file can be written at this path, and leaves nothing behind.
/// Called before a long computation whose result is written to the file.
/// Returns BadOption for a folder.
absl::Status checkWritable(const std::string &path);

/// Returns FileUnwritable if the file cannot be created, and DiskFull if bytes
/// are lost.
absl::Status writeFile(const std::string &path, absl::string_view bytes);

} // namespace tprun

#endif // TPRUN_OUTPUTFILE_H
