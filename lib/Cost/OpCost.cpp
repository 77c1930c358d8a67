// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Cost/OpCost.h"

#include "dialects/TP/CheapSources.h"
#include "dialects/TP/ShardingTable.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Sharding/Projection.h"

#include <algorithm>

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::spmd;

static Type getTensorType(Operation *op, unsigned tensor) {
  return tensor < op->getNumOperands()
             ? op->getOperand(tensor).getType()
             : op->getResult(tensor - op->getNumOperands()).getType();
}

static double getBytes(Type type, const TensorSharding *layout) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  return getVolume(layout ? getLocalShape(*layout, tensor.getShape())
                          : SmallVector<int64_t>(tensor.getShape())) *
         getElementBytes(tensor);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// The number of devices that shard each factor.
static SmallVector<int64_t> getFactorDevices(const ShardingRule &rule,
                                             OpLayouts layouts) {
  SmallVector<int64_t> devices(rule.factors.size(), 1);
  for (auto [tensor, layout] : llvm::enumerate(layouts)) {
    if (!layout || layout->isReplicated())
      continue;
    TensorProjection projection = project(rule, tensor, *layout);
    for (auto [count, factor] : llvm::zip_equal(devices, projection))
      count = std::max(count, getSize(factor.axes));
  }
  return devices;
}

/// The number of operations that one device computes for `op`.
static double getFlops(CostOpInterface op, const ShardingRule &rule,
                       OpLayouts layouts, UnevenBlocks blocks) {
  SmallVector<int64_t> sizes;
  double share = 1;
  for (auto [factor, devices] :
       llvm::zip_equal(rule.factors, getFactorDevices(rule, layouts))) {
    if (blocks == UnevenBlocks::Largest) {
      sizes.push_back(BlockLayout{factor.size, devices}.block());
      continue;
    }
    sizes.push_back(factor.size);
    // Devices without data are not counted if they are at least half of all
    // devices.
    share /=
        std::max<int64_t>(1, devices < 2 * factor.size ? devices : factor.size);
  }
  return op.getFlops(sizes) * share;
}

/// The bytes that `op` reads and writes. For an op that accesses a part of a
/// tensor, only that part counts.
static double getTouchedBytes(Operation *op, OpLayouts layouts) {
  auto getBytes = [&](unsigned tensor) {
    return ::getBytes(getTensorType(op, tensor), layouts[tensor]);
  };
  unsigned numOperands = op->getNumOperands();
  double sum = 0;
  // Windows are a view of the input, but padding the input takes a copy.
  if (auto window = dyn_cast<WindowOp>(op))
    return window.getFill() ? 2 * getBytes(0) : 0;
  if (isa<DynamicUpdateSliceOp, ScatterOp>(op)) {
    // In place: the op reads all operands except the tensor to update, and
    // writes only the updated part.
    for (unsigned operand = 1; operand < numOperands; ++operand)
      sum += 2 * getBytes(operand);
    return sum;
  }
  for (unsigned tensor = 0; tensor < layouts.size(); ++tensor)
    sum += getBytes(tensor);
  if (isa<GatherOp, EmbeddingOp, DynamicSliceOp>(op))
    sum += getBytes(numOperands) - getBytes(0);
  return sum;
}

Work tp::cost::getWork(Operation *op, const ShardingRule &rule,
                       OpLayouts layouts, UnevenBlocks blocks) {
  Work work;
  // These ops have no work. A reshape is a view, sending is not counted as
  // work, annotations do nothing, and the users of a cheap source recompute it.
  if (isa<ReshapeOp, CollectiveOpInterface, ShiftOp, BlockOp, AssembleOp,
          ConstraintOp, BarrierOp>(op) ||
      isCheapSource(op))
    return work;
  work.contraction = isContraction(rule);
  work.bytes = getTouchedBytes(op, layouts);
  if (auto costed = dyn_cast<CostOpInterface>(op))
    work.flops = getFlops(costed, rule, layouts, blocks);
  if (op->getNumOperands() != 0)
    if (auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType()))
      work.bits = type.getElementTypeBitWidth();
  return work;
}

