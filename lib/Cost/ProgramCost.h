// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The cost of a partitioned program on one device: work, launches and
/// storage.
///
/// Everything here works after `tp-partition`. It accepts global types with a
/// sharding on every value as well as the local types after `tp-localize`, and
/// gives the same results for both (except that only local programs have ops
/// that overwrite padding):
///
///     %y = tp.einsum "bi,io->bo" %x, %w       x [{"data"}, {}], 8x512
///                                             w [{}, {"model"}], 512x2048
///     on data=2, model=4:   2 * 4 * 512 * 512 operations,
///                           4x512 + 512x512 + 4x512 elements moved
///
/// Inside of `spmd.manual`, types are already those that a device holds.

#ifndef TPOPT_COST_PROGRAMCOST_H
#define TPOPT_COST_PROGRAMCOST_H

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/Machine.h"
#include "lib/Cost/Memory.h"
#include "lib/Cost/OpCost.h"
#include "lib/Sharding/Reshard/ReshardEstimate.h"

#include "llvm/ADT/DenseSet.h"

namespace tp::cost {

/// The part of a value that one device holds.
struct LocalTensor {
  mlir::RankedTensorType global;
  TensorSharding sharding; ///< Only the layout.

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

/// Returns nullopt if `value` is not a tensor, or is outside of `spmd.manual`
/// and has no sharding.
std::optional<LocalTensor> getLocalTensor(mlir::Value value,
                                          ShardingTable &table);

/// Returns a type whose blocks take as much memory as those of `value`, and
/// which has the rank of `type`, the global type of `value`. It differs from
/// `type` only for windows, which are a view of their input. For example, for
/// tensor<4x16x3xf32>, overlapping windows of three elements at stride 1, it is
/// tensor<4x18x1xf32>.
mlir::RankedTensorType getStoredType(mlir::Value value,
                                     mlir::RankedTensorType type);

/// The work of `op` on one device. Ops that neither change nor move data have
/// no work. Neither does control flow: its work is that of the ops in its
/// regions.
Work getWork(mlir::Operation *op, ShardingTable &table);

/// How often an op runs for one call of its function.
struct Trips {
  int64_t times = 1; ///< The product of the trip counts of enclosing loops.
  std::string note;  ///< What the number leaves out; empty if it is exact.
};

Trips getTrips(mlir::Operation *op);

/// The number of times that plans count an op: how often it runs, assuming four
/// iterations of a loop of unknown length, so that moving work out of the loop
/// pays off.
double getExpectedTimes(mlir::Operation *op);

/// The prices of reshards of tensors of one type. Layouts are given by their
/// numbers in the pool of the estimator. The estimator must outlive this
/// object.
class ReshardPrices {
public:
  ReshardPrices(ReshardEstimator &estimator, const CostModel &cost,
                mlir::RankedTensorType type);

  /// The price of one reshard. An all-reduce in a loop does not change the size
  /// of the value, and can be postponed until after the loop without additional
  /// memory. So it counts as half a launch more. That outweighs the preference
  /// against partial values, but not the extra launch of a reduce-scatter and
  /// an all-gather in its place.
  Price get(unsigned from, unsigned to, bool isRepeated) const {
    ReshardEstimator::Estimate estimate = estimator->get(from, to, shape);
    double launches = estimate.launches;
    double factor = isRepeated && isSumInPlace(from, to) ? 1.5 : 1;
    return {estimate.cost, factor * launches * launchPreference, launches};
  }
  /// Tells the estimator that reshards to `layouts` will be priced.
  void expect(llvm::ArrayRef<unsigned> layouts) const {
    estimator->expect(layouts, shape);
  }

private:
  bool isSumInPlace(unsigned from, unsigned to) const;

