// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Damages local programs and asks tp-verify-against.
//
// A mutant is wrong if it gives other numbers than the whole program on one of
// 20 data sets, which are not those of the pass. Wrong ones must be refused,
// and the local program itself must not.

#ifndef TPOPT_TEST_MUTATION_AGAINST_H
#define TPOPT_TEST_MUTATION_AGAINST_H

#include "QuietRun.h"

#include "llvm/ADT/MapVector.h"

namespace tp {

struct AgainstOptions {
  std::string mesh; ///< As tp-shard.
  bool field;
  unsigned mutants;
  uint64_t seed;
};

/// Adds what became of the mutants of a file. False if the file's own local
/// program is refused, or there is none.
bool mutateAgainst(const std::string &file, const AgainstOptions &options,
                   mlir::MLIRContext &context,
                   llvm::MapVector<llvm::StringRef, Tally> &tallies);

} // namespace tp

#endif // TPOPT_TEST_MUTATION_AGAINST_H
