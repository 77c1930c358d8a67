// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The roles of a weight's dimensions, derived from the ops that use it.

#ifndef TPOPT_PASSES_IMPORT_FEATURES_H
#define TPOPT_PASSES_IMPORT_FEATURES_H

#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tp {

/// The input features of a weight are the dimensions that its op contracts. The
/// output features are the dimensions that the op's result keeps. A bias has
/// only output features.
struct Features {
  llvm::SmallVector<unsigned> in, out;
  /// If the weight is an embedding table that is also the output head: the
  /// output features that it has as the head.
  llvm::SmallVector<unsigned> headOut;
};

/// Returns, for every argument of `function`, its features according to the
/// first op that treats it as a weight: a contraction, an embedding lookup, or
/// the addition of a bias. Transposes, reshapes and converts may come between
/// the argument and this op.
llvm::DenseMap<mlir::Value, Features>
getFeatures(mlir::FunctionOpInterface function);

/// An operand that is used as a weight and is derived from an argument, and the
/// features of that argument according to the operand's op.
struct WeightUse {
  mlir::OpOperand *operand;
  Features features;
};
/// Returns every use of an argument as a weight that getFeatures() considers.
std::vector<WeightUse> findWeightUses(mlir::BlockArgument argument);

/// Returns the attention op whose query, key, value or KV cache is `value`, or
/// is computed with `value` as weight or bias; null if there is none.
AttentionOp findAttention(mlir::Value value);

/// The axes that the heads are sharded along.
struct HeadAxes {
  AxisList kv, group;
};

/// Shards `kv` key-value heads with `group` query heads each along `axis`. The
/// largest part of the axis whose size divides `kv` shards the key-value heads,
/// and the rest of the axis shards the queries. If the rest does not divide
/// `group`, the whole axis shards the key-value heads unevenly. For 2 heads
/// with 4 queries on 4 devices, the result is `"model":(1)2` and
/// `"model":(2)2`. For 3 heads with 3 queries on 2 devices, it is `"model"` for
/// the heads, in blocks of 2 and 1.
HeadAxes cutHeads(int64_t kv, int64_t group, AxisRef axis);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_FEATURES_H
