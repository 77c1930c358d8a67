// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The shardings of a program's values, resolved once.
///
/// Attributes name axes by string; passes compute with TensorSharding. A table
/// translates between the two and caches the results, since a program has few
/// distinct attributes for its many values.

#ifndef TPOPT_DIALECTS_TP_SHARDINGTABLE_H
#define TPOPT_DIALECTS_TP_SHARDINGTABLE_H

#include "tpopt/Dialect/SPMD/SPMD.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tp {

/// Returns the mesh of a function: the mesh that its shardings name, or else
/// the only mesh of the module. Emits an error and fails if there is no such
/// mesh, if shardings name several meshes, or if a tensor type is not supported
/// or does not fit the mesh.
mlir::FailureOr<spmd::MeshOp> getMesh(mlir::FunctionOpInterface function);

class ShardingTable {
public:
  ShardingTable(mlir::MLIRContext *context, Mesh mesh)
      : context(context), mesh(std::move(mesh)) {}

  const Mesh &getMesh() const { return mesh; }

  /// The sharding of `value`; null if it has no attribute. A scalar without an
  /// attribute is replicated, because it cannot be sharded. The pointer is
  /// valid until the table is destroyed.
  const TensorSharding *lookup(mlir::Value value);
  /// Resolves the axis names of a verified attribute for a tensor of rank
  /// `rank`. The reference is valid until the table is destroyed.
  const TensorSharding &resolve(spmd::ShardingAttr attribute, unsigned rank);
  spmd::ShardingAttr toAttr(const TensorSharding &sharding);
  void set(mlir::Value value, const TensorSharding &sharding) {
    spmd::setSharding(value, toAttr(sharding));
  }

private:
  mlir::MLIRContext *context;
  Mesh mesh;
  struct Hash {
    size_t operator()(const TensorSharding &sharding) const {
      return hash_value(sharding);
    }
  };
  llvm::DenseMap<mlir::Attribute, std::unique_ptr<TensorSharding>> resolved;
  std::unordered_map<TensorSharding, spmd::ShardingAttr, Hash> attributes;
};

/// The size of one element, at least one byte.
int64_t getElementBytes(mlir::Type tensor);

/// The name of a value in messages: the `tp.name` of a function argument, else
/// the name in the value's location. A value without either is named by its
/// argument number, or by the op that computes it and the line of this op.
std::string getName(mlir::Value value);

} // namespace tp

#endif // TPOPT_DIALECTS_TP_SHARDINGTABLE_H
