// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiled programs, as files that somebody damaged.

#ifndef TPOPT_TEST_FUZZ_ARTIFACTFILES_H
#define TPOPT_TEST_FUZZ_ARTIFACTFILES_H

#include "lib/Support/Random.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace tp::fuzz {

std::vector<std::string> makeArtifacts();

/// Changes bytes, or fields of rows, and mostly makes the checksums right.
std::string damageArtifact(std::string file, Random &random);

/// Loads one. Runs it if it is small and has no kernels, which could do
/// anything.
bool readArtifact(llvm::StringRef bytes, const std::string &folder);

} // namespace tp::fuzz

#endif // TPOPT_TEST_FUZZ_ARTIFACTFILES_H
