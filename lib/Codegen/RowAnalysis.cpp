// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowAnalysis.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

RowAnalysis::RowAnalysis(step::RowsOp rows) : columns(rows.getNumColumns()) {
  unsigned last = rows.getDomain().size() - 1;
  Block &body = rows.getBody().front();
  for (Operation &op : body) {
    if (op.getNumResults() == 0)
      continue;
    Value result = op.getResult(0);
    bool isPointOp = false;
    unsigned phase = 0;
    for (Value operand : op.getOperands()) {
      isPointOp |= isPoint(operand);
      phase = std::max(phase, getPhase(operand));
    }
    if (auto load = dyn_cast<step::LoadOp>(op)) {
      if (load.getIndices().empty())
        isPointOp = step::Strides(cast<MemRefType>(load.getBuffer().getType()))
                        .strides.back() != 0;
    } else if (auto index = dyn_cast<step::IndexOp>(op)) {
      isPointOp = index.getDim() == last;
    } else if (isa<step::ReduceOp>(op)) {
      isPointOp = false;
      ++phase;
    }
    if (isPointOp)
      points.insert(result);
    phases[result] = phase;
    numPhases = std::max(numPhases, phase + 1);
  }
  for (Operation &op : body)
    if (isa<math::MathDialect>(op.getDialect()) || isa<arith::DivFOp>(op))
      if (isPoint(op.getResult(0)) && isNeededLater(op.getResult(0)))
        dear.insert(op.getResult(0));
}

bool RowAnalysis::isNeededLater(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    unsigned phase = 0;
    if (auto store = dyn_cast<step::StoreOp>(user))
      phase = getPhase(store);
    else if (auto reduce = dyn_cast<step::ReduceOp>(user))
      phase = getPhase(reduce.getValue());
    else
      phase = getPhase(user->getResult(0));
    return phase > getPhase(value);
  });
}

unsigned RowAnalysis::getPhase(step::StoreOp store) const {
  unsigned phase = getPhase(store.getValue());
  for (Value index : store.getIndices())
    phase = std::max(phase, getPhase(index));
  return phase;
}

bool RowAnalysis::isPointStore(step::StoreOp store) const {
  if (store.getIndices().empty()) {
    auto type = cast<MemRefType>(store.getBuffer().getType());
    return columns == 1 || type.getShape().back() != 1;
  }
  return isPoint(store.getValue()) ||
         llvm::any_of(store.getIndices(),
                      [&](Value index) { return isPoint(index); });
}
