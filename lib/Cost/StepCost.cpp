// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Cost/StepCost.h"

#include "tpopt/Sharding/Reshard.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace tp;
using namespace tp::cost;

/// The bytes that a view's elements take in memory. Along a dimension with a
/// stride of 0, only one element is stored.
static double getStoredBytes(Value buffer) {
  MemRefType type = step::bufferTypeOf(buffer);
  double elements = 1;
  for (auto [size, stride] :
       llvm::zip(type.getShape(), step::Strides(type).strides))
    elements *= stride == 0 ? std::min<int64_t>(size, 1) : size;
  return elements * step::getElementBytes(type.getElementType());
}

static double getElements(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), 1.0,
                         std::multiplies<double>());
}

static unsigned getBits(Value buffer) {
  return step::bufferTypeOf(buffer).getElementTypeBitWidth();
}

/// The result is [batch, batch, batch, m, n]; k is the last dimension of A.
template <typename Product> static Work getProductWork(Product op) {
  Work work;
  work.flops = 2 * getElements(step::bufferTypeOf(op.getC()).getShape()) *
               step::bufferTypeOf(op.getA()).getShape().back();
  work.contraction = true;
  work.bits = getBits(op.getA());
  return work;
}

/// The work of an attention with query [b,s,k,g,d], key [b,t,k,d] and value
/// [b,t,k,e]: `overD` products as large as query times key, and `overE`
/// products as large as weights times value. Masked scores are counted, because
/// the ops from which the step was lowered count them too.
static Work getAttentionWork(step::AttentionOpInterface op, double overD,
                             double overE) {
  MemRefType query = step::bufferTypeOf(op.getQuery()),
             value = step::bufferTypeOf(op.getValue());
  double scores =
      getElements(query.getShape().drop_back()) * value.getDimSize(1);
  Work work;
  work.flops =
      2 * scores *
      (overD * query.getShape().back() + overE * value.getShape().back());
  work.contraction = true;
  work.bits = query.getElementTypeBitWidth();
  return work;
}

static Work getRowsWork(step::RowsOp op) {
  Work work;
  double opsPerPoint = 0;
  for (Operation &inner : op.getBody().front())
    if (!isa<step::LoadOp, step::StoreOp, step::IndexOp, step::CoordinateOp,
             step::CounterOp>(inner))
      ++opsPerPoint;
  work.flops = opsPerPoint * getElements(op.getDomain());
  work.bits = 32;
  return work;
}

static Work getStepWork(Operation *op) {
  Work work =
      llvm::TypeSwitch<Operation *, Work>(op)
          .Case<step::MatmulOp, step::SkinnyMatmulOp>(
              [](auto op) { return getProductWork(op); })
          .Case([](step::AttentionOp op) { return getAttentionWork(op, 1, 1); })
          .Case([](step::AttentionQueryGradientOp op) {
            return getAttentionWork(op, 2, 1);
          })
          .Case([](step::AttentionKeyValueGradientOp op) {
            return getAttentionWork(op, 2, 2);
          })
          .Case([](step::RowsOp op) { return getRowsWork(op); })
          .Case([](step::TogetherOp op) {
            Work work;
            work.bits = 32;
            for (auto rows : op.getBody().getOps<step::RowsOp>())
              work.flops += getRowsWork(rows).flops;
            return work;
          })
          .Default([](Operation *) { return Work(); });
  for (Value operand : op->getOperands())
    if (step::isBuffer(operand.getType()))
      work.bytes += getStoredBytes(operand);
  return work;
}

double cost::getStepTime(Operation *op, const Machine &machine) {
  return getTime(machine, getStepWork(op));
}

static tp::CollectiveKind toSharding(step::CollectiveKind kind) {
  switch (kind) {
  case step::CollectiveKind::AllReduce:
    return tp::CollectiveKind::AllReduce;
  case step::CollectiveKind::AllGather:
    return tp::CollectiveKind::AllGather;
  case step::CollectiveKind::ReduceScatter:
    return tp::CollectiveKind::ReduceScatter;
  case step::CollectiveKind::AllToAll:
    return tp::CollectiveKind::AllToAll;
  case step::CollectiveKind::CollectivePermute:
    return tp::CollectiveKind::CollectivePermute;
  }
  llvm_unreachable("covered switch");
}

/// The payload is the larger buffer: the destination of an all_gather, the
/// source of a reduce_scatter.
double cost::getStepTime(step::CollectiveStartOp start, const Mesh &mesh) {
  AxisList axes = spmd::resolveAxes(start.getAxes().getAxes(), mesh);
  double sent = 0;
  for (step::CollectiveStartOp own : start.getLaunch()) {
    double payload = std::max(getStoredBytes(own.getSource()),
                              getStoredBytes(own.getDestination()));
    sent += getWireElements(toSharding(own.getKind()), getSize(axes), payload);
  }
  return getCollectiveTime(mesh, axes, sent);
}

llvm::SmallVector<unsigned, 2> cost::getLinks(step::CollectiveStartOp start,
                                              const Mesh &mesh) {
  return getLinks(mesh, spmd::resolveAxes(start.getAxes().getAxes(), mesh));
}
