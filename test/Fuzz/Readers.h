// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What reads files that others wrote.

#ifndef TPOPT_TEST_FUZZ_READERS_H
#define TPOPT_TEST_FUZZ_READERS_H

#include "Mutate.h"

#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>
#include <vector>

namespace tp::fuzz {

struct Reader {
  const char *name;
  /// Good files to start from. Called once.
  std::function<std::vector<std::string>()> makeExamples;
  /// Reads a file and all that it promises. True if it was accepted. May use
  /// `folder`, which is its own.
  std::function<bool(llvm::StringRef bytes, const std::string &folder)> read;
  /// Makes a bad file of a good one.
  std::function<std::string(std::string file, Random &random)> damage = mutate;
};

/// An empty folder.
std::string makeFolder();

/// Of weights, models, plans, machines, artifacts and programs.
const std::vector<Reader> &getReaders();

} // namespace tp::fuzz

#endif // TPOPT_TEST_FUZZ_READERS_H
