// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ManualCalls.h"

#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

/// The target of a custom call; empty for anything else.
static StringRef getTarget(Operation *op) {
  auto target = op && op->getName().getStringRef() == "stablehlo.custom_call"
                    ? op->getAttrOfType<StringAttr>("call_target_name")
                    : StringAttr();
  return target ? target.getValue() : StringRef();
}

static InFlightDiagnostic fail(Operation *op) {
  return op->emitError() << prefix(ErrorCode::BadForeignSharding) << "@"
                         << getTarget(op);
}

namespace {
/// A region on its way: what enters and leaves, in which shardings.
struct Manual {
  SmallVector<Value> inputs, locals;    ///< Outside and inside.
  SmallVector<Value> returned, results; ///< Inside and outside.
  SmallVector<Attribute> in, out;
  ArrayAttr axes;
};
} // namespace

/// Writes the region before `before`, and moves `body` into it.
static void build(const Manual &manual, ArrayRef<Operation *> body,
                  Operation *before) {
  OpBuilder builder(before);
  OperationState state(before->getLoc(), "sdy.manual_computation");
  state.addOperands(manual.inputs);
  state.addTypes(TypeRange(ValueRange(manual.results)));
  state.addAttribute("in_shardings", builder.getArrayAttr(manual.in));
  state.addAttribute("out_shardings", builder.getArrayAttr(manual.out));
  state.addAttribute("manual_axes", manual.axes);
  state.addRegion();
  Operation *op = builder.create(state);
  Block *block = builder.createBlock(&op->getRegion(0));
  for (Value local : manual.locals)
    local.replaceAllUsesWith(
        block->addArgument(local.getType(), local.getLoc()));
  for (Operation *inner : body)
    inner->moveBefore(block, block->end());
  builder.setInsertionPointToEnd(block);
  OperationState end(before->getLoc(), "sdy.return");
  for (Value value : manual.returned) {
    auto local = llvm::find(manual.locals, value);
    end.addOperands(local == manual.locals.end()
                        ? value
                        : block->getArgument(local - manual.locals.begin()));
  }
  builder.create(end);
  for (auto [result, own] : llvm::zip_equal(manual.results, op->getResults()))
    Value(result).replaceAllUsesWith(own);
}

//===----------------------------------------------------------------------===//
// Shardy in strings
//===----------------------------------------------------------------------===//

/// The shardings that a frontend attribute of `op` lists for `count` values.
static FailureOr<SmallVector<Attribute>> readList(Operation *op, StringRef name,
                                                  size_t count) {
  auto list = dyn_cast_or_null<ArrayAttr>(
      readShardyString(getFrontendAttribute(op->getAttrDictionary(), name)));
  if (!list || list.size() != count)
    return fail(op) << " needs a sharding for each value in `" << name << "`";
  return llvm::to_vector(list);
}

