// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A segment as a module of its own, on other sizes.
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

/// What is made smaller than it is.
struct Sizes {
  bool mesh = false;    ///< Axes.
  bool extents = false; ///< Extents of factors.
  bool whole = false;   ///< Those of factors that the op wants whole, too.
  /// Where a device's block begins: else what is counted in blocks is kept.
  bool offsets = false;
  /// Dimensions along which a splice exchanges, or of which a dynamic slice or
  /// update has a part; and the axes that cut them.
  bool parts = false;
};

/// Builds both functions. None if the segment has something whose new size is
/// not known, or ops that do not verify on the new sizes; `reason` says what.
mlir::OwningOpRef<mlir::ModuleOp> buildShrunkModule(const Segment &segment,
                                                    const Mesh &mesh,
                                                    Sizes sizes,
                                                    std::string &reason);

/// A segment that was built as a certified partition: what tp-verify-partition
/// reads.
std::string printReproducer(mlir::ModuleOp scratch, const Segment &segment);

/// How a value of a local type lies on `mesh`.
TensorSharding getLocalSharding(mlir::RankedTensorType type, const Mesh &mesh);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_SHRUNKMODULE_H
