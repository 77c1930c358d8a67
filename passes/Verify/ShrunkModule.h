// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds a separate module from a segment, with smaller sizes.
//
//     spmd.mesh @mesh <["x"=3]>
//     func.func @whole(%x: tensor<6x2xf32>) ..   the global op
//     func.func @local(%x: tensor<2x2xf32, #spmd.local<..>>) ..

#ifndef TPOPT_PASSES_VERIFY_SHRUNKMODULE_H
#define TPOPT_PASSES_VERIFY_SHRUNKMODULE_H

#include "OpCheck.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tp {

/// Selects the sizes that are shrunk.
struct Sizes {
  bool mesh = false;    ///< Axes.
  bool extents = false; ///< Extents of factors.
  bool whole = false;   ///< Also extents of factors that the op needs whole.
  /// Offsets of a device's block. A local form that computes with the device's
  /// position keeps the sizes of sharded dimensions if its offsets are not
  /// shrunk.
  bool offsets = false;
  /// Dimensions along which a splice or a window op exchanges data, dimensions
  /// that a dynamic slice or update slices, and the axes that split these
  /// dimensions.
  bool parts = false;
};

/// Builds both functions. Returns null if the new size of some value is not
/// known, or if an op does not verify on the new sizes; `reason` says why.
mlir::OwningOpRef<mlir::ModuleOp> buildShrunkModule(const Segment &segment,
                                                    const Mesh &mesh,
                                                    Sizes sizes,
                                                    std::string &reason);

/// Prints the module built from a segment as a certified partition, the input
/// of tp-verify-partition.
std::string printReproducer(mlir::ModuleOp scratch, const Segment &segment);

/// The layout of a value of a local type on `mesh`.
TensorSharding getLocalSharding(mlir::RankedTensorType type, const Mesh &mesh);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_SHRUNKMODULE_H
