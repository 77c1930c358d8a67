// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Caches what sharding attributes mean on a mesh: resolved shardings, local
// types, reshard steps and sharding rules. A context has one cache, because a
// program has few distinct shardings for its many ops, and every op is verified
// after every pass.

#ifndef TPOPT_DIALECTS_SPMD_SHARDINGRESOLVER_H
#define TPOPT_DIALECTS_SPMD_SHARDINGRESOLVER_H

#include "tpopt/Dialect/SPMD/SPMD.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/RWMutex.h"

#include <memory>
#include <unordered_map>

namespace tp::spmd {

/// Thread-safe, because verifiers run in parallel. The references that its
/// methods return are valid until the MLIR context is destroyed.
class ShardingResolver : public mlir::DialectInterface::Base<ShardingResolver> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ShardingResolver)

  using Resolved = std::variant<TensorSharding, ShardingError>;

  explicit ShardingResolver(mlir::Dialect *dialect) : Base(dialect) {}

  static const ShardingResolver &get(mlir::MLIRContext *context);

  const Mesh &getMesh(MeshOp op) const { return getEntry(op).mesh; }
  /// See ShardingAttr::resolve.
  const Resolved &resolve(ShardingAttr sharding, MeshOp mesh,
                          unsigned rank) const;
  /// See spmd::getLocalType. The sharding must fit the tensor.
  mlir::RankedTensorType getLocalType(mlir::RankedTensorType global,
                                      ShardingAttr sharding, MeshOp mesh) const;
  /// See makeStep. The shardings must fit the tensor. If there is no such step,
  /// the result is a string that says why.
  using Step = std::variant<ReshardStep, std::string>;
  const Step &getStep(CollectiveKind kind, ShardingAttr in, ShardingAttr out,
                      mlir::RankedTensorType global, MeshOp mesh) const;

  /// See ShardingRule::parse. If the equation has an error, the result is a
  /// string that describes the error.
  using Rule = std::variant<ShardingRule, std::string>;
  const Rule &getRule(mlir::Operation *op, llvm::StringRef equation) const;

private:
  /// An equation, and the types of the operands and of the results.
  struct Signature {
    std::string equation;
    llvm::SmallVector<mlir::Type, 4> types;
    size_t numOperands;
    bool operator==(const Signature &other) const {
      return equation == other.equation && types == other.types &&
             numOperands == other.numOperands;
    }
  };
  struct SignatureHash {
    size_t operator()(const Signature &signature) const {
      return llvm::hash_combine(llvm::StringRef(signature.equation),
                                llvm::hash_combine_range(signature.types),
                                signature.numOperands);
    }
  };
  struct Entry {
    Mesh mesh;
    llvm::DenseMap<std::pair<mlir::Attribute, unsigned>,
                   std::unique_ptr<Resolved>>
        shardings;
    llvm::DenseMap<std::pair<mlir::Type, mlir::Attribute>,
                   mlir::RankedTensorType>
        localTypes;
    llvm::DenseMap<
        std::tuple<unsigned, mlir::Attribute, mlir::Attribute, mlir::Type>,
        std::unique_ptr<Step>>
        steps;
  };
  /// The entry for the mesh that `op` currently defines.
  Entry &getEntry(MeshOp op) const;

  mutable llvm::sys::RWMutex mutex;
  /// Keyed by the mesh's name, grid and links.
  mutable llvm::DenseMap<
      std::pair<mlir::Attribute, std::pair<mlir::Attribute, mlir::Attribute>>,
      std::unique_ptr<Entry>>
      entries;
  mutable std::unordered_map<Signature, std::unique_ptr<Rule>, SignatureHash>
      rules;
};

} // namespace tp::spmd

#endif // TPOPT_DIALECTS_SPMD_SHARDINGRESOLVER_H
