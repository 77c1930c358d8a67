// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What a partitioned program costs on one device: work, launches,
/// storage.
///
/// Everything here works from `tp-partition` on, on global types with a
/// sharding on every value as on the local types behind `tp-localize`, and says
/// the same of both (but for the overwriting of padding, which only the latter
/// has):
///
///     %y = tp.einsum "bi,io->bo" %x, %w       x [{"data"}, {}], 8x512
///                                             w [{}, {"model"}], 512x2048
///     on data=2, model=4:   2 * 4 * 512 * 512 operations,
///                           4x512 + 512x512 + 4x512 elements moved
///
/// Inside `spmd.manual` types are what a device holds already.

#ifndef TPOPT_COST_PROGRAMCOST_H
#define TPOPT_COST_PROGRAMCOST_H

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/Machine.h"
#include "lib/Cost/Memory.h"
#include "lib/Cost/OpCost.h"
#include "lib/Sharding/Reshard/ReshardEstimate.h"

#include "llvm/ADT/DenseSet.h"

namespace tp::cost {

/// What one device holds of a value.
struct LocalTensor {
  mlir::RankedTensorType global;
  TensorSharding sharding; ///< Its layout only.

  llvm::SmallVector<int64_t> getShape() const {
    return getLocalShape(sharding, global.getShape());
  }
  int64_t getBytes() const {
    return getBufferElements(sharding, global.getShape()) *
           getElementBytes(global);
  }
  int64_t getPaddingBytes() const {
    return getPaddingElements(sharding, global.getShape()) *
           getElementBytes(global);
  }
};

/// None if `value` is no tensor, or has no sharding and stands outside of
/// `spmd.manual`.
std::optional<LocalTensor> getLocalTensor(mlir::Value value,
                                          ShardingTable &table);

/// A type of the rank of `type`, the global type of `value`, whose blocks take
/// the memory that those of `value` take. It is `type` but for windows, which
/// are a view of what they read. Of tensor<4x16x3xf32>, windows of three next
/// to each other, that is tensor<4x18x1xf32>.
mlir::RankedTensorType getStoredType(mlir::Value value,
                                     mlir::RankedTensorType type);

/// The work of `op` on one device; none for an op that changes or moves
/// nothing, and for control flow, whose work is that of its regions.
Work getWork(mlir::Operation *op, ShardingTable &table);

/// How often an op runs for one call of its function.
struct Trips {
  int64_t times = 1; ///< The product of the trip counts of enclosing loops.
  std::string note;  ///< What that leaves out; empty if it is exact.
};

Trips getTrips(mlir::Operation *op);

/// How often plans count an op: as often as it runs, and four times for each
/// iteration of a loop whose iterations are not known, since what can leave a
/// loop should.
double getExpectedTimes(mlir::Operation *op);

/// What reshards of tensors of one type cost, by the numbers of their layouts
/// in the pool of an estimator, which must outlive the prices.
class ReshardPrices {
public:
  ReshardPrices(ReshardEstimator &estimator, const CostModel &cost,
                mlir::RankedTensorType type);

  /// Of one reshard. A sum that a loop repeats had better wait for the end of
  /// the loop where it leaves the value as large as it is, and that takes no
  /// memory: half a launch more outweighs what is partial meanwhile, and not
  /// the launch that a scatter and a gather in its place take.
  Price get(unsigned from, unsigned to, bool isRepeated) const {
    ReshardEstimator::Estimate estimate = estimator->get(from, to, shape);
    double launches = estimate.launches;
    double factor = isRepeated && isSumInPlace(from, to) ? 1.5 : 1;
    return {estimate.cost, factor * launches * launchPreference, launches};
  }
  /// Says that reshards to `layouts` will be priced.
  void expect(llvm::ArrayRef<unsigned> layouts) const {
    estimator->expect(layouts, shape);
  }

private:
  bool isSumInPlace(unsigned from, unsigned to) const;

  ReshardEstimator *estimator;
  ReshardEstimator::Shape shape;
  double launchPreference;
};

/// What the ops of `root` cost a device, each times how often it is expected to
/// run: those of a function, or of a manual region, without those of the manual
/// regions in it. Reshards cost what they are estimated to; an op that cannot
/// be computed with its layouts has infinite cost.
Price getPrice(mlir::Operation *root, ShardingTable &table,
               const CostModel &cost);

/// One collective of a program: what a device sends, and of what.
struct CollectiveCost {
  mlir::Operation *op = nullptr;
  CollectiveKind kind = CollectiveKind::AllReduce;
  AxisList axes;
  /// How values combine, where they do.
  std::optional<ReduceKind> reduce;
  int64_t bytes = 0;     ///< The payload of a device.
  int64_t wireBytes = 0; ///< What a device sends on a ring, rounded up.
  /// The value that is sent, behind the collectives that sent it before.
  mlir::Value source;
  /// The same of every part of a combined launch; `source` is the first.
  llvm::SmallVector<mlir::Value, 1> sources;
};

/// None if `op` is no collective, or a free one.
std::optional<CollectiveCost> getCollectiveCost(mlir::Operation *op,
                                                ShardingTable &table);

/// Whether somebody asked for a collective: it was written by hand, or
/// Partition made it for an annotation.
bool isRequested(mlir::Operation *collective);

/// Whether the op of `use` writes its result over the operand, if nobody else
/// needs that.
bool isOverwritten(mlir::OpOperand &use);

/// The values of a function that live in the storage of a donated argument:
/// what is written into it, and what loops carry of that.
llvm::DenseSet<mlir::Value>
findInPlaceValues(mlir::FunctionOpInterface function);

/// The most that values of a function, or of a manual region, take at one time.
/// Storage of parameters and caches is not among it, nor are values that are
/// written in place into donated arguments, nor results that are computed there
/// element by element when nobody else reads the argument any more, as new
/// parameters are.
struct ActivationPeak {
  Peak peak;
  mlir::Operation *op =
      nullptr; ///< Where it is reached; null if there is none.
};

ActivationPeak getActivationPeak(mlir::Operation *root, ShardingTable &table);

/// What a device holds of a function at most: arguments that are kept from one
/// call to the next, and the peak.
int64_t getHeldBytes(mlir::FunctionOpInterface function, ShardingTable &table);

/// The machine that a pass option names, or if it is empty the one that the
/// module was planned for, if any. Emits an error at `module` and fails if
/// there is no such machine.
mlir::FailureOr<std::optional<Machine>>
readMachineOption(mlir::ModuleOp module, llvm::StringRef option);

/// The bytes that the pass option `name` says, `72GiB` or `72e9`; none if it is
/// empty. Emits an error at `module` and fails if it is no size.
mlir::FailureOr<std::optional<int64_t>> readSizeOption(mlir::ModuleOp module,
                                                       llvm::StringRef name,
                                                       llvm::StringRef option);

/// The bytes of memory that a device may use: what a pass option says, `72GiB`
/// or `72e9`, or if it is empty what the module was planned for, or else all
/// that the machine has; 0 if that is not known. Emits an error at `module` and
/// fails if the option is no size.
mlir::FailureOr<int64_t>
readMemoryOption(mlir::ModuleOp module, llvm::StringRef option,
                 const std::optional<Machine> &machine);

} // namespace tp::cost

#endif // TPOPT_COST_PROGRAMCOST_H
