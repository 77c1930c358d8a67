// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The local form of ops that move rows along a sharded dimension.
///
/// A window (see Halo.h) gives the rows that a device needs from other devices'
/// blocks. Each run of rows is fetched by one shift for all windows on a value,
/// and concatenated with the device's own rows: this is a strip, which contains
/// the device's result block.

#ifndef TPOPT_DIALECTS_TP_STRIPS_H
#define TPOPT_DIALECTS_TP_STRIPS_H

#include "dialects/TP/Emitter.h"
#include "lib/Sharding/Algebra/Halo.h"
#include "tpopt/Dialect/SPMD/ShardingInterfaces.h"

namespace tp {

/// The limit on the number of distances and launches. Beyond it, another method
/// is simpler, even if it costs more.
inline constexpr size_t kMostDistances = 8;

/// Rows of the block of value number `source` on the device `distance`
/// positions ahead on the ring, or on its mirror image. A mirrored block's rows
/// are numbered from its end, as in its window.
struct Fetch {
  unsigned source;
  int64_t distance;
  bool mirrored;
  BlockRows rows;
};

/// Runs that overlap or touch are merged. Other runs from the same block are
/// fetched separately: on two devices, the previous and the next block are the
/// same.
using Fetches = llvm::SmallVector<Fetch, 2>;

/// Adds the rows that `window` on a value needs from other devices.
void addFetches(Fetches &fetches, unsigned source, const Window &window,
                int64_t ring);

/// The launch that sends a part of shape `shape` of a tensor with elements of
/// type `element`.
spmd::Exchange getExchange(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                           const AxisList &axes);

/// Emits the error for an op that needs rows along `dim` from too many devices.
/// Partition never chooses such a plan; only a hand-written sharding gets here.
mlir::InFlightDiagnostic emitTooManyExchanges(mlir::Operation *op, int64_t dim);

/// `x` reversed along `dim`: element i is element n - 1 - i of `x`.
mlir::Value emitReversed(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value x, int64_t dim, mlir::Type type);

/// Builds the shifts and the strips.
class StripLocalizer {
public:
  /// `axes` shard dimension `dim`; `sources` are the device's parts of each
  /// value.
  StripLocalizer(spmd::Localizer &localizer, mlir::Location loc, int64_t dim,
                 const AxisList &axes, mlir::ValueRange sources,
                 const Fetches &fetches);

  /// The device's block of type `result`, whose rows are `stride` apart in the
  /// window on value `source`; `isWhole` means that the value is not sharded.
  /// If the window is spread, `setApart` puts the fill after each of its rows.
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
  llvm::SmallVector<mlir::Value, 2> fetched; ///< For each fetch, in order.
};

} // namespace tp

#endif // TPOPT_DIALECTS_TP_STRIPS_H