  ReshardEstimator *estimator;
  ReshardEstimator::Shape shape;
  double launchPreference;
};

/// The cost of the ops of `root` for a device, each times its expected number
/// of runs. `root` is a function or a manual region; nested manual regions are
/// not counted. Reshards have their estimated cost; an op that cannot be
/// computed with its layouts has infinite cost.
Price getPrice(mlir::Operation *root, ShardingTable &table,
               const CostModel &cost);

/// What a launch sends in collectives of one kind.
struct CollectiveShare {
  CollectiveKind kind;
  std::optional<ReduceKind> reduce = std::nullopt; ///< None if it moves data.
  int64_t bytes = 0;                               ///< The payload of a device.
  double wireBytes = 0; ///< Bytes that a device sends on a ring.
};

/// One launch of a program: its collectives and their axes, what each device
/// sends, and the values that are sent.
struct CollectiveCost {
  mlir::Operation *op = nullptr;
  /// By kind and reduction, in the order of their first values.
  llvm::SmallVector<CollectiveShare, 1> shares;
  AxisList axes;
  int64_t bytes = 0;     ///< The payload of a device.
  int64_t wireBytes = 0; ///< Bytes that a device sends on a ring, rounded up.
  /// The value originally sent, found by looking through the earlier
  /// collectives that produced this operand.
  mlir::Value source;
  /// The sources of all collectives in a combined launch; `source` is the first
  /// one.
  llvm::SmallVector<mlir::Value, 1> sources;

  /// The kinds as one word, for example `all_gather+all_reduce`.
  std::string getName() const;
  /// The reductions as one word, for example `sum+max`; `none` if there are
  /// none.
  std::string getReductions() const;
};

/// Returns nullopt if `op` is not a collective, or is one that costs nothing.
std::optional<CollectiveCost> getCollectiveCost(mlir::Operation *op,
                                                ShardingTable &table);

/// Returns true if the user requested a collective: it was written by hand, or
/// Partition made it for an annotation.
bool isRequested(mlir::Operation *collective);

/// Returns true if the op of `use` overwrites the operand with its result.
/// Assumes that the operand has no other uses.
bool isOverwritten(mlir::OpOperand &use);

/// The values of a function that are stored in a donated argument: values that
/// are written into it, and values that loops carry from these.
llvm::DenseSet<mlir::Value>
findInPlaceValues(mlir::FunctionOpInterface function);

/// The peak memory of the values of a function or manual region. Not counted
/// are:
/// * the storage of parameters and caches;
/// * values that are written in place into donated arguments;
/// * results that are computed element by element in place of an argument after
///   all other reads of it, such as new parameters.
struct ActivationPeak {
  Peak peak;
  mlir::Operation *op =
      nullptr; ///< The op at the peak; null if there is no such op.
};

ActivationPeak getActivationPeak(mlir::Operation *root, ShardingTable &table);

/// The most bytes that a device holds for a function: arguments that are kept
/// between calls, plus the peak of activations.
int64_t getHeldBytes(mlir::FunctionOpInterface function, ShardingTable &table);

/// Returns the machine that a pass option names. If the option is empty,
/// returns the machine that the module was planned for, or nullopt if there is
/// none. Emits an error at `module` and fails if the named machine cannot be
/// read.
mlir::FailureOr<std::optional<Machine>>
readMachineOption(mlir::ModuleOp module, llvm::StringRef option);

/// The bytes that the pass option `name` specifies, such as `72GiB` or `72e9`;
/// nullopt if it is empty. Emits an error at `module` and fails if it is not a
/// size.
mlir::FailureOr<std::optional<int64_t>> readSizeOption(mlir::ModuleOp module,
                                                       llvm::StringRef name,
                                                       llvm::StringRef option);

/// The bytes of memory that a device may use: those that the pass option
/// specifies, such as `72GiB` or `72e9`; if the option is empty, those that the
/// module was planned for; otherwise all memory of the machine; 0 if unknown.
/// Emits an error at `module` and fails if the option is not a size.
mlir::FailureOr<int64_t>
readMemoryOption(mlir::ModuleOp module, llvm::StringRef option,
                 const std::optional<Machine> &machine);

} // namespace tp::cost

#endif // TPOPT_COST_PROGRAMCOST_H
