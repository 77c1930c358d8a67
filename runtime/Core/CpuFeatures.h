// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Describes the CPU that object code was made for as a line of text:
/// `x86_64:avx2,fma,avx512f`, with LLVM's names of features.

#ifndef TPRT_CORE_CPUFEATURES_H
#define TPRT_CORE_CPUFEATURES_H

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <string>

namespace tprt {

/// Describes this machine: its architecture and all of its features that the
/// runtime can test for. If compiled code uses only these features, checkCpu
/// can check everything that the code needs.
std::string getHostCpu();

/// Checks that this machine has the architecture and the features in
/// `required`, a text such as `x86_64:avx2,fma`. A feature that the runtime
/// does not know is an error, because the code might use it.
absl::Status checkCpu(absl::string_view required);

} // namespace tprt

#endif // TPRT_CORE_CPUFEATURES_H
