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

/// How early propagation may go through an op.
enum class PropagationClass : uint8_t {
  Elementwise,  ///< Every dimension passes through.
  DataMovement, ///< Reshape and transpose.
  DynamicSlice, ///< Dynamic slice and update: early rounds only go forward.
  Broadcast,    ///< Only the last round goes forward.
  Other,
};

/// How an op commutes with combining partial values in one operand.
enum class Linearity : uint8_t {
  /// Not at all: op(a + b) cannot be computed from op(a) and op(b).
  None,
  /// If all Joint operands are partial together: a1 + a2 and b1 + b2, partial
  /// over the same devices, give op(a1, b1) + op(a2, b2). A Joint operand that
  /// is not partial can be made partial for free: one device keeps the value,
  /// and the others hold the identity.
  Joint,
  /// Only if no other operand is partial, as in a product.
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
  /// The device's part of `global`, with an encoding that records this. Has no
  /// encoding in a manual region, where types are already local.
  virtual mlir::RankedTensorType getLocalType(mlir::Value global) = 0;
  /// The same for a tensor of type `global` with the sharding `layout`.
  virtual mlir::RankedTensorType getLocalType(mlir::RankedTensorType global,
                                              const TensorSharding &layout) = 0;
  /// The index in the global tensor of the first element of the device's block,
  /// in dimension `dim` of `global`: a scalar tensor<i32>. Null if the
  /// dimension is not sharded, so that the index is zero.
  virtual mlir::Value getBlockBegin(mlir::Value global, unsigned dim) = 0;
  /// `local`, with the padding of `dims` set to the identity of `kind`. The
  /// type of `local` determines where padding begins.
  virtual mlir::Value maskPadding(mlir::Value local,
                                  llvm::ArrayRef<int64_t> dims,
                                  ReduceKind kind) = 0;
};

/// Parses the equation for the operand and result shapes of `op`. The equation
/// must fit these shapes, as it does on a verified op: the verifiers of ops
/// with user-written equations check this.
ShardingRule parseShardingRule(mlir::Operation *op, llvm::StringRef equation);

/// The same for those verifiers: returns null if the equation does not fit, and
/// sets `why` to a description of the error. The result is valid as long as the
/// context.
const ShardingRule *findShardingRule(mlir::Operation *op,
                                     llvm::StringRef equation,
                                     std::string &why);

} // namespace tp::spmd

#include "tpopt/Dialect/SPMD/ShardingInterfaces.h.inc"

#endif // TPOPT_DIALECT_SPMD_SHARDINGINTERFACES_H