//===----------------------------------------------------------------------===//
// CostModel
//===----------------------------------------------------------------------===//

/// Without a machine, this many operations cost as much as sending a byte.
static constexpr double kFlopsPerByte = 64;
/// Small enough to break ties only.
static constexpr double kTieBreak = 1e-15;

/// The cost of sending one byte along the slowest axis.
double CostModel::getByteCost() const {
  if (!mesh.hasLinks)
    return 1;
  double beta = 0;
  for (const Axis &axis : mesh.axes)
    beta = std::max(beta, axis.link.beta);
  return beta;
}

Price CostModel::getComputePrice(const Work &work) const {
  if (machine)
    return {getTime(*machine, work), 0};
  if (work.contraction)
    return {work.flops / kFlopsPerByte * getByteCost(), 0};
  return {0, (work.flops + work.bytes) * kTieBreak * getByteCost()};
}

Price CostModel::getCarryPrice(RankedTensorType type,
                               const TensorSharding &layout) const {
  return {0, getBytes(type, &layout) * kTieBreak * getByteCost()};
}

double CostModel::getPartialPreference(Operation *op, OpLayouts layouts) const {
  // Only the updated elements become partial, because the rest of the tensor
  // exists already.
  if (auto update = dyn_cast<DynamicUpdateSliceOp>(op))
    return 0.1 * getLaunchPreference(
                     getBytes(update.getUpdate().getType(), layouts[1]));
  double bytes = 0;
  for (auto [type, layout] : llvm::zip_equal(
           op->getResultTypes(), layouts.drop_front(op->getNumOperands())))
    bytes += getBytes(type, layout);
  return 0.1 * getLaunchPreference(bytes);
}

double CostModel::getTransferCost(llvm::ArrayRef<AxisRef> axes,
                                  double bytes) const {
  return mesh.hasLinks ? getCollectiveTime(mesh, axes, bytes) : bytes;
}

double CostModel::getLeastStart() const {
  if (!mesh.hasLinks || mesh.axes.empty())
    return 0;
  return llvm::min_element(mesh.axes,
                           [](const Axis &a, const Axis &b) {
                             return a.link.alpha < b.link.alpha;
                           })
      ->link.alpha;
}

double CostModel::getLaunchPreference(double tensorBytes) const {
  return mesh.hasLinks ? 1e-12 : 1e-3 * tensorBytes;
}

Price CostModel::getComputePrice(Operation *op, const ShardingRule &rule,
                                 OpLayouts layouts) const {
  if (isCheapSource(op))
    return getCarryPrice(cast<RankedTensorType>(op->getResult(0).getType()),
                         *layouts[0]);
  return getComputePrice(
      getWork(op, rule, layouts,
              machine ? UnevenBlocks::Largest : UnevenBlocks::Average));
}

std::optional<Price> CostModel::getSent(Operation *op,
                                        OpLayouts layouts) const {
  auto exchanging = dyn_cast<ExchangeOpInterface>(op);
  if (!exchanging)
    return Price();
  SmallVector<TensorSharding, 4> shardings;
  for (auto [tensor, layout] : llvm::enumerate(layouts)) {
    auto type = dyn_cast<RankedTensorType>(getTensorType(op, tensor));
    shardings.push_back(
        layout ? *layout
               : TensorSharding::replicate(type ? type.getRank() : 0));
  }
  auto exchanges = exchanging.getExchanges(shardings);
  if (!exchanges)
    return std::nullopt;
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  double tensorBytes = getVolume(type.getShape()) * getElementBytes(type);
  Price sent;
  for (const Exchange &exchange : *exchanges) {
    double bytes =
        getWireElements(exchange.kind, getSize(exchange.axes), exchange.bytes);
    sent += {getTransferCost(exchange.axes, bytes),
             getLaunchPreference(tensorBytes), /*launches=*/1};
  }
  return sent;
}

std::optional<Price> CostModel::getPrice(Operation *op,
                                         const ShardingRule &rule,
                                         OpLayouts layouts) const {
  std::optional<Price> sent = getSent(op, layouts);
  if (!sent)
    return std::nullopt;
  Price price = getComputePrice(op, rule, layouts);
  price += *sent;
  return price;
}