/// From `op`, @xla.sdy.GlobalToLocalShape, over a call to
/// @xla.sdy.LocalToGlobal Shape.
static LogicalResult importCall(Operation *op) {
  Operation *call = nullptr, *back = nullptr;
  for (Operation *user : op->getUsers())
    call = user;
  if (call)
    for (Operation *user : call->getUsers())
      back = user;
  auto isOnly = [](Operation *from, Operation *to) {
    return llvm::all_of(from->getUsers(),
                        [&](Operation *user) { return user == to; });
  };
  if (!call || !back || call->getName().getStringRef() != "func.call" ||
      getTarget(back) != "xla.sdy.LocalToGlobalShape" || !isOnly(op, call) ||
      !isOnly(call, back) || call->getBlock() != op->getBlock() ||
      back->getBlock() != op->getBlock())
    return fail(op) << " is followed by a call of the body, and that by "
                       "@xla.sdy.LocalToGlobalShape";
  Manual manual;
  llvm::append_range(manual.inputs, op->getOperands());
  llvm::append_range(manual.locals, op->getResults());
  llvm::append_range(manual.returned, back->getOperands());
  llvm::append_range(manual.results, back->getResults());
  auto in = readList(op, "xla.sdy.in_shardings", op->getNumOperands());
  auto out = readList(back, "xla.sdy.out_shardings", back->getNumResults());
  if (failed(in) || failed(out))
    return failure();
  manual.in = *in;
  manual.out = *out;
  manual.axes = dyn_cast_or_null<ArrayAttr>(readShardyString(
      getFrontendAttribute(op->getAttrDictionary(), "xla.sdy.manual_axes")));
  if (!manual.axes || op->getNumOperands() != op->getNumResults() ||
      back->getNumOperands() != back->getNumResults())
    return fail(op) << " needs `xla.sdy.manual_axes`, and a result for each "
                       "operand";
  build(manual, call, back);
  back->erase();
  op->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// GSPMD
//===----------------------------------------------------------------------===//

namespace {
/// All that belongs to one region: what its values come from and go to.
class RegionFinder {
public:
  explicit RegionFinder(Operation *enter) { addEntry(enter); }

  llvm::SetVector<Operation *> entries, body, exits;

private:
  void addEntry(Operation *op) {
    if (entries.insert(op))
      addUsers(op);
  }
  void addUsers(Operation *op) {
    for (Operation *user : op->getUsers()) {
      // Uses in the regions of an operation are its own.
      while (user && user->getBlock() != entries.front()->getBlock())
        user = user->getParentOp();
      if (!user)
        continue;
      if (getTarget(user) == "SPMDShardToFullShape") {
        exits.insert(user);
      } else if (body.insert(user)) {
        addUsers(user);
        for (Value operand : user->getOperands())
          if (Operation *other = operand.getDefiningOp();
              getTarget(other) == "SPMDFullToShardShape" &&
              other->getBlock() == entries.front()->getBlock())
            addEntry(other);
      }
    }
  }
};
} // namespace

/// The sharding of one value, said by `op`.
static FailureOr<spmd::ShardingAttr>
readOne(Operation *op, const ForeignShardings &shardings) {
  auto read = shardings.read(op, op->getAttrDictionary(), op->getResultTypes());
  if (failed(read))
    return failure();
  if (read->size() != 1 || !read->front())
    return fail(op) << " needs a sharding that says how the whole is cut";
  return read->front();
}

static LogicalResult importRegion(Operation *enter,
                                  const ForeignShardings &shardings) {
  RegionFinder found(enter);
  Manual manual;
  for (Operation *entry : found.entries) {
    Operation *sharding = entry->getNumOperands() == 1
                              ? entry->getOperand(0).getDefiningOp()
                              : nullptr;
    if (getTarget(sharding) != "Sharding" || entry->getNumResults() != 1)
      return fail(entry) << " takes what a @Sharding gives";
    auto in = readOne(sharding, shardings);
    if (failed(in))
      return failure();
    manual.in.push_back(*in);
    manual.inputs.push_back(sharding->getOperand(0));
    manual.locals.push_back(entry->getResult(0));
  }
  auto axes = shardings.readManualAxes(enter);
  if (failed(axes))
    return failure();
  manual.axes = *axes;
  if (found.exits.empty())
    return fail(enter) << " is followed by @SPMDShardToFullShape somewhere";
  auto isBefore = [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  };
  SmallVector<Operation *> exits(found.exits.begin(), found.exits.end()),
      body(found.body.begin(), found.body.end());
  llvm::sort(exits, isBefore);
  llvm::sort(body, isBefore);
  for (Operation *exit : exits) {
    if (exit->getNumOperands() != 1 || exit->getNumResults() != 1)
      return fail(exit) << " takes and gives one value";
    auto out = readOne(exit, shardings);
    if (failed(out))
      return failure();
    manual.out.push_back(*out);
    manual.returned.push_back(exit->getOperand(0));
    manual.results.push_back(exit->getResult(0));
  }
  for (Operation *entry : found.entries)
    if (!entry->isBeforeInBlock(exits.front()))
      return fail(entry) << " stands behind where its region ends";
  build(manual, body, exits.front());
  for (Operation *exit : exits)
    exit->erase();
  for (Operation *entry : found.entries)
    entry->erase();
  return success();
}

LogicalResult stablehlo::importManualCalls(ModuleOp module,
                                           const ForeignShardings &shardings) {
  // Finding a region takes others' operations away: one after the other.
  while (true) {
    Operation *enter = nullptr;
    module.walk([&](Operation *op) {
      StringRef target = getTarget(op);
      if (target != "SPMDFullToShardShape" &&
          target != "xla.sdy.GlobalToLocalShape")
        return WalkResult::advance();
      enter = op;
      return WalkResult::interrupt();
    });
    if (!enter)
      return success();
    if (failed(getTarget(enter) == "SPMDFullToShardShape"
                   ? importRegion(enter, shardings)
                   : importCall(enter)))
      return failure();
  }
}
