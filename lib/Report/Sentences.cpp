// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Turns the records that passes leave in the program into sentences.

#include "lib/Report/Sentences.h"

#include "lib/Report/BuildReport.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ScopedPrinter.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

static std::string formatAxis(AxisRefAttr axis, bool quoted) {
  std::string text =
      quoted ? "\"" + axis.getName().str() + "\"" : axis.getName().str();
  if (axis.getSize() != 0)
    text += llvm::formatv(":({0}){1}", axis.getPre(), axis.getSize());
  return text;
}

static std::string formatAxes(AxisListAttr axes) {
  SmallVector<std::string> names;
  for (AxisRefAttr axis : axes.getAxes())
    names.push_back(formatAxis(axis, /*quoted=*/false));
  return "{" + llvm::join(names, ", ") + "}";
}

std::string tp::formatSharding(ShardingAttr sharding, ShardingTable &table) {
  // A record that was written by hand may name a different mesh.
  if (sharding.getMesh().getValue() != table.getMesh().name)
    return llvm::to_string(sharding);
  return table.resolve(sharding, sharding.getDims().size())
      .str(table.getMesh());
}

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

/// The rule that makes the reshard of `reason` necessary; empty if the program
/// requests the reshard.
static std::string describeKind(ReasonAttr reason) {
  std::string user = reason.getUser().str();
  switch (reason.getKind()) {
  case ReasonKind::Contracted:
    return "inner dimension: a dimension cut along " +
           ::formatAxes(reason.getAxes()) + " was contracted, and " + user +
           " needs the " + stringify(reason.getReduce()).str();
  case ReasonKind::Gathered:
    return "outer dimension: " + user +
           " needs the whole of a dimension that is cut along " +
           ::formatAxes(reason.getAxes());
  case ReasonKind::Moved:
    return "mismatch: " + user + " needs the same blocks, but on other devices";
  case ReasonKind::Exchanged:
    return "exchange: " + user +
           " needs elements from other devices along a dimension that is cut";
  case ReasonKind::Written:
    return "";
  }
  llvm_unreachable("covered switch");
}

static std::string describeReason(ReasonAttr reason, ShardingTable &table) {
  std::string text = describeKind(reason);
  if (!reason.getFrom())
    return text;
  if (!text.empty())
    text += "; ";
  return text +
         "the whole tensor is gathered, because no cheaper way exists from " +
         formatSharding(reason.getFrom(), table) + " to " +
         formatSharding(reason.getTo(), table);
}

std::string tp::describeWhy(Operation *collective, ShardingTable &table) {
  auto why = collective->getAttrOfType<WhyAttr>(kWhyAttr);
  if (!why)
    return "";
  SmallVector<std::string> reasons;
  for (ReasonAttr reason : why.getReasons())
    reasons.push_back(describeReason(reason, table));
  return llvm::join(reasons, "; and ");
}

//===----------------------------------------------------------------------===//
// Explanations
//===----------------------------------------------------------------------===//

static std::string formatValue(StringAttr name) {
  return name ? name.str() : "the function's result";
}

/// `tp.exp at mlp.mlir:9:8`.
static std::string formatOp(StringAttr op, LocationAttr at) {
  if (!op)
    return "data flow";
  std::string text = op.str();
  if (at)
    if (std::string place = getPlace(at); !place.empty())
      text += " at " + place;
  return text;
}

std::vector<std::string> tp::describeArrival(ArrivalAttr arrival) {
  std::string begin = formatAxis(arrival.getAxis(), /*quoted=*/true) +
                      " on dim " + std::to_string(arrival.getDim()) + ": ";
  if (arrival.getHops().empty())
    return {begin + "written here"};
  std::vector<std::string> lines = {begin + "written on " +
                                    formatValue(arrival.getFrom())};
  for (HopAttr hop : arrival.getHops())
    lines.push_back(
        "to " + formatValue(hop.getTo()) + " through " +
        formatOp(hop.getOver(), hop.getAt()) +
        (hop.getPriority() == 0
             ? ""
             : " (priority " + std::to_string(hop.getPriority()) + ")"));
  return lines;
}

