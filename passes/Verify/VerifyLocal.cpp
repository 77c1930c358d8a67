// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-verify-local: what can be said of a local program by itself.

#include "Digest.h"
#include "RuleCheck.h"
#include "Scratch.h"
#include "Stopwatch.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Verify/Passes.h"
#include "tpopt/Program/Interface.h"

#include "llvm/ADT/DenseSet.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYLOCALPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

static LocalAttr getLocal(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? dyn_cast_or_null<LocalAttr>(type.getEncoding()) : LocalAttr();
}

/// Ops for which devices wait for one another.
static bool communicates(Operation *op) {
  return isa<CollectiveOpInterface, ShiftOp>(op);
}

namespace {

class LocalVerifier {
public:
  LocalVerifier(func::FuncOp function, const Mesh &mesh)
      : function(function), mesh(mesh) {}

  LogicalResult run() {
    findOwnValues();
    auto result = function->walk([&](Operation *op) {
      return failed(verifyRules(op)) || failed(verifyWay(op))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

private:
  void findOwnValues();
  LogicalResult verifyRules(Operation *op);
  LogicalResult verifyWay(Operation *op);

  func::FuncOp function;
  const Mesh &mesh;
  /// Values that differ between devices though no type says so: what comes of
  /// the device's number.
  llvm::DenseSet<Value> own;
  /// Equal ops are looked at once. The set keeps the two greatest numbers to
  /// itself.
  llvm::DenseSet<uint64_t> known;
};

} // namespace

void LocalVerifier::findOwnValues() {
  bool grew = true;
  auto add = [&](Value value) {
    if (!getLocal(value))
      grew |= own.insert(value).second;
  };
  // What is handed to a loop or out of a branch, at its place.
  auto addPlace = [&](Operation *to, unsigned index) {
    add(to->getResult(index));
    if (isa<LoopLikeOpInterface>(to))
      for (Region &region : to->getRegions()) {
        unsigned counters = region.getNumArguments() - to->getNumResults();
        add(region.getArgument(counters + index));
      }
  };
  auto visit = [&](Operation *op) {
    if (isa<AxisIndexOp>(op))
      return add(op->getResult(0));
    Operation *parent = op->getParentOp();
    bool yields = isa<YieldOp>(op);
    // The condition of a loop is handed to nobody.
    if (auto loop = dyn_cast<WhileOp>(parent);
        yields && loop && op->getParentRegion() == &loop.getCond())
      return;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      if (!own.contains(operand))
        continue;
      if (yields)
        addPlace(parent, index);
      else if (isa<LoopLikeOpInterface>(op))
        addPlace(op, index);
      else
        llvm::for_each(op->getResults(), add);
    }
  };
  // Loops hand values back: until nothing is new.
  while (std::exchange(grew, false))
    function->walk([&](Operation *op) {
      if (op != function)
        visit(op);
    });
}

/// As in the global program. What has no local type is the device's own.
LogicalResult LocalVerifier::verifyRules(Operation *op) {
  if (!isa<ShardingRuleOpInterface>(op) || communicates(op))
    return success();
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  if (!llvm::all_of(values, getLocal))
    return success();
  uint64_t key = digestOpAlone(op);
  for (Value value : values)
    key = mixDigest(
        key, reinterpret_cast<uintptr_t>(value.getType().getAsOpaquePointer()));
  if (!known.insert(key >> 2).second)
    return success();
  std::vector<TensorSharding> shardings;
  for (Value value : values)
    shardings.push_back(
        getLocalSharding(cast<RankedTensorType>(value.getType()), mesh));
  return verifyRule(op, mesh, shardings, /*isLocal=*/true);
}

/// All devices issue the same collectives: where there are some in a loop or a
/// branch, all take the same way.
LogicalResult LocalVerifier::verifyWay(Operation *op) {
  Value decision;
  if (auto branch = dyn_cast<CaseOp>(op))
    decision = branch.getIndex();
  else if (auto loop = dyn_cast<WhileOp>(op))
    decision = loop.getCond().front().getTerminator()->getOperand(0);
  if (!decision)
    return success();
  auto inside = op->walk([](Operation *inner) {
    return communicates(inner) ? WalkResult::interrupt()
                               : WalkResult::advance();
  });
  if (!inside.wasInterrupted())
    return success();
  LocalAttr local = getLocal(decision);
  bool isPartial = local && !local.getSharding().getUnreduced().empty();
  if (!isPartial && !own.contains(decision))
    return success();
  return op->emitError() << prefix(ErrorCode::DivergentDevices)
                         << (isPartial ? "decides by a partial value"
                                       : "decides by the device's number")
                         << ", and devices wait for one another inside";
}

namespace {
struct VerifyLocal : tp::impl::VerifyLocalPassBase<VerifyLocal> {
  using VerifyLocalPassBase::VerifyLocalPassBase;

  void runOnOperation() override {
    Stopwatch stopwatch;
    markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // The global function of a certified partition is not local.
      if (function.isExternal() || function->hasAttr(kLocalFormAttr))
        continue;
      FailureOr<Program> program = Program::analyze(function);
      if (failed(program) ||
          (program->isLocal() &&
           failed(LocalVerifier(function, *program->getMesh()).run())))
        return signalPassFailure();
    }
    if (report)
      stopwatch.addTo(getOperation());
  }
};
} // namespace
