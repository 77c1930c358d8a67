// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loops and branches.

#include "Conversion.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

/// Checks that all regions have one block that ends in `stablehlo.return`.
static LogicalResult checkRegions(Conversion &c) {
  for (Region &region : c.op->getRegions())
    if (!getReturn(region))
      return c.invalid() << " expects each region to be one block that ends in "
                            "stablehlo.return";
  return success();
}

//===----------------------------------------------------------------------===//
// While
//===----------------------------------------------------------------------===//

namespace {
/// A loop that counts: `for (i = begin; i < end; ++i)`.
struct Counting {
  unsigned argument;
  int64_t begin, end;
};
} // namespace

/// Returns the value of a scalar integer constant.
static std::optional<int64_t> getConstant(Value value) {
  APInt number;
  if (!matchPattern(value, m_ConstantInt(&number)))
    return std::nullopt;
  return getInt64(number);
}

/// If the loop carries `value` unchanged, returns its initial value, otherwise
/// `value` itself.
static Value getOutside(Conversion &c, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner()->getParentOp() != c.op)
    return value;
  unsigned i = argument.getArgNumber();
  Operation *end = getReturn(c.op->getRegion(1));
  if (i < end->getNumOperands() &&
      end->getOperand(i) == c.op->getRegion(1).getArgument(i))
    return c.op->getOperand(i);
  return value;
}

/// Recognises the loops of `lax.scan` and `fori_loop`. Their regions have been
/// converted.
static std::optional<Counting> readCounting(Conversion &c) {
  Region &condition = c.op->getRegion(0), &body = c.op->getRegion(1);
  auto compare = getReturn(condition)->getOperand(0).getDefiningOp<CompareOp>();
  if (!compare || compare.getPredicate() != ComparePredicate::LT)
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(compare.getLhs());
  if (!counter || counter.getOwner() != &condition.front())
    return std::nullopt;
  unsigned i = counter.getArgNumber();
  auto element = dyn_cast<IntegerType>(
      cast<RankedTensorType>(counter.getType()).getElementType());
  if (!element || element.getWidth() < 32)
    return std::nullopt;
  auto next = getReturn(body)->getOperand(i).getDefiningOp<AddOp>();
  if (!next)
    return std::nullopt;
  Value argument = body.getArgument(i);
  Value step = next.getLhs() == argument   ? next.getRhs()
               : next.getRhs() == argument ? next.getLhs()
                                           : Value();
  if (!step || getConstant(getOutside(c, step)) != 1)
    return std::nullopt;
  std::optional<int64_t> begin = getConstant(c.op->getOperand(i)),
                         end = getConstant(getOutside(c, compare.getRhs()));
  // Iterations are counted in i32.
  if (!begin || !end || *begin < 0 || *end - *begin > INT32_MAX)
    return std::nullopt;
  return Counting{i, *begin, std::max(*begin, *end)};
}

/// Replaces values that the loop carries unchanged by their initial values.
/// Returns the numbers of the other carried values. Scans carry every value
/// that their body uses.
static SmallVector<unsigned> freeInvariants(Conversion &c) {
  Block &condition = c.op->getRegion(0).front(),
        &body = c.op->getRegion(1).front();
  Operation *end = getReturn(c.op->getRegion(1));
  SmallVector<unsigned> carried;
  llvm::BitVector invariant(body.getNumArguments());
  for (auto [i, value] : llvm::enumerate(c.op->getOperands())) {
    if (end->getOperand(i) != body.getArgument(i)) {
      carried.push_back(i);
      continue;
    }
    invariant.set(i);
    condition.getArgument(i).replaceAllUsesWith(value);
    body.getArgument(i).replaceAllUsesWith(value);
  }
  condition.eraseArguments(invariant);
  body.eraseArguments(invariant);
  end->eraseOperands(invariant);
  return carried;
}

/// Returns all results of the original loop, given a `loop` that returns only
/// those in `carried`.
static SmallVector<Value> getResults(Conversion &c, Operation *loop,
                                     ArrayRef<unsigned> carried) {
  SmallVector<Value> results(c.op->getOperands());
  for (auto [i, result] : llvm::zip_equal(carried, loop->getResults()))
    results[i] = result;
  return results;
}

