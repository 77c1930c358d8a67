// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What users ask of shardings inside of functions.

#include "Conversion.h"

#include "tpopt/Dialect/Sdy/Sdy.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

Results tp::stablehlo::constrain(Conversion &c, ValueRange values,
                                 DictionaryAttr attributes) {
  auto shardings = c.shardings.read(c.op, attributes, values.getTypes());
  if (failed(shardings))
    return failure();
  SmallVector<Value> constrained(values);
  for (auto [value, sharding] : llvm::zip_equal(constrained, *shardings))
    if (sharding) {
      auto op = spmd::ConstraintOp::create(c.builder, c.op->getLoc(), value,
                                           sharding);
      if (failed(op.verify()))
        return failure();
      value = op;
    }
  return constrained;
}

/// Whether `sharding` asks for nothing of a tensor of `rank`. Inside of a
/// region that is manual along some axes only, JAX writes such constraints
/// everywhere, even on what a reduction does to two elements.
static bool asksNothing(spmd::ShardingAttr sharding, int64_t rank) {
  return int64_t(sharding.getDims().size()) == rank &&
         sharding.getReplicated().empty() && sharding.getUnreduced().empty() &&
         llvm::all_of(sharding.getDims(), [](spmd::DimShardingAttr dim) {
           return dim.getOpen() && dim.getAxes().empty();
         });
}

/// Shardy's collectives stand on whole tensors, as constraints do, and are told
/// by what comes out.
static Results convertConstraint(Conversion &c) {
  Attribute attribute = c.get("sharding");
  if (!attribute)
    attribute = c.get("out_sharding");
  auto sharding = dyn_cast_or_null<spmd::ShardingAttr>(
      attribute ? sdy::toBuiltin(attribute) : Attribute());
  if (!sharding)
    return c.invalid() << " needs a `sharding`";
  sharding = c.shardings.onMesh(sharding);
  // There is one device, or all is left to propagation.
  if (!sharding || asksNothing(sharding, c.inType().getRank()))
    return c.one(c.in());
  return c.one(
      spmd::ConstraintOp::create(c.builder, c.op->getLoc(), c.in(), sharding));
}

static Results convertPropagationBarrier(Conversion &c) {
  StringRef allowed = c.getWord("allowed_direction");
  // We name the directions that are stopped.
  StringRef stopped = allowed == "FORWARD"    ? "backward"
                      : allowed == "BACKWARD" ? "forward"
                      : allowed == "NONE"     ? "both"
                                              : "";
  if (allowed == "BOTH")
    return c.one(c.in());
  if (stopped.empty())
    return c.invalid() << " allows FORWARD, BACKWARD, BOTH or NONE";
  return c.one(
      spmd::BarrierOp::create(c.builder, c.op->getLoc(), c.in(), stopped));
}

static Results convertGroup(Conversion &c) {
  FailureOr<int64_t> id = c.getInteger("group_id");
  if (failed(id))
    return failure();
  spmd::GroupOp::create(c.builder, c.op->getLoc(), c.in(), *id);
  return SmallVector<Value>();
}

/// Values with a list of shardings, if there is one.
static Results constrainBy(Conversion &c, ValueRange values, StringRef name) {
  SmallVector<Value> constrained(values);
  Attribute attribute = c.get(name);
  auto list = dyn_cast_or_null<ArrayAttr>(attribute ? sdy::toBuiltin(attribute)
                                                    : Attribute());
  if (!attribute)
    return constrained;
  if (!list || list.size() != values.size() ||
      !llvm::all_of(list, llvm::IsaPred<spmd::ShardingAttr>))
    return c.invalid() << " needs a sharding for each value in `" << name
                       << "`";
  for (auto [value, entry] : llvm::zip_equal(constrained, list))
    if (auto sharding = c.shardings.onMesh(cast<spmd::ShardingAttr>(entry)))
      value = spmd::ConstraintOp::create(c.builder, c.op->getLoc(), value,
                                         sharding);
  return constrained;
}

/// A name for a part of the program, and shardings where it begins and ends.
static Results convertNamedComputation(Conversion &c) {
  Block &body = c.op->getRegion(0).front();
  if (body.empty() || body.back().getName().getStringRef() != "sdy.return" ||
      body.getArgumentTypes() != c.op->getOperandTypes())
    return c.invalid() << " has a body on its operands that ends in sdy.return";
  Results inputs = constrainBy(c, c.op->getOperands(), "in_shardings");
  if (failed(inputs))
    return failure();
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), *inputs))
    argument.replaceAllUsesWith(input);
  Operation *end = &body.back();
  SmallVector<Value> returned(end->getOperands());
  end->erase();
  c.op->getBlock()->getOperations().splice(c.op->getIterator(),
                                           body.getOperations());
  return constrainBy(c, returned, "out_shardings");
}

static constexpr Row kRows[] = {
    {"sdy.all_gather", 1, 1, 0, convertConstraint, Regions::Before, true},
    {"sdy.all_reduce", 1, 1, 0, convertConstraint, Regions::Before, true},
    {"sdy.all_slice", 1, 1, 0, convertConstraint, Regions::Before, true},
    {"sdy.all_to_all", 1, 1, 0, convertConstraint, Regions::Before, true},
    {"sdy.collective_permute", 1, 1, 0, convertConstraint, Regions::Before,
     true},
    {"sdy.named_computation", -1, -1, 1, convertNamedComputation,
     Regions::Before, true},
    {"sdy.propagation_barrier", 1, 1, 0, convertPropagationBarrier},
    {"sdy.reduce_scatter", 1, 1, 0, convertConstraint, Regions::Before, true},
    {"sdy.reshard", 1, 1, 0, convertConstraint, Regions::Before, true},
    {"sdy.sharding_constraint", 1, 1, 0, convertConstraint, Regions::Before,
     true},
    {"sdy.sharding_group", 1, 0, 0, convertGroup},
};

ArrayRef<Row> tp::stablehlo::getAnnotationRows() { return kRows; }
