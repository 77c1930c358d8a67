// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The properties of an op that the sharding passes need: its factors,
/// which partial values it can process, and its local form.

#ifndef TPOPT_DIALECT_SPMD_SHARDINGINTERFACES_H
#define TPOPT_DIALECT_SPMD_SHARDINGINTERFACES_H

#include "tpopt/Sharding/Reshard.h"
#include "tpopt/Sharding/Rule.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

namespace tp::spmd {

/// The class of an op, which determines how early propagation goes through it.
enum class PropagationClass : uint8_t {
  Elementwise,  ///< Every dimension passes through.
  DataMovement, ///< Reshape and transpose.
  DynamicSlice, ///< Dynamic slice and update: early rounds only go forward.
  Broadcast,    ///< Only the last round goes forward.
  Other,
};

/// How an op commutes with combining partial values in one operand.
enum class Linearity : uint8_t {
  /// The op does not commute: op(a + b) cannot be computed from op(a) and
  /// op(b).
  None,
  /// The op commutes if all its Joint operands are partial along the same axes:
  /// a1 + a2 and b1 + b2 give op(a1, b1) + op(a2, b2). A Joint operand that is
  /// not partial can be made partial for free: one device keeps the value, and
  /// all others hold the identity.
  Joint,
  /// The op commutes if this is its only partial operand, as in a product: (a1
  /// + a2) b = a1 b + a2 b.
  Each,
};

/// One collective that the local form of an op launches; its payload is defined
/// in Reshard.h.
struct Exchange {
  CollectiveKind kind;
  AxisList axes;
  int64_t bytes;
};

/// The services that localize() may use: the mesh, the shardings of the op's
/// values, and a builder in the device's program.
class Localizer {
public:
  virtual ~Localizer() = default;

  virtual mlir::OpBuilder &getBuilder() = 0;
  virtual const Mesh &getMesh() const = 0;
  /// The sharding of a value of the global program.
  virtual const TensorSharding &getSharding(mlir::Value global) const = 0;
  /// The type of the device's part of `global`, with an encoding that records
  /// this. In a manual region the type has no encoding, because `global` is
  /// already local.
  virtual mlir::RankedTensorType getLocalType(mlir::Value global) = 0;
  /// Like getLocalType above, for a tensor of type `global` with the sharding
  /// `layout`.
  virtual mlir::RankedTensorType getLocalType(mlir::RankedTensorType global,
                                              const TensorSharding &layout) = 0;
  /// Returns the index at which the device's block of `global` begins in
  /// dimension `dim`: a scalar tensor<i32>. Returns null if the dimension is
  /// not sharded, so that the index is zero.
  virtual mlir::Value getBlockBegin(mlir::Value global, unsigned dim) = 0;
  /// Returns `local` with its padding in the dimensions `dims` set to the
  /// identity of `kind`. The type of `local` says where the padding begins.
  virtual mlir::Value maskPadding(mlir::Value local,
                                  llvm::ArrayRef<int64_t> dims,
                                  ReduceKind kind) = 0;
};

/// Parses the equation for the operand and result shapes of `op`. The equation
/// must fit these shapes, as it does on a verified op: the verifiers of ops
/// with user-written equations check this.
ShardingRule parseShardingRule(mlir::Operation *op, llvm::StringRef equation);

/// Like parseShardingRule, but `equation` need not fit. Returns null if it does
/// not fit, and sets `why` to a description of the error. The result is valid
/// until the MLIR context is destroyed.
const ShardingRule *findShardingRule(mlir::Operation *op,
                                     llvm::StringRef equation,
                                     std::string &why);

} // namespace tp::spmd

#include "tpopt/Dialect/SPMD/ShardingInterfaces.h.inc"

#endif // TPOPT_DIALECT_SPMD_SHARDINGINTERFACES_H
