// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Embedding: looks up rows of a table. Ops that exporters write before the
// lookup (to wrap and clamp ids) and after it (to mark rows outside the table)
// stay unchanged.

#include "Patterns.h"

using namespace mlir;
using namespace tp;
using namespace tp::raise;

std::optional<Match> tp::raise::matchEmbedding(Operation *root) {
  auto gather = dyn_cast<GatherOp>(root);
  if (!gather || gather.getAxis() != 0 || gather.getBatchDims() != 0)
    return std::nullopt;
  Value table = gather.getInput(), ids = gather.getIndices();
  if (typeOf(table).getRank() != 2 || !isa<FloatType>(elementOf(table)))
    return std::nullopt;
  Match match{"embedding", root, {table, ids}, {}};
  match.build = [table, ids, type = gather.getType()](OpBuilder &builder,
                                                      Location loc) -> Value {
    return EmbeddingOp::create(builder, loc, type, table, ids);
  };
  return match;
}
