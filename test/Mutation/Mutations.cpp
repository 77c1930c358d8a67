// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Mutations.h"

using namespace mlir;
using namespace tp;

SmallVector<Mutation> tp::pickWays(ArrayRef<Mutation> mutations,
                                   ArrayRef<std::string> ways) {
  if (ways.empty())
    return SmallVector<Mutation>(mutations);
  return llvm::filter_to_vector(mutations, [&](const Mutation &mutation) {
    return llvm::is_contained(ways, mutation.name);
  });
}

std::optional<size_t> tp::applySomewhere(const Mutation &mutation,
                                         ArrayRef<Operation *> ops,
                                         unsigned draws, Random &random) {
  for (unsigned draw = 0; draw < draws; ++draw) {
    size_t number = random.below(ops.size());
    if (mutation.apply(ops[number], random))
      return number;
  }
  return std::nullopt;
}

std::string tp::print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}
