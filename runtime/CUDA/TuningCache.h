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

/// Bytes by key.
using Tunings = absl::btree_map<std::string, std::string>;

std::string writeTunings(const Tunings &tunings);
Tunings parseTunings(absl::string_view text);

/// The name of a device's file.
std::string getTuningName(absl::string_view device, size_t version);
/// What the file says; nothing if there is none, or none to be trusted.
Tunings loadTunings(const std::string &name);
/// Replaces the file by one with these as well. What cannot be kept is measured
/// again next time, which is no error.
void saveTunings(const std::string &name, const Tunings &tunings);

} // namespace tprt

#endif // TPRT_CUDA_TUNINGCACHE_H
