// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads plan= and zero=.

#include "PlanWords.h"

#include "tpopt/Support/ErrorCodes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tp;

/// Sets the fields of `words` that `word` requests. Returns false if `word` is
/// unknown.
static bool add(PlanWords &words, StringRef word) {
  using Set = void (*)(PlanWords &);
  auto set = llvm::StringSwitch<Set>(word)
                 .Case("megatron", [](PlanWords &w) { w.isMegatron = true; })
                 .Case("sp", [](PlanWords &w) { w.cutsSequence = true; })
                 .Case("ddp", [](PlanWords &w) { w.cutsBatch = true; })
                 .Case("fsdp",
                       [](PlanWords &w) {
                         w.cutsBatch = true;
                         w.zero = ZeroStage::Parameters;
                       })
                 .Default(nullptr);
  if (set)
    set(words);
  return set;
}

/// Reads `1` or `1:AXIS`.
static LogicalResult parseZero(PlanWords &words, StringRef text, Location loc) {
  auto [stage, axis] = text.split(':');
  auto error = [&]() {
    return emitError(loc) << prefix(ErrorCode::BadPlanWords) << "zero=" << text;
  };
  auto known = llvm::StringSwitch<std::optional<ZeroStage>>(stage)
                   .Case("1", ZeroStage::State)
                   .Case("2", ZeroStage::Gradients)
                   .Case("3", ZeroStage::Parameters)
                   .Default(std::nullopt);
  if (!known || (axis.empty() && text.contains(':')))
    return error()
           << " is not a stage of ZeRO: write zero=1 to cut the optimizer "
              "state along the data axis, zero=2 to cut the gradients as well, "
              "zero=3 to cut the parameters as well, and "
              "zero=1:AXIS if the axis is not called data";
  if (words.zero != ZeroStage::None && *known != words.zero)
    return error() << " contradicts fsdp, which means ddp and zero=3: write "
                      "ddp instead of fsdp";
  words.zero = *known;
  if (!axis.empty())
    words.dataAxis = axis.str();
  return success();
}

FailureOr<PlanWords> PlanWords::parse(StringRef plan, StringRef zero,
                                      Location loc) {
  PlanWords words;
  SmallVector<StringRef> parts, unknown;
  plan.split(parts, '+');
  for (StringRef part : parts)
    if (!add(words, part))
      unknown.push_back(part);
  if (unknown.size() == parts.size()) {
    words.file = plan.str();
  } else if (!unknown.empty()) {
    return emitError(loc) << prefix(ErrorCode::BadPlanWords) << "plan=" << plan
                          << ": \"" << unknown.front()
                          << "\" is not a known word: write megatron, sp, ddp "
                             "or fsdp, joined with +, or the path of one file";
  }
  if (words.cutsSequence && !words.isMegatron)
    return emitError(loc)
           << prefix(ErrorCode::BadPlanWords) << "plan=" << plan
           << ": sp is only supported together with megatron, because it "
              "shards the activations that megatron sums: write megatron+sp";
  if (!zero.empty() && failed(parseZero(words, zero, loc)))
    return failure();
  return words;
}
