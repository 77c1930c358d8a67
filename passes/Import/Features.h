// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the dimensions of a weight are, read off the ops that use it.

#ifndef TPOPT_PASSES_IMPORT_FEATURES_H
#define TPOPT_PASSES_IMPORT_FEATURES_H

#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tp {

/// The dimensions of a weight that its op takes in and puts out. A bias puts
/// out only.
struct Features {
  llvm::SmallVector<unsigned> in, out;
  /// What a table of embeddings that is a head, too, puts out as that.
  llvm::SmallVector<unsigned> headOut;
};

/// For every argument of `function`, what the first op that treats it as a
/// weight says: a contraction, a table of embeddings, or a bias. Transposes,
/// reshapes and converts may come before it.
llvm::DenseMap<mlir::Value, Features>
getFeatures(mlir::FunctionOpInterface function);

/// An operand that is a weight, and what its op does with the dimensions of the
/// argument that it is made of.
struct WeightUse {
  mlir::OpOperand *operand;
  Features features;
};
/// All that `getFeatures` looks at for an argument.
std::vector<WeightUse> findWeightUses(mlir::BlockArgument argument);

/// The attention that `value` is a query, key, value or KV cache of; or the
/// weight or bias of one. Null if there is none.
AttentionOp findAttention(mlir::Value value);

/// How an axis cuts heads.
struct HeadAxes {
  AxisList kv, group;
};

/// Cuts `kv` key-value heads with `group` queries each along `axis`. The
/// largest part of the axis that divides the key-value heads cuts them, the
/// rest cuts the queries; if it does not divide those, the axis cuts the
/// key-value heads unevenly: 2 heads with 4 queries on 4 devices are
/// `"model":(1)2` and `"model":(2)2`; 3 heads with 3 queries on 2 are
/// `"model"`, blocks of 2 and 1.
HeadAxes cutHeads(int64_t kv, int64_t group, AxisRef axis);

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_FEATURES_H
