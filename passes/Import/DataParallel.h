// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a plan cuts along the data axis.

#ifndef TPOPT_PASSES_IMPORT_DATAPARALLEL_H
#define TPOPT_PASSES_IMPORT_DATAPARALLEL_H

#include "PlanWords.h"

#include "tpopt/Sharding/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

/// The dimension along which an input holds samples; none if it has none.
std::optional<unsigned> getBatchDim(mlir::func::FuncOp function,
                                    unsigned argument);

/// Cuts along one axis of a mesh.
class DataParallel {
public:
  DataParallel(const Mesh &mesh, unsigned axis, const PlanWords &words)
      : mesh(mesh), axis(AxisRef::full(mesh, axis)), words(words) {}

  /// Annotates arguments that carry no sharding, and adds to the shardings of
  /// what `zero` is about.
  void apply(mlir::func::FuncOp function);
  /// Complains about words that had nothing to do.
  mlir::LogicalResult checkUses(mlir::ModuleOp module) const;

private:
  void apply(mlir::func::FuncOp function, unsigned argument);
  /// Cuts the batch of an input.
  void cutBatch(mlir::func::FuncOp function, unsigned argument);
  /// Keeps an argument whole along the axis.
  void keepWhole(mlir::func::FuncOp function, unsigned argument);
  /// Cuts an argument along the axis beside what it is cut along.
  void cut(mlir::func::FuncOp function, unsigned argument);
  void cutGradients(mlir::func::FuncOp function);

  /// What an argument carries; open without a sharding.
  TensorSharding getSharding(mlir::func::FuncOp function,
                             unsigned argument) const;
  /// The sharding that a gradient or a state of the parameter `name` has
  /// without the axis.
  TensorSharding getSharding(mlir::func::FuncOp function, llvm::StringRef name,
                             llvm::ArrayRef<int64_t> shape) const;
  /// Adds the axis where it cuts a tensor of that shape most evenly.
  void addAxis(TensorSharding &sharding, llvm::ArrayRef<int64_t> shape) const;
  void setSharding(mlir::func::FuncOp function, unsigned argument,
                   const TensorSharding &sharding) const;

  const Mesh &mesh;
  AxisRef axis;
  const PlanWords &words;
  /// What was met.
  bool hasBatch = false, hasState = false, hasGradient = false,
       hasParameter = false;
};

} // namespace tp

#endif // TPOPT_PASSES_IMPORT_DATAPARALLEL_H
