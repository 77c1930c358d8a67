// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Which algorithm was fastest for which matmul, kept in a file for each
/// device and version of cuBLASLt:
///
///     $XDG_CACHE_HOME/tp-opt/matmuls-NVIDIA_H200-130100.txt
///
/// One line per matmul, its key (MatmulPlan::getKey) and the algorithm's bytes
/// in hexadecimal (CacheFolder.h says which folder it is). The same text tells
/// other ranks what rank 0 chose. A line that is no such line is left out: what
/// it said is measured again.

#ifndef TPRT_CUDA_MATMULCACHE_H
#define TPRT_CUDA_MATMULCACHE_H

#include "runtime/CUDA/Blas.h"

#include "absl/container/btree_map.h"

#include <string>

namespace tprt {

using MatmulChoices = absl::btree_map<std::string, blas::Algorithm>;

std::string writeChoices(const MatmulChoices &choices);
MatmulChoices parseChoices(absl::string_view text);

/// The name of a device's file.
std::string getChoicesName(absl::string_view device, size_t version);
/// What the file says; nothing if there is none, or none to be trusted.
MatmulChoices loadChoices(const std::string &name);
/// Replaces the file by one with these choices as well. What cannot be kept is
/// measured again next time, which is no error.
void saveChoices(const std::string &name, const MatmulChoices &choices);

} // namespace tprt

#endif // TPRT_CUDA_MATMULCACHE_H
