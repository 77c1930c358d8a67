// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Sharding/Algebra/LayoutPool.h"

using namespace tp;

unsigned LayoutPool::getNumber(const TensorSharding &sharding) {
  auto [it, isNew] =
      numbers.try_emplace(sharding.getLayout(), unsigned(layouts.size()));
  if (isNew)
    layouts.push_back(&it->first);
  return it->second;
}
