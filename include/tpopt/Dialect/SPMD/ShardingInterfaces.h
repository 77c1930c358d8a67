// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What an op tells the sharding passes about itself: its factors, what
/// partial values may flow through it, and how it is cut.

#ifndef TPOPT_DIALECT_SPMD_SHARDINGINTERFACES_H
#define TPOPT_DIALECT_SPMD_SHARDINGINTERFACES_H

#include "tpopt/Sharding/Reshard.h"
#include "tpopt/Sharding/Rule.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace tp::spmd {

/// How eagerly propagation goes through an op, in the order of its rounds.
enum class PropagationClass : uint8_t {
  Elementwise,  ///< Every dimension goes straight through.
  DataMovement, ///< Reshape and transpose.
  DynamicSlice, ///< Dynamic slice and update: forward only in early rounds.
  Broadcast,    ///< Forward only in the last round.
  Other,
};

/// How an op commutes with combining partial values in one operand.
enum class Linearity : uint8_t {
  /// It does not: op(a + b) is no combination of op(a) and op(b).
  None,
  /// With all Joint operands partial together: a1 + a2 and b1 + b2 partial over
  /// the same devices give op(a1, b1) + op(a2, b2). A Joint operand that is
  /// whole can be made partial for free: one device keeps it, the others hold
  /// the identity.
  Joint,
  /// With this operand partial and every other one whole: a product.
  Each,
};

/// One launch of an op's own: payload as in Reshard.h.
struct Exchange {
  CollectiveKind kind;
  AxisList axes;
  int64_t bytes;
};

/// What localize() may use: the mesh, the shardings of the op's values, and a
/// builder in the device's program.
class Localizer {
public:
  virtual ~Localizer() = default;

  virtual mlir::OpBuilder &getBuilder() = 0;
  virtual const Mesh &getMesh() const = 0;
  /// The sharding of a value of the global program.
  virtual const TensorSharding &getSharding(mlir::Value global) const = 0;
  /// The device's part of `global`, with the encoding that says so; none in a
  /// manual region, where types are the devices' own.
  virtual mlir::RankedTensorType getLocalType(mlir::Value global) = 0;
  /// The same for a tensor of type `global` that lies as `layout`.
  virtual mlir::RankedTensorType getLocalType(mlir::RankedTensorType global,
                                              const TensorSharding &layout) = 0;
  /// The index, in the global tensor, of the first element of the device's
  /// block in dimension `dim` of `global`: a scalar tensor<i32>. Null if the
  /// dimension is not cut, where it is zero.
  virtual mlir::Value getBlockBegin(mlir::Value global, unsigned dim) = 0;
  /// `local`, whose type says where its padding begins, with the identity of
  /// `kind` in the padding of `dims`.
  virtual mlir::Value maskPadding(mlir::Value local,
                                  llvm::ArrayRef<int64_t> dims,
                                  ReduceKind kind) = 0;
};

/// Reads the equation for the operand and result shapes of `op`. A verified op
/// has an equation that fits; the verifiers of ops with user-written equations
/// see to that.
ShardingRule parseShardingRule(mlir::Operation *op, llvm::StringRef equation);

/// As above, for such a verifier: null if the equation does not fit, and `why`
/// says what is wrong with it. Lives as long as the context.
const ShardingRule *findShardingRule(mlir::Operation *op,
                                     llvm::StringRef equation,
                                     std::string &why);

} // namespace tp::spmd

#include "tpopt/Dialect/SPMD/ShardingInterfaces.h.inc"

#endif // TPOPT_DIALECT_SPMD_SHARDINGINTERFACES_H
