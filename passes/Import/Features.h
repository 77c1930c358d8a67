// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The roles of a weight's dimensions, derived from the ops that use it.

#ifndef TPOPT_PASSES_IMPORT_FEATURES_H
#define TPOPT_PASSES_IMPORT_FEATURES_H

#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tp {

/// The dimensions of a weight that its op takes in (contracts) and puts out
/// (has in its result). A bias only puts out.
struct Features {
  llvm::SmallVector<unsigned> in, out;
  /// For an embedding table that is also the output head: the dimensions that
  /// it puts out as the head.
  llvm::SmallVector<unsigned> headOut;
};

/// Returns, for every argument of `function`, its features according to the
/// first op that treats it as a weight: a contraction, a table of embeddings,
/// or a bias. Transposes, reshapes and converts may come between the two.
llvm::DenseMap<mlir::Value, Features>
getFeatures(mlir::FunctionOpInterface function);

/// An operand that is a weight, and the roles that its op gives the dimensions
/// of the argument that the operand is made of.
struct WeightUse {
  mlir::OpOperand *operand;
  Features features;
};
/// Returns every use of an argument as a weight that getFeatures() considers.
std::vector<WeightUse> findWeightUses(mlir::BlockArgument argument);

/// Returns the attention that has `value` as query, key, value or KV cache, or
/// in which one of these is computed with `value` as weight or bias. Null if
/// there is none.
AttentionOp findAttention(mlir::Value value);

/// The axes that the heads are sharded along.
struct HeadAxes {
  AxisList kv, group;
};

/// Shards `kv` key-value heads with `group` queries each along `axis`. The
/// largest part of the axis whose size divides `kv` shards the key-value heads,
/// and the rest of the axis shards the queries. If the rest does not divide
/// `group`, the whole axis shards the key-value heads unevenly. 2 heads with 4
/// queries on 4 devices are `"model":(1)2` and `"model":(2)2`; 3 heads with 3
/// queries on 2 are `"model"`, blocks of 2 and 1.
HeadAxes cutHeads(int64_t kv, int64_t group, AxisRef axis);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_FEATURES_H
