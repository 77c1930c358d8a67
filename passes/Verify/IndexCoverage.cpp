// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "IndexCoverage.h"

#include "IndexBounds.h"
#include "IndexUses.h"

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Support/ErrorCodes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::interp;

IndexCoverage::IndexCoverage(func::FuncOp function) {
  llvm::SetVector<OpOperand *> drawn;
  for (BlockArgument argument : function.getArguments())
    if (isIntegerTensor(argument.getType()) &&
        !isBoolTensor(argument.getType()))
      for (OpOperand *use : findIndexUses(argument))
        drawn.insert(use);
  for (OpOperand *use : drawn)
    addIndex(*use, /*isDrawn=*/true);
  function.walk([&](Operation *op) {
    auto flow = dyn_cast<RegionFlowOpInterface>(op);
    if (!flow)
      return;
    OpOperand *index = flow.getBranchIndex();
    if (flow.getCondition())
      addLoop(flow);
    else if (index && !drawn.contains(index))
      addIndex(*index, /*isDrawn=*/false);
  });
}

/// Requires that the cases of an index are reached. If the index selects a
/// branch and is computed rather than drawn, its out-of-range case is not
/// required.
void IndexCoverage::addIndex(OpOperand &use, bool isDrawn) {
  AddressedDim dim = *getAddressedDim(use);
  if (dim.extent < 1 || dim.last < 1)
    return; // one position: no index changes anything
  IndexBounds bounds = getIndexBounds(use.get());
  bool isUnsigned = cast<RankedTensorType>(use.get().getType())
                        .getElementType()
                        .isUnsignedInteger();
  if (isUnsigned)
    bounds.least = std::max<int64_t>(bounds.least, 0);
  Operation *op = use.getOwner();
  Target target{isa<RegionFlowOpInterface>(op) ? Target::Branch : Target::Index,
                op,
                use.getOperandNumber(),
                {},
                {}};
  if (target.kind == Target::Branch)
    for (int64_t branch = 0; branch <= dim.last; ++branch)
      target.wanted.push_back(branch >= bounds.least &&
                              branch <= bounds.greatest);
  else
    target.wanted.push_back(bounds.least <= dim.last && bounds.greatest >= 0);
  target.wanted.push_back(isDrawn &&
                          (bounds.least < 0 || bounds.greatest > dim.last));
  target.reached.resize(target.wanted.size());
  targets[target.op].push_back(std::move(target));
}

void IndexCoverage::addLoop(RegionFlowOpInterface loop) {
  for (Region &region : loop->getRegions()) {
    Operation *first = &region.front().front();
    if (&region != loop.getCondition() &&
        !first->hasTrait<OpTrait::IsTerminator>())
      targets[first].push_back(Target{Target::Loop, loop, 0,
                                      llvm::SmallBitVector(1, true),
                                      llvm::SmallBitVector(1)});
  }
}

void IndexCoverage::record(Target &target, ArrayRef<DeviceValues> operands) {
  auto reach = [&](unsigned place) {
    hasNews |= target.wanted.test(place) && !target.reached.test(place);
    target.reached.set(place);
  };
  if (target.kind == Target::Loop)
    return reach(0);
  int64_t last = getAddressedDim(target.op->getOpOperand(target.operand))->last;
  bool isBranch = target.kind == Target::Branch;
  for (const TensorValue &value : operands[target.operand]) {
    const DenseTensor &indices = toDense(value);
    for (int64_t i = 0; i < indices.size(); ++i) {
      int64_t index = indices[i].integer;
      // A ui64 above 2^63 is negative here, and thus out of range as it should
      // be.
      bool isInside = index >= 0 && index <= last;
      reach(!isInside ? target.wanted.size() - 1 : isBranch ? index : 0);
    }
  }
}

void IndexCoverage::record(Operation *op, ArrayRef<DeviceValues> operands) {
  auto found = targets.find(op);
  if (found == targets.end())
    return;
  for (Target &target : found->second)
    if (target.wanted.test(target.reached))
      record(target, operands);
}

bool IndexCoverage::isComplete() const {
  return llvm::all_of(targets, [](const auto &entry) {
    return llvm::none_of(entry.second, [](const Target &target) {
      return target.wanted.test(target.reached);
    });
  });
}

void IndexCoverage::warn(unsigned numSets) const {
  for (const auto &[op, list] : targets)
    for (const Target &target : list) {
      llvm::SmallBitVector missed = target.wanted;
      missed.reset(target.reached);
      for (unsigned place : missed.set_bits()) {
        InFlightDiagnostic diag = emitWarning(target.op->getLoc())
                                  << prefix(ErrorCode::PlaceNotReached)
                                  << target.op->getName() << ": ";
        bool isOutside = place + 1 == target.wanted.size();
        if (target.kind == Target::Loop)
          diag << "the body was never run";
        else if (isOutside)
          diag << "operand #" << target.operand << " was never out of range";
        else if (target.kind == Target::Branch)
          diag << "branch #" << place << " was never taken";
        else
          diag << "operand #" << target.operand << " was never in range";
        diag << " on " << numSets << " data sets, so this case is not verified";
      }
    }
}
