// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Shards tensors along the data axis, as the options plan= (`ddp`, `fsdp`) and
// zero= request.

#ifndef TPOPT_PASSES_IMPORT_DATAPARALLEL_H
#define TPOPT_PASSES_IMPORT_DATAPARALLEL_H

#include "PlanWords.h"

#include "tpopt/Sharding/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// Returns the dimension along which an input holds samples; nullopt if it has
/// none.
std::optional<unsigned> getBatchDim(mlir::func::FuncOp function,
                                    unsigned argument);

/// Shards arguments and results along one axis of a mesh.
class DataParallel {
public:
  DataParallel(const Mesh &mesh, unsigned axis, const PlanWords &words)
      : mesh(mesh), axis(AxisRef::full(mesh, axis)), words(words) {}

  /// Annotates arguments that carry no sharding, and adds the axis to the
  /// shardings of all tensors that the ZeRO stage covers.
  void apply(mlir::func::FuncOp function);
  /// Emits an error if an option that shards along the data axis had no effect.
  mlir::LogicalResult checkUses(mlir::ModuleOp module) const;

private:
  void apply(mlir::func::FuncOp function, unsigned argument);
  /// Shards the batch of an input.
  void cutBatch(mlir::func::FuncOp function, unsigned argument);
  /// If an argument has no sharding, replicates it along the axis.
  void keepWhole(mlir::func::FuncOp function, unsigned argument);
  /// Shards an argument along the axis, in addition to the axes that it is
  /// already sharded along.
  void cut(mlir::func::FuncOp function, unsigned argument);
  void cutGradients(mlir::func::FuncOp function);

  /// Returns the sharding of an argument; an open sharding if it has none.
  TensorSharding getSharding(mlir::func::FuncOp function,
                             unsigned argument) const;
  /// Returns the sharding that a gradient or an optimizer state of the
  /// parameter `name` has before the data axis is added: the parameter's
  /// sharding.
  TensorSharding getSharding(mlir::func::FuncOp function, llvm::StringRef name,
                             llvm::ArrayRef<int64_t> shape) const;
  /// Adds the axis to the dimension of `shape` that the axis splits best.
  void addAxis(TensorSharding &sharding, llvm::ArrayRef<int64_t> shape) const;
  void setSharding(mlir::func::FuncOp function, unsigned argument,
                   const TensorSharding &sharding) const;

  const Mesh &mesh;
  AxisRef axis;
  const PlanWords &words;
  /// Which kinds of arguments and results apply() has found so far.
  bool hasBatch = false, hasState = false, hasGradient = false,
       hasParameter = false;
};

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_DATAPARALLEL_H
