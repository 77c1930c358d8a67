// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Makes a failing program small.

#ifndef TPOPT_TEST_FUZZ_SHRINK_H
#define TPOPT_TEST_FUZZ_SHRINK_H

#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>

namespace tp::fuzz {

/// The smallest program found, starting from `program`, of which `fails` holds:
/// functions, results, ops and annotations are left out, values become
/// arguments, dimensions and the mesh smaller, as long as it does. `fails` is
/// only asked about programs that the verifier accepts.
std::string shrink(llvm::StringRef program,
                   const std::function<bool(llvm::StringRef)> &fails);

} // namespace tp::fuzz

#endif // TPOPT_TEST_FUZZ_SHRINK_H
