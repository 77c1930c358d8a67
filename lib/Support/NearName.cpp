// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Support/NearName.h"

#include <algorithm>

using namespace tp;

llvm::StringRef tp::findNearName(llvm::StringRef word,
                                 llvm::ArrayRef<llvm::StringRef> known) {
  if (word.size() <= 2)
    return {};
  unsigned most = std::max<unsigned>(2, word.size() / 3);
  llvm::StringRef nearest;
  for (llvm::StringRef name : known) {
    unsigned distance =
        word.edit_distance(name, /*AllowReplacements=*/true, most);
    if (distance <= most && (nearest.empty() || distance < most)) {
      most = distance;
      nearest = name;
    }
  }
  return nearest;
}
