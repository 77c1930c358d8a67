// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loops and conditionals.

#include "dialects/OpError.h"
#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;

/// The op's verifier runs before the region is verified: the block may be
/// empty.
static YieldOp getYield(Region &region) {
  Block &block = region.front();
  return block.empty() ? YieldOp() : dyn_cast<YieldOp>(&block.back());
}

/// Checks that the terminator of `region` yields exactly `types`.
static LogicalResult verifyYield(Operation *op, Region &region, TypeRange types,
                                 StringRef what) {
  YieldOp yield = getYield(region);
  if (!yield || yield.getOperandTypes() != types) {
    InFlightDiagnostic diag = tp::emitOpError(op, ErrorCode::BadRegion)
                              << what << " must yield (" << types << ")";
    if (yield)
      diag.attachNote(yield.getLoc())
          << "but it yields (" << yield.getOperandTypes() << ")";
    return diag;
  }
  return success();
}

/// Returns true for a scalar integer of `width`. After Localize, its encoding
/// says that it is replicated.
static bool isScalar(Type type, unsigned width) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 &&
         tensor.getElementType().isSignlessInteger(width);
}

//===----------------------------------------------------------------------===//
// ForOp
//===----------------------------------------------------------------------===//

LogicalResult ForOp::verify() {
  if (int64_t(getCount()) < 0)
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "expects a count of at least 0";
  TypeRange arguments = getBody().getArgumentTypes();
  if (arguments.size() != getInits().size() + 1 ||
      !isScalar(arguments[0], 32) ||
      arguments.drop_front() != getInits().getTypes())
    return tp::emitOpError(*this, ErrorCode::BadRegion)
           << "expects the body to have an argument of type 'tensor<i32>', "
              "followed by arguments of the types of the initial values";
  if (getResultTypes() != getInits().getTypes())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects the results to have the types of the initial values";
  return verifyYield(*this, getBody(), getInits().getTypes(), "body");
}

SmallVector<Region *> ForOp::getLoopRegions() { return {&getBody()}; }
Block::BlockArgListType ForOp::getRegionIterArgs() {
  return getBody().getArguments().drop_front();
}
std::optional<MutableArrayRef<OpOperand>> ForOp::getYieldedValuesMutable() {
  return cast<YieldOp>(getBody().front().getTerminator()).getOperandsMutable();
}
std::optional<ResultRange> ForOp::getLoopResults() { return getResults(); }

bool ForOp::isLoop() { return true; }
std::optional<int64_t> ForOp::getTripCount() { return getCount(); }
Value ForOp::getCounter() { return getBody().getArgument(0); }

//===----------------------------------------------------------------------===//
// WhileOp
//===----------------------------------------------------------------------===//

LogicalResult WhileOp::verify() {
  if (getCond().getArgumentTypes() != getInits().getTypes() ||
      getBody().getArgumentTypes() != getInits().getTypes())
    return tp::emitOpError(*this, ErrorCode::BadRegion)
           << "expects both regions to have arguments of the types of the "
              "initial values";
  Type condition = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  YieldOp yield = getYield(getCond());
  if (yield && yield->getNumOperands() == 1 &&
      isScalar(yield->getOperand(0).getType(), 1))
    condition = yield->getOperand(0).getType();
  if (failed(verifyYield(*this, getCond(), condition, "cond")))
    return failure();
  if (getResultTypes() != getInits().getTypes())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects the results to have the types of the initial values";
  return verifyYield(*this, getBody(), getInits().getTypes(), "body");
}

SmallVector<Region *> WhileOp::getLoopRegions() {
  return {&getCond(), &getBody()};
}
Block::BlockArgListType WhileOp::getRegionIterArgs() {
  return getBody().getArguments();
}
std::optional<MutableArrayRef<OpOperand>> WhileOp::getYieldedValuesMutable() {
  return cast<YieldOp>(getBody().front().getTerminator()).getOperandsMutable();
}
std::optional<ResultRange> WhileOp::getLoopResults() { return getResults(); }

bool WhileOp::isLoop() { return true; }
std::optional<int64_t> WhileOp::getTripCount() { return std::nullopt; }
Region *WhileOp::getCondition() { return &getCond(); }

//===----------------------------------------------------------------------===//
// CaseOp
//===----------------------------------------------------------------------===//

LogicalResult CaseOp::verify() {
  if (cast<RankedTensorType>(getIndex().getType()).getRank() != 0)
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "expects a scalar index, got " << getIndex().getType();
  if (getBranches().empty())
    return tp::emitOpError(*this, ErrorCode::BadRegion)
           << "expects at least one branch";
  for (Region &branch : getBranches()) {
    if (branch.getNumArguments() != 0)
      return tp::emitOpError(*this, ErrorCode::BadRegion)
             << "expects branches without arguments";
    if (failed(verifyYield(*this, branch, getResultTypes(), "every branch")))
      return failure();
  }
  return success();
}

MutableArrayRef<OpOperand> CaseOp::getEntries() { return {}; }
OpOperand *CaseOp::getBranchIndex() { return &getIndexMutable(); }
