// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Shardings that users request inside functions.

#include "Conversion.h"

#include "tpopt/Dialect/Sdy/Sdy.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

/// Returns true if `sharding` leaves everything to propagation. In a region
/// that is manual along only some axes, JAX writes such constraints everywhere,
/// even on the two elements that a reduction combines.
static bool asksNothing(spmd::ShardingAttr sharding, int64_t rank) {
  return int64_t(sharding.getDims().size()) == rank &&
         sharding.getReplicated().empty() && sharding.getUnreduced().empty() &&
         llvm::all_of(sharding.getDims(), [](spmd::DimShardingAttr dim) {
           return dim.getOpen() && dim.getAxes().empty();
         });
}

/// Constrains `value` to a sharding. Returns the value itself if there is no
/// sharding, or one that leaves everything to propagation.
static FailureOr<Value> constrain(Conversion &c, Value value,
                                  spmd::ShardingAttr sharding) {
  if (!sharding || asksNothing(sharding, typeOf(value).getRank()))
    return value;
  auto op =
      spmd::ConstraintOp::create(c.builder, c.op->getLoc(), value, sharding);
  if (failed(op.verify()))
    return failure();
  return Value(op);
}

static Results constrain(Conversion &c, ValueRange values,
                         ArrayRef<spmd::ShardingAttr> shardings) {
  SmallVector<Value> constrained;
  for (auto [value, sharding] : llvm::zip_equal(values, shardings)) {
    FailureOr<Value> own = constrain(c, value, sharding);
    if (failed(own))
      return failure();
    constrained.push_back(*own);
  }
  return constrained;
}

Results tp::stablehlo::constrain(Conversion &c, ValueRange values,
                                 DictionaryAttr attributes) {
  auto shardings = c.shardings.read(c.op, attributes, values.getTypes());
  if (failed(shardings))
    return failure();
  return ::constrain(c, values, *shardings);
}

/// Converts sharding constraints, and Shardy's collectives. A Shardy collective
/// maps whole tensors to whole tensors, so that it becomes a constraint, too:
/// the sharding of its result implies the collective.
static Results convertConstraint(Conversion &c) {
  Attribute attribute = c.get("sharding");
  if (!attribute)
    attribute = c.get("out_sharding");
  auto sharding = dyn_cast_or_null<spmd::ShardingAttr>(
      attribute ? sdy::toBuiltin(attribute) : Attribute());
  if (!sharding)
    return c.invalid() << " expects a `sharding`";
  // With one device there is no sharding to constrain to.
  return ::constrain(
      c, c.op->getOperands(),
      c.shardings.onMesh(c.op, sharding, c.op->getResult(0).getType()));
}

static Results convertPropagationBarrier(Conversion &c) {
  StringRef allowed = c.getWord("allowed_direction");
  if (allowed == "BOTH")
    return c.one(c.in());
  if (!llvm::is_contained({"FORWARD", "BACKWARD", "NONE"}, allowed))
    return c.invalid() << " expects `allowed_direction` to be FORWARD, "
                          "BACKWARD, BOTH or NONE";
  return c.one(spmd::BarrierOp::create(c.builder, c.op->getLoc(), c.in(),
                                       allowed.lower()));
}

static Results convertGroup(Conversion &c) {
  FailureOr<int64_t> id = c.getInteger("group_id");
  if (failed(id))
    return failure();
  spmd::GroupOp::create(c.builder, c.op->getLoc(), c.in(), *id);
  return SmallVector<Value>();
}

/// Constrains values to a list of shardings, if there is one.
static Results constrainBy(Conversion &c, ValueRange values, StringRef name) {
  Attribute attribute = c.get(name);
  if (!attribute)
    return SmallVector<Value>(values);
  auto list = dyn_cast_or_null<ArrayAttr>(sdy::toBuiltin(attribute));
  if (!list || list.size() != values.size() ||
      !llvm::all_of(list, llvm::IsaPred<spmd::ShardingAttr>))
    return c.invalid() << " expects a sharding for each value in `" << name
                       << "`";
  SmallVector<spmd::ShardingAttr> shardings;
  for (auto [entry, value] : llvm::zip_equal(list, values))
    shardings.push_back(c.shardings.onMesh(
        c.op, cast<spmd::ShardingAttr>(entry), value.getType()));
  return ::constrain(c, values, shardings);
}

/// Converts `sdy.named_computation`: inlines its body, and constrains its
/// inputs and results to the shardings that it gives.
static Results convertNamedComputation(Conversion &c) {
  Block &body = c.op->getRegion(0).front();
  if (body.empty() || body.back().getName().getStringRef() != "sdy.return" ||
      body.getArgumentTypes() != c.op->getOperandTypes())
    return c.invalid() << " expects a body that has an argument for each "
                          "operand and ends in sdy.return";
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

static constexpr Row kAnnotationRows[] = {
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

ArrayRef<Row> tp::stablehlo::getAnnotationRows() { return kAnnotationRows; }
