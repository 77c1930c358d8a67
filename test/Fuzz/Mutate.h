// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Damages bytes and text in the ways in which files are damaged, and in those
// in which somebody who knows the format would.

#ifndef TPOPT_TEST_FUZZ_MUTATE_H
#define TPOPT_TEST_FUZZ_MUTATE_H

#include "lib/Support/Random.h"

#include <string>

namespace tp::fuzz {

/// `text` with one to eight changes: bytes flipped, put in and left out; parts
/// doubled, moved and cut off; words swapped; numbers made extreme.
std::string mutate(std::string text, Random &random);

} // namespace tp::fuzz

#endif // TPOPT_TEST_FUZZ_MUTATE_H
