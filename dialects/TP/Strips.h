// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The local form of what moves rows along a cut dimension.
///
/// A window (see Halo.h) says which rows of other devices' blocks a device
/// needs. They are fetched, each run of rows by one shift for all windows on
/// one value, and put beside the device's own: a strip, of which the device's
/// result block is a part.

#ifndef TPOPT_DIALECTS_TP_STRIPS_H
#define TPOPT_DIALECTS_TP_STRIPS_H

#include "dialects/TP/Emitter.h"
#include "lib/Sharding/Algebra/Halo.h"
#include "tpopt/Dialect/SPMD/ShardingInterfaces.h"

namespace tp {

/// Distances and launches past which another way is simpler, whatever it costs.
inline constexpr size_t kMostDistances = 8;

/// Rows of the block of value `source`, by number, of the device `distance`
/// places ahead on the ring, or of its mirror image. A mirrored block's rows
/// are numbered from its end, as in its window.
struct Fetch {
  unsigned source;
  int64_t distance;
  bool mirrored;
  BlockRows rows;
};

/// Runs that overlap or touch are merged. Others from the same block are
/// fetched separately: on two devices, the blocks before and after are the same
/// block.
using Fetches = llvm::SmallVector<Fetch, 2>;

/// Adds what `window` on a value takes from other devices.
void addFetches(Fetches &fetches, unsigned source, const Window &window,
                int64_t ring);

/// The launch that sends `shape`, a part of a tensor of such elements.
spmd::Exchange getExchange(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                           const AxisList &axes);

/// The error of an op that needs rows along `dim` from too many others.
/// Partition never chooses that; only a hand-written sharding gets here.
mlir::InFlightDiagnostic emitTooManyExchanges(mlir::Operation *op, int64_t dim);

/// `x` with element i along `dim` where element n - 1 - i was.
mlir::Value emitReversed(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value x, int64_t dim, mlir::Type type);

/// Builds the shifts and what is made of them.
class StripLocalizer {
public:
  /// `axes` cut dimension `dim`; `sources` are what the device has of each
  /// value.
  StripLocalizer(spmd::Localizer &localizer, mlir::Location loc, int64_t dim,
                 const AxisList &axes, mlir::ValueRange sources,
                 const Fetches &fetches);

  /// The device's block of type `result`, of which rows are `stride` apart in
  /// the window on value `source`, which is `isWhole` if it is not cut. If the
  /// window is spread, `setApart` puts the fill after each of its rows.
  mlir::Value
  getPart(unsigned source, const Window &window, int64_t stride, bool isWhole,
          mlir::RankedTensorType result,
          llvm::function_ref<mlir::Value(mlir::Value)> setApart = nullptr);

private:
  mlir::RankedTensorType getStripType(unsigned source, int64_t rows);
  mlir::Value slice(mlir::Value local, BlockRows rows, unsigned source);
  mlir::Value slice(mlir::Value local, int64_t start, int64_t stride,
                    mlir::RankedTensorType type);
  mlir::Value scalar(int64_t value);
  mlir::Value place();
  mlir::Value fetch(const Fetch &fetch);
  mlir::Value getRows(const Fetch &wanted, bool isHere);
  mlir::Value getStrip(unsigned source, const Window &window, bool isWhole);

  spmd::Localizer &localizer;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  Emitter emit;
  int64_t dim;
  AxisList axes;
  mlir::ValueRange sources;
  const Fetches &fetches;
  llvm::SmallVector<mlir::Value, 2> fetched; ///< Of each, in order.
};

} // namespace tp

#endif // TPOPT_DIALECTS_TP_STRIPS_H
