// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Recipe.h"

using namespace mlir;
using namespace tp;

static InFlightDiagnostic emitBadOption(Location loc) {
  return emitError(loc) << prefix(ErrorCode::BadTrainOption);
}

static LogicalResult parsePatterns(StringRef text, StringRef option,
                                   std::vector<NamePattern> &patterns,
                                   Location loc) {
  llvm::Expected<std::vector<NamePattern>> list =
      NamePattern::createList(loc.getContext(), text);
  if (!list)
    return emitBadOption(loc)
           << option << "=" << text << " is not a list of "
           << "name patterns: " << llvm::toString(list.takeError());
  patterns = std::move(*list);
  return success();
}

/// Parses the options that are a number or a single word.
static LogicalResult parseNumbers(Recipe &recipe, const RecipeText &text,
                                  Location loc) {
  if (!text.clip.empty()) {
    recipe.clip = parseNumber(text.clip);
    if (!recipe.clip || !kPositive.contains(*recipe.clip))
      return emitBadOption(loc)
             << "clip=" << text.clip
             << " is not a limit for the norm of the gradients: write a "
             << "number above 0, as in clip=1.0";
  }
  constexpr int64_t kMostMicroBatches = 1 << 20;
  if (!text.accumulate.empty() &&
      (StringRef(text.accumulate).getAsInteger(10, recipe.accumulate) ||
       recipe.accumulate < 1 || recipe.accumulate > kMostMicroBatches))
    return emitBadOption(loc)
           << "accumulate=" << text.accumulate << " is not a number of "
           << "micro-batches: write a number from 1 to " << kMostMicroBatches;
  recipe.master = text.master == "f32";
  if (!text.master.empty() && !recipe.master)
    return emitBadOption(loc)
           << "master=" << text.master
           << ": master weights can only be in f32, for "
           << "bf16 parameters: write master=f32, or leave it out";
  return success();
}

FailureOr<Recipe> Recipe::parse(const RecipeText &text, Location loc) {
  Recipe recipe;
  if (text.loss.empty())
    return emitBadOption(loc)
           << "the loss is missing: write loss=NAME, the tp.name of the result "
              "that training minimizes";
  if (text.optimizer.empty())
    return emitBadOption(loc) << "the optimizer is missing: write it, as in "
                                 "optimizer=adamw(lr=3e-4)";
  recipe.loss = text.loss;
  recipe.weight = text.weight;
  recipe.optimizer = Optimizer::parse(text.optimizer, loc);
  if (!recipe.optimizer)
    return failure();
  FailureOr<Schedule> schedule = Schedule::parse(
      text.schedule.empty() ? "constant" : StringRef(text.schedule), loc);
  if (failed(schedule) || failed(parseNumbers(recipe, text, loc)) ||
      failed(parsePatterns(text.train, "train", recipe.train, loc)) ||
      failed(parsePatterns(text.decay, "decay", recipe.decay, loc)) ||
      failed(parsePatterns(text.noDecay, "no_decay", recipe.noDecay, loc)))
    return failure();
  recipe.schedule = *schedule;
  bool asks = !recipe.decay.empty() || !recipe.noDecay.empty();
  if (asks && !recipe.optimizer->hasWeightDecay())
    return emitBadOption(loc)
           << "decay= and no_decay= choose the parameters that decay, but the "
              "weight decay is 0: write "
           << recipe.optimizer->getName() << "(weight_decay=0.1), for example";
  return recipe;
}

bool Recipe::decays(StringRef name) const {
  auto has = [&](ArrayRef<NamePattern> patterns) {
    return llvm::any_of(patterns, [&](const NamePattern &pattern) {
      return pattern.matches(name);
    });
  };
  return (decay.empty() || has(decay)) && !has(noDecay);
}
