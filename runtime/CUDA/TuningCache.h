// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What was fastest on a device, kept in a file for each device and
/// version of cuBLASLt:
///
///     $XDG_CACHE_HOME/tp-opt/tuning-NVIDIA_H200-130100.txt
///
/// One line for each thing that was timed, its key and what was found, in
/// hexadecimal (CacheFolder.h says which folder it is): of a matmul
/// (MatmulPlan::getKey) the algorithm's bytes, of a choice of steps
/// (StepChoices.h) which of them. The same text tells other ranks what rank 0
/// found. A line that is no such line is left out: what it said is measured
/// again.

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
