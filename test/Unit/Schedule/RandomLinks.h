// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Random links of transfers.

#ifndef TPOPT_TEST_UNIT_SCHEDULE_RANDOMLINKS_H
#define TPOPT_TEST_UNIT_SCHEDULE_RANDOMLINKS_H

#include "llvm/ADT/SmallVector.h"

#include <random>

namespace tp::schedule::test {

/// Returns one of the links or several.
inline llvm::SmallVector<unsigned, 2> drawLinks(std::mt19937 &engine,
                                                unsigned numLinks) {
  llvm::SmallVector<unsigned, 2> links;
  while (links.empty())
    for (unsigned link = 0; link < numLinks; ++link)
      if (numLinks == 1 || engine() % 2)
        links.push_back(link);
  return links;
}

} // namespace tp::schedule::test

#endif // TPOPT_TEST_UNIT_SCHEDULE_RANDOMLINKS_H