static Results convertCounting(Conversion &c, const Counting &counting) {
  Location loc = c.op->getLoc();
  SmallVector<unsigned> carried = freeInvariants(c);
  SmallVector<Value> inits = llvm::map_to_vector(
      carried, [&](unsigned i) { return c.op->getOperand(i); });
  auto loop = ForOp::create(c.builder, loc, TypeRange(ValueRange(inits)),
                            counting.end - counting.begin, inits);
  Region &body = loop.getBody();
  body.takeBody(c.op->getRegion(1));
  makeYield(body);
  // The iteration number, starting at 0; the counter is computed from it.
  auto type = RankedTensorType::get({}, c.builder.getI32Type());
  Value turn = body.insertArgument(0u, type, loc);
  Value counter = body.getArgument(
      1 + (llvm::find(carried, counting.argument) - carried.begin()));
  OpBuilder::InsertionGuard guard(c.builder);
  c.builder.setInsertionPointToStart(&body.front());
  Value own = c.emit.convert(turn, typeOf(counter).getElementType());
  if (counting.begin != 0)
    own =
        c.emit.binary<AddOp>(own, c.emit.constant(double(counting.begin), own));
  counter.replaceAllUsesWith(own);
  return getResults(c, loop, carried);
}

static Results convertWhile(Conversion &c) {
  if (failed(checkRegions(c)))
    return failure();
  for (Region &region : c.op->getRegions())
    if (region.getArgumentTypes() != c.op->getOperandTypes())
      return c.invalid() << " expects each region to have an argument of the "
                            "same type for each operand";
  Operation *condition = getReturn(c.op->getRegion(0));
  auto i1 = RankedTensorType::get({}, c.builder.getI1Type());
  if (condition->getNumOperands() != 1 ||
      condition->getOperand(0).getType() != i1)
    return c.invalid() << " expects a condition that returns one i1";
  Operation *end = getReturn(c.op->getRegion(1));
  if (end->getOperandTypes() != c.op->getOperandTypes() ||
      c.op->getResultTypes() != c.op->getOperandTypes())
    return c.invalid()
           << " expects a body that returns values of the operands' types";
  if (std::optional<Counting> counting = readCounting(c))
    return convertCounting(c, *counting);
  SmallVector<unsigned> carried = freeInvariants(c);
  SmallVector<Value> inits = llvm::map_to_vector(
      carried, [&](unsigned i) { return c.op->getOperand(i); });
  auto loop = WhileOp::create(c.builder, c.op->getLoc(),
                              TypeRange(ValueRange(inits)), inits);
  loop.getCond().takeBody(c.op->getRegion(0));
  loop.getBody().takeBody(c.op->getRegion(1));
  makeYield(loop.getCond());
  makeYield(loop.getBody());
  return getResults(c, loop, carried);
}

//===----------------------------------------------------------------------===//
// Case and If
//===----------------------------------------------------------------------===//

static Results emitCase(Conversion &c, ArrayRef<unsigned> branches) {
  if (failed(checkRegions(c)))
    return failure();
  for (Region &region : c.op->getRegions())
    if (region.getNumArguments() != 0 ||
        getReturn(region)->getOperandTypes() != c.op->getResultTypes())
      return c.invalid() << " expects branches that take no arguments and "
                            "return values of its result types";
  if (c.inType().getRank() != 0)
    return c.invalid() << " expects a scalar index";
  auto result = CaseOp::create(c.builder, c.op->getLoc(),
                               c.op->getResultTypes(), c.in(), branches.size());
  for (auto [to, from] : llvm::enumerate(branches)) {
    result.getBranches()[to].takeBody(c.op->getRegion(from));
    makeYield(result.getBranches()[to]);
  }
  return SmallVector<Value>(result.getResults());
}

static Results convertCase(Conversion &c) {
  if (c.op->getNumRegions() == 0)
    return c.invalid() << " expects at least one branch";
  return emitCase(
      c, llvm::to_vector(llvm::seq<unsigned>(0, c.op->getNumRegions())));
}

/// In a `tp.case`, branch 0 is taken if the condition is false, but a
/// `stablehlo.if` has the true branch first.
static Results convertIf(Conversion &c) {
  if (!c.inType().getElementType().isInteger(1))
    return c.invalid() << " expects a predicate of type i1";
  return emitCase(c, {1, 0});
}

static Results convertBarrier(Conversion &c) {
  return SmallVector<Value>(c.op->getOperands());
}

static constexpr Row kControlFlowRows[] = {
    {"stablehlo.case", 1, -1, -1, convertCase},
    {"stablehlo.if", 1, -1, 2, convertIf},
    {"stablehlo.optimization_barrier", -1, -1, 0, convertBarrier},
    {"stablehlo.while", -1, -1, 2, convertWhile},
};

ArrayRef<Row> tp::stablehlo::getControlFlowRows() { return kControlFlowRows; }
