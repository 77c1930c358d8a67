// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The fastest ways found on a device, in one file for each device and
/// version of cuBLASLt:
///
///     $XDG_CACHE_HOME/tp-opt/tuning-NVIDIA_H200-130100.txt
///
/// CacheFolder.h names the folder. Each line has a key and a result in
/// hexadecimal: the bytes of the algorithm for a matmul (MatmulPlan::getKey), 0
/// or 1 for a choice of steps (StepChoices.h). Rank 0 sends the same text to
/// the other ranks. Lines that do not parse are ignored, and their entries are
/// measured again.

#ifndef TPRT_CUDA_TUNINGCACHE_H
#define TPRT_CUDA_TUNINGCACHE_H

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"

#include <string>

namespace tprt {

/// Results (bytes) by key.
using Tunings = absl::btree_map<std::string, std::string>;

std::string writeTunings(const Tunings &tunings);
Tunings parseTunings(absl::string_view text);

/// Returns the file name for a device and a version of cuBLASLt.
std::string getTuningName(absl::string_view device, size_t version);
/// Returns the contents of the file; nothing if there is no file, or none that
/// can be trusted.
Tunings loadTunings(const std::string &name);
/// Adds these results to the file. A failure is not an error: results that are
/// not kept are measured again next time.
void saveTunings(const std::string &name, const Tunings &tunings);

} // namespace tprt

#endif // TPRT_CUDA_TUNINGCACHE_H
