// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Calls of what is defined elsewhere.

#include "Conversion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

/// Calls the decomposition, which means the same; but what tp has an op for.
static Results convertComposite(Conversion &c) {
  if (c.getWord("name") == "chlo.top_k" && c.op->getNumOperands() == 1 &&
      c.op->getNumResults() == 2 && c.inType().getRank() > 0)
    return SmallVector<Value>(TopKOp::create(c.builder, c.op->getLoc(),
                                             c.outType(0), c.outType(1), c.in())
                                  .getResults());
  auto callee = dyn_cast_or_null<FlatSymbolRefAttr>(c.get("decomposition"));
  auto function =
      callee ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(c.op, callee)
             : func::FuncOp();
  if (!function ||
      TypeRange(function.getArgumentTypes()) != c.op->getOperandTypes() ||
      TypeRange(function.getResultTypes()) != c.op->getResultTypes())
    return c.invalid() << " needs a function of its type as `decomposition`";
  return SmallVector<Value>(func::CallOp::create(c.builder, c.op->getLoc(),
                                                 function, c.op->getOperands())
                                .getResults());
}

namespace {
struct CallRow {
  StringLiteral target;
  Converter convert;
};
} // namespace

static Results convertIdentity(Conversion &c) {
  if (c.op->getNumOperands() != 1 || c.op->getNumResults() != 1)
    return c.invalid() << " takes and gives one tensor";
  return c.one(c.in());
}

static Results convertErfCall(Conversion &c) {
  if (c.op->getNumOperands() != 1 || c.op->getNumResults() != 1)
    return c.invalid() << " takes and gives one tensor";
  return c.one(c.emit.unary<ErfOp>(c.in()));
}

static Results convertTopKCall(Conversion &c) {
  if (c.op->getNumOperands() != 1 || c.op->getNumResults() != 2)
    return c.invalid() << " takes one tensor and gives two";
  return SmallVector<Value>(TopKOp::create(c.builder, c.op->getLoc(),
                                           c.outType(0), c.outType(1), c.in())
                                .getResults());
}

/// The sharding that the call's attributes say, of its operands.
static Results convertSharding(Conversion &c) {
  if (c.op->getNumOperands() != c.op->getNumResults())
    return c.invalid() << " gives what it takes";
  return constrain(c, c.op->getOperands(), c.op->getAttrDictionary());
}

/// Targets that are not there for what they compute, or that we know.
static constexpr CallRow kCalls[] = {
    {"LayoutConstraint", convertIdentity},
    {"MoveToDevice", convertIdentity},
    {"MoveToHost", convertIdentity},
    {"Sharding", convertSharding},
    {"annotate_device_placement", convertIdentity},
    {"mhlo.erf", convertErfCall},
    {"mhlo.topk", convertTopKCall},
    {"xla.sdy.FuncResultSharding", convertSharding},
};

static Results convertCustomCall(Conversion &c) {
  StringRef target = c.getWord("call_target_name");
  for (const CallRow &row : kCalls)
    if (row.target == target)
      return row.convert(c);
  return c.unsupported() << " @" << target
                         << ": what it computes is known to its library alone";
}

static constexpr Row kRows[] = {
    {"stablehlo.composite", -1, -1, -1, convertComposite},
    {"stablehlo.custom_call", -1, -1, -1, convertCustomCall, Regions::Before,
     /*annotates=*/true},
};

ArrayRef<Row> tp::stablehlo::getCallRows() { return kRows; }
