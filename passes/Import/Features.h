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
  /// For an embedding table that is also the weight of the output head: the
  /// dimensions that are output features of the output head's product.
  llvm::SmallVector<unsigned> headOut;
};

/// Returns, for every argument of `function`, its features according to the
/// first op that treats it as a weight: a contraction, an embedding lookup, or
/// the addition of a bias. Transposes, reshapes and converts may come between
/// the argument and this op.
llvm::DenseMap<mlir::Value, Features>
getFeatures(mlir::FunctionOpInterface function);

/// A use of an argument, or of a value derived from it, as a weight. `features`
/// are the argument's features according to the op that owns `operand`.
struct WeightUse {
  mlir::OpOperand *operand;
  Features features;
};
/// Returns all uses of an argument as a weight. getFeatures() takes the
/// features from the first of these uses.
std::vector<WeightUse> findWeightUses(mlir::BlockArgument argument);

/// Returns the attention op that reads `value` as query, key, value or KV
/// cache, or that reads a projection whose weight or bias is `value`; null if
/// there is none.
AttentionOp findAttention(mlir::Value value);

/// The axes that the heads are sharded along.
struct HeadAxes {
  AxisList kv, group;
};

/// Shards attention heads along `axis`: `kv` key-value heads, each of which
/// `group` query heads share. The major part of the axis shards the key-value
/// heads; its size is the greatest common divisor of `kv` and the size of the
/// axis. The rest of the axis shards the query heads of each key-value head.
/// But if the size of the rest does not divide `group`, the whole axis shards
/// the key-value heads, unevenly. For 2 key-value heads with 4 query heads
/// each, on 4 devices, the parts are `"model":(1)2` and `"model":(2)2`. For 3
/// key-value heads with 3 query heads each, on 2 devices, `"model"` shards the
/// key-value heads, in blocks of 2 and 1.
HeadAxes cutHeads(int64_t kv, int64_t group, AxisRef axis);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_FEATURES_H
