// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Regions that are written for one device.

#include "Conversion.h"

#include "tpopt/Dialect/Sdy/Sdy.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

/// Reads a list of shardings, each on a mesh with axes.
static FailureOr<SmallVector<Attribute>>
readShardings(Conversion &c, StringRef name, TypeRange types) {
  Attribute attribute = c.get(name);
  auto list = dyn_cast_or_null<ArrayAttr>(attribute ? sdy::toBuiltin(attribute)
                                                    : Attribute());
  if (!list || list.size() != types.size() ||
      !llvm::all_of(list, llvm::IsaPred<spmd::ShardingAttr>))
    return c.invalid() << " expects a sharding for each value in `" << name
                       << "`";
  SmallVector<Attribute> shardings;
  for (auto [entry, type] : llvm::zip_equal(list, types)) {
    spmd::ShardingAttr own =
        c.shardings.onMesh(c.op, cast<spmd::ShardingAttr>(entry), type);
    shardings.push_back(own ? own : entry);
  }
  return shardings;
}

/// Clones constants from outside of the region into it. Other values from
/// outside are an error.
static LogicalResult isolate(Conversion &c, Region &region) {
  OpBuilder inside = OpBuilder::atBlockBegin(&region.front());
  bool isClosed = true;
  DenseMap<Value, Value> copies;
  region.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (region.isAncestor(operand.get().getParentRegion()))
        continue;
      Value &copy = copies[operand.get()];
      Operation *constant = operand.get().getDefiningOp<ConstantOp>();
      if (!copy && constant)
        copy = inside.clone(*constant)->getResult(0);
      if (copy)
        operand.set(copy);
      isClosed &= bool(copy);
    }
  });
  if (isClosed)
    return success();
  return c.invalid() << " must not use values from outside of its body";
}

static Results convertManual(Conversion &c) {
  auto in = readShardings(c, "in_shardings", c.op->getOperandTypes());
  auto out = readShardings(c, "out_shardings", c.op->getResultTypes());
  Attribute axesAttribute = c.get("manual_axes");
  auto names = dyn_cast_or_null<ArrayAttr>(
      axesAttribute ? sdy::toBuiltin(axesAttribute) : Attribute());
  if (failed(in) || failed(out))
    return failure();
  if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
    return c.invalid() << " expects `manual_axes`";
  Region &region = c.op->getRegion(0);
  Operation *end = region.front().empty() ? nullptr : &region.front().back();
  if (!end || end->getName().getStringRef() != "sdy.return" ||
      end->getNumOperands() != c.op->getNumResults() ||
      region.getNumArguments() != c.op->getNumOperands())
    return c.invalid() << " expects a body that has an argument for each "
                          "operand and returns a value for each result";
  // A region without operands and results has no effect. JAX leaves such a
  // region if it has moved all of the region's ops elsewhere.
  if (c.op->getNumOperands() == 0 && c.op->getNumResults() == 0)
    return SmallVector<Value>();
  if (std::optional<SmallVector<Value>> places = convertPlaces(c))
    return *places;
  if (failed(isolate(c, region)))
    return failure();
  OpBuilder builder(end);
  spmd::ReturnOp::create(builder, end->getLoc(), end->getOperands());
  end->erase();
  SmallVector<spmd::AxisRefAttr> axes;
  for (Attribute name : names)
    axes.push_back(spmd::AxisRefAttr::get(c.op->getContext(),
                                          cast<StringAttr>(name), 1, 0));
  auto manual = spmd::ManualOp::create(
      c.builder, c.op->getLoc(), c.op->getResultTypes(), c.op->getOperands(),
      c.builder.getArrayAttr(*in), c.builder.getArrayAttr(*out),
      spmd::AxisListAttr::get(c.op->getContext(), axes));
  manual.getBody().takeBody(region);
  return SmallVector<Value>(manual.getResults());
}

static constexpr Row kManualRows[] = {
    {"sdy.manual_computation", -1, -1, 1, convertManual, Regions::After},
};

ArrayRef<Row> tp::stablehlo::getManualRows() { return kManualRows; }
