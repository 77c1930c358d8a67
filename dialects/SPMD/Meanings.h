// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What attributes mean on a mesh, worked out once per context: a program has
// few distinct shardings for its many ops, and every op is verified after every
// pass.

#ifndef TPOPT_DIALECTS_SPMD_MEANINGS_H
#define TPOPT_DIALECTS_SPMD_MEANINGS_H

#include "tpopt/Dialect/SPMD/SPMD.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/RWMutex.h"

#include <memory>

namespace tp::spmd {

/// May be used by several threads, as verifiers are. What it hands out stays
/// where it is as long as the context lives.
class Meanings : public mlir::DialectInterface::Base<Meanings> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Meanings)

  using Resolved = std::variant<TensorSharding, ShardingError>;

  explicit Meanings(mlir::Dialect *dialect) : Base(dialect) {}

  static const Meanings &get(mlir::MLIRContext *context);

  const Mesh &getMesh(MeshOp op) const { return getEntry(op).mesh; }
  /// See ShardingAttr::resolve.
  const Resolved &resolve(ShardingAttr sharding, MeshOp mesh,
                          unsigned rank) const;
  /// See spmd::getLocalType. The sharding fits the tensor.
  mlir::RankedTensorType getLocalType(mlir::RankedTensorType global,
                                      ShardingAttr sharding, MeshOp mesh) const;

private:
  struct Entry {
    Mesh mesh;
    llvm::DenseMap<std::pair<mlir::Attribute, unsigned>,
                   std::unique_ptr<Resolved>>
        shardings;
    llvm::DenseMap<std::pair<mlir::Type, mlir::Attribute>,
                   mlir::RankedTensorType>
        localTypes;
  };
  /// What is known about the mesh that `op` defines now.
  Entry &getEntry(MeshOp op) const;

  mutable llvm::sys::RWMutex mutex;
  /// By the name, the grid and the links.
  mutable llvm::DenseMap<
      std::pair<mlir::Attribute, std::pair<mlir::Attribute, mlir::Attribute>>,
      std::unique_ptr<Entry>>
      entries;
};

} // namespace tp::spmd

#endif // TPOPT_DIALECTS_SPMD_MEANINGS_H