/// Describes the obstacle; `winner` is the axis that was in the way, if any.
static std::string describeRule(LossRule rule, AxisRefAttr winner) {
  std::string who =
      winner ? formatAxis(winner, /*quoted=*/true) : "another axis";
  switch (rule) {
  case LossRule::LargerSource:
    return who + " was preferred: it came from a larger tensor";
  case LossRule::MoreSharded:
    return who + " was preferred: it cuts more";
  case LossRule::OperandOrder:
    return who + " was preferred: it came from an earlier operand, all else "
                 "being equal";
  case LossRule::Priority:
    return who + " was propagated in an earlier step";
  case LossRule::DimTaken:
    return who + " already cuts the dimension";
  case LossRule::AxisInUse:
    return who + " already cuts this value";
  case LossRule::SourcesDisagree:
    return "the op's other tensors use different axes here";
  case LossRule::Closed:
    return "the dimension is closed: its annotation has no `?`, or the plan "
           "that comes with an imported model does not name it";
  case LossRule::Replicated:
    return "the value is annotated as replicated along the axis";
  case LossRule::NotDivisible:
    return "the axis does not divide the size of the dimension, which combines "
           "several dimensions";
  case LossRule::Overflow:
    return "the axes that already cut the dimension do not divide its size";
  case LossRule::Strided:
    return "the blocks would not be contiguous";
  case LossRule::Barrier:
    return "the op does not propagate shardings in this direction";
  }
  llvm_unreachable("covered switch");
}

std::string tp::describeLoss(LossAttr loss) {
  return "axis " + formatAxis(loss.getAxis(), /*quoted=*/true) +
         " did not reach dim " + std::to_string(loss.getDim()) + " from " +
         formatValue(loss.getFrom()) + " through " +
         formatOp(loss.getOver(), loss.getAt()) + ": " +
         describeRule(loss.getRule(), loss.getWinner());
}

std::string tp::describeAlternative(AlternativeAttr alternative,
                                    ShardingTable &table) {
  double cost = alternative.getCost().convertToDouble();
  bool isTimed = alternative.getUnit() == CostUnit::Seconds;
  // Without times, arithmetic is also counted in bytes, so not all of these
  // bytes are sent.
  return "as " + formatSharding(alternative.getSharding(), table) + ": costs " +
         (isTimed ? formatTime(cost * 1e6) : formatBytes(std::llround(cost))) +
         " more per device if nothing else changes" +
         (isTimed ? "" : ", with computation converted to bytes");
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

std::string tp::describePrice(PriceKind kind) {
  switch (kind) {
  case PriceKind::Plan:
    return "the layouts that were chosen";
  case PriceKind::Loops:
    return "loops of unknown length count four times in the plan, once here";
  case PriceKind::Weights:
    return "cannot estimate compute time: no machine is given";
  case PriceKind::Exchanges:
    return "the communication inside ops is not counted yet";
  case PriceKind::Manual:
    return "manual regions, which are not planned";
  case PriceKind::Steps:
    return "reshards as collectives";
  case PriceKind::Combined:
    return "collectives that are combined into one";
  case PriceKind::Localized:
    return "exchanges, shifts and masks of local types";
  case PriceKind::Other:
    return "passes that keep no record";
  case PriceKind::Compiled:
    return "the memory that the compiled program allocates instead";
  }
  llvm_unreachable("covered switch");
}

StringRef tp::getStageOf(PriceKind kind) {
  switch (kind) {
  case PriceKind::Plan:
  case PriceKind::Loops:
  case PriceKind::Weights:
  case PriceKind::Exchanges:
  case PriceKind::Manual:
    return "partition";
  case PriceKind::Steps:
  case PriceKind::Combined:
    return "collectives";
  case PriceKind::Localized:
    return "localize";
  case PriceKind::Other:
    return "other";
  case PriceKind::Compiled:
    return "lower";
  }
  llvm_unreachable("covered switch");
}
