// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The local form of ops that move rows along a sharded dimension.
///
/// A window (see Halo.h) says which rows a device needs from the blocks of
/// other devices. Each run of adjacent rows is fetched by one shift, even if
/// several windows on a value need the rows. The fetched rows and the device's
/// own rows are concatenated to a strip, which contains the device's block of
/// the result.

#ifndef TPOPT_DIALECTS_TP_STRIPS_H
#define TPOPT_DIALECTS_TP_STRIPS_H

#include "dialects/TP/Emitter.h"
#include "lib/Sharding/Algebra/Halo.h"
#include "tpopt/Dialect/SPMD/ShardingInterfaces.h"

namespace tp {

/// The maximum number of distances in a window, and of launches for an op. If
/// an op needs more, it must be sharded in another way.
inline constexpr size_t kMostDistances = 8;

/// Rows of value number `source` that a device receives. They are in the block
/// of the device `distance` positions ahead on the ring or, if `mirrored`, of
/// that device's mirror image (at position k - 1 - p of k instead of p). The
/// rows of a mirrored block are numbered from its end, as in a mirrored window.
struct Fetch {
  unsigned source;
  int64_t distance;
  bool mirrored;
  BlockRows rows;
};

/// The rows that a device receives. Runs of rows of the same block are merged
/// if they overlap or touch, and are fetched separately if there is a gap
/// between them. For example, with two devices, a window that needs the end of
/// the previous block and the beginning of the next one needs two runs of the
/// same block.
using Fetches = llvm::SmallVector<Fetch, 2>;

/// Adds the rows of value number `source` that `window` needs from other
/// devices.
void addFetches(Fetches &fetches, unsigned source, const Window &window,
                int64_t ring);

/// The cost of one shift along `axes`. It sends a buffer of shape `shape`, with
/// elements of type `element`.
spmd::Exchange getExchange(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                           const AxisList &axes);

/// Emits the error for an op that needs rows along `dim` from too many devices.
/// Only a sharding that the user wrote can require this: Partition never
/// chooses one.
mlir::InFlightDiagnostic emitTooManyExchanges(mlir::Operation *op, int64_t dim);

/// `x` reversed along `dim`: element i is element n - 1 - i of `x`.
mlir::Value emitReversed(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value x, int64_t dim, mlir::Type type);

/// Builds the shifts that fetch rows, and the strips.
class StripLocalizer {
public:
  /// `axes` are the axes that shard dimension `dim`. `sources[i]` is the
  /// device's part of value number i.
  StripLocalizer(spmd::Localizer &localizer, mlir::Location loc, int64_t dim,
                 const AxisList &axes, mlir::ValueRange sources,
                 const Fetches &fetches);

  /// Returns the device's result block, of type `result`, from the strip of
  /// `window` on value number `source`. The rows of the block are `stride`
  /// apart in the strip. `isWhole` means that every device has the whole value.
  /// For a piece with spread rows, `setApart` inserts fill after each row of
  /// the strip.
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
