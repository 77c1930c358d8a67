// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Passes/Schedule/Passes.h"

#include "BlockScheduler.h"
#include "SoftwarePipeline.h"
#include "SplitGathers.h"
#include "SplitProducts.h"
#include "StackedCollectives.h"

#include "lib/Cost/ProgramCost.h"
#include "lib/Cost/StepCost.h"
#include "lib/Target/Target.h"
#include "runtime/Core/ArtifactFormat.h"

#include "tpopt/Dialect/TP/TP.h"

#include "mlir/IR/IRMapping.h"

namespace tp {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "tpopt/Passes/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::schedule;

/// Transfers in flight may hold 1 / `kMemoryShare` of a machine's memory, or
/// `kInFlightBytes` if the size of that memory is not known.
static constexpr int64_t kMemoryShare = 32, kInFlightBytes = 256ll << 20;
/// The smallest gain that justifies another form of a loop or gather, as a
/// fraction of the program's time.
static constexpr double kLeastGain = 0.01;
/// The numbers of pieces into which the longest gather may be split.
static constexpr unsigned kPieces[] = {4, 16};
/// The number of pieces into which a product that waits for a gather may be
/// split.
static constexpr unsigned kProductPieces = 4;

namespace {

/// A way to transform a loop.
struct LoopForm {
  Spread spread = {};
  Shifts shifts = {};
};

/// Lets collectives of loops run one iteration earlier or later, and splits
/// long gathers and the products that wait for them, if that is predicted to be
/// faster. The extra memory of such a loop reduces what other loops may use.
class ProgramScheduler {
public:
  ProgramScheduler(step::ProgramOp program, const Surroundings &given)
      : program(program), given(given), limits(given.limits) {}

  /// Schedules the program and returns it. The returned op may be a new one.
  std::pair<step::ProgramOp, Prediction> run();

private:
  /// A copy of the program, a map from the ops to their copies, the limits that
  /// remain for scheduling the copy, and the bytes that are held beyond a loop.
  struct Copy {
    step::ProgramOp program;
    IRMapping map;
    Limits limits;
    int64_t lasting;
  };
  Copy rewrite(step::LoopOp loop, LoopForm form) const;
  std::vector<LoopForm> getForms(step::LoopOp loop) const;
  Prediction scheduleBy(step::ProgramOp made, const Limits &limits) const {
    return scheduleBlock(made.getBody().front(), {given.machine, given.mesh,
                                                  limits, given.separatesLinks})
        .prediction;
  }
  void improve(size_t number);
  void splitLongestProduct();
  void splitLongGathers();

  step::ProgramOp program;
  const Surroundings &given;
  Limits limits; ///< The limits that remain after the loops so far.
  /// The bytes of the loops so far that are held beyond their loop.
  int64_t lasting = 0;
  llvm::SmallVector<step::LoopOp> loops; ///< Null: must not be tried any more.
  double best = 0, bound = 0;
};

} // namespace

ProgramScheduler::Copy ProgramScheduler::rewrite(step::LoopOp loop,
                                                 LoopForm form) const {
  Copy copy = {{}, {}, limits, lasting};
  copy.program =
      cast<step::ProgramOp>(OpBuilder(program).clone(*program, copy.map));
  if (!loop)
    return copy;
  auto copied = cast<step::LoopOp>(copy.map.lookup(loop.getOperation()));
  int64_t sums = form.spread.sums ? getStackedSumBytes(copied) : 0;
  copy.lasting += sums;
  copy.limits.bytes -= sums;
  spreadStacked(copied, form.spread);
  if (form.shifts.ahead + form.shifts.behind > 0) {
    // The second buffers of one loop are free when another one runs.
    copy.limits.bytes =
        std::min(copy.limits.bytes, given.limits.bytes - copy.lasting -
                                        getPipelineBytes(copied, form.shifts));
    pipeline(copied, form.shifts);
  }
  return copy;
}

/// A collective whose result is needed late in an iteration, or that starts
/// early in an iteration, has enough time and need not be shifted. So each form
/// shifts only some collectives: some of those that are needed first run an
/// iteration ahead, and some of those that start last run an iteration behind.
/// If gathers of stacks are made inside the loop, all gathers run ahead, since
/// those of stacks need no extra buffers.
std::vector<LoopForm> ProgramScheduler::getForms(step::LoopOp loop) const {
  auto getCounts = [](unsigned all) {
    llvm::SmallVector<unsigned> counts = {0};
    for (unsigned count = 1; count < all; count *= 2)
      counts.push_back(count);
    if (all > 0)
      counts.push_back(all);
    return counts;
  };
  std::vector<LoopForm> forms;
  Spread stacked = findStacked(loop);
  for (bool gathers : {false, true})
    for (bool sums : {false, true}) {
      if ((gathers && !stacked.gathers) || (sums && !stacked.sums))
        continue;
      Spread spread = {gathers, sums};
      Copy tried = rewrite(loop, {spread});
      Shifts most = getMostShifts(
          cast<step::LoopOp>(tried.map.lookup(loop.getOperation())));
      tried.program.erase();
      for (unsigned behind : getCounts(most.behind))
        for (unsigned ahead : getCounts(most.ahead))
          if (gathers ? ahead == most.ahead : sums || ahead + behind > 0)
            forms.push_back({spread, {ahead, behind}});
    }
  return forms;
}

void ProgramScheduler::improve(size_t number) {
  step::LoopOp loop = loops[number];
  std::optional<LoopForm> chosen;
  double wanted = (1 - kLeastGain) * best;
  for (LoopForm form : getForms(loop)) {
    Copy tried = rewrite(loop, form);
    Prediction prediction = scheduleBy(tried.program, tried.limits);
    tried.program.erase();
    // No order is faster than this bound, with any amount of memory.
    bound = std::min(bound, prediction.bound);
    if (tried.limits.bytes >= 0 && prediction.scheduled < wanted) {
      best = wanted = prediction.scheduled;
      chosen = form;
    }
  }
  if (!chosen)
    return;
  Copy made = rewrite(loop, *chosen);
  limits = made.limits;
  lasting = made.lasting;
  // Do not pipeline loops around a pipelined loop: that would take more memory
  // at a time.
  for (step::LoopOp &other : llvm::drop_begin(loops, number + 1))
    if (other)
      other = other->isAncestor(loop)
                  ? nullptr
                  : cast<step::LoopOp>(made.map.lookup(other.getOperation()));
  program.erase();
  program = made.program;
}

/// Splits the product with the longest gather if that is predicted to be
/// faster.
void ProgramScheduler::splitLongestProduct() {
  std::optional<GatheredProduct> found =
      findLongestProduct(program.getBody().front(), given.mesh);
  if (!found ||
      cost::getStepTime(found->gather, given.mesh) < kLeastGain * best)
    return;
  Copy tried = rewrite(nullptr, {});
  tried.limits.bytes -= splitProduct(
      {cast<step::CollectiveStartOp>(
           tried.map.lookup(found->gather.getOperation())),
       cast<step::MatmulOp>(tried.map.lookup(found->product.getOperation()))},
      kProductPieces);
  Prediction prediction = scheduleBy(tried.program, tried.limits);
  tried.program.erase();
  bound = std::min(bound, prediction.bound);
  if (tried.limits.bytes < 0 || prediction.scheduled >= (1 - kLeastGain) * best)
    return;
  best = prediction.scheduled;
  limits.bytes -= splitProduct(*found, kProductPieces);
}

/// Splits long gathers into pieces if that is predicted to be faster.
void ProgramScheduler::splitLongGathers() {
  double longest = getLongestGather(program.getBody().front(), given.mesh);
  if (longest < kLeastGain * best)
    return;
  std::optional<double> chosen;
  double wanted = (1 - kLeastGain) * best;
  for (unsigned pieces : kPieces) {
    Copy tried = rewrite(nullptr, {});
    tried.limits.bytes -= splitGathers(tried.program.getBody().front(),
                                       given.mesh, longest / pieces);
    Prediction prediction = scheduleBy(tried.program, tried.limits);
    tried.program.erase();
    bound = std::min(bound, prediction.bound);
    if (tried.limits.bytes >= 0 && prediction.scheduled < wanted) {
      best = wanted = prediction.scheduled;
      chosen = longest / pieces;
    }
  }
  if (chosen)
    limits.bytes -=
        splitGathers(program.getBody().front(), given.mesh, *chosen);
}

std::pair<step::ProgramOp, Prediction> ProgramScheduler::run() {
  program.walk([&](step::LoopOp loop) { // inner ones first
    Shifts most = getMostShifts(loop);
    Spread stacked = findStacked(loop);
    if (most.ahead + most.behind > 0 || stacked.gathers || stacked.sums)
      loops.push_back(loop);
  });
  if (loops.empty() &&
      getLongestGather(program.getBody().front(), given.mesh) == 0)
    return {program, scheduleBy(program, limits)};
  Copy asWritten = rewrite(nullptr, {});
  Prediction prediction = scheduleBy(asWritten.program, limits);
  asWritten.program.erase();
  double written = prediction.written;
  best = prediction.scheduled;
  bound = prediction.bound;
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i])
      improve(i);
  splitLongestProduct();
  splitLongGathers();
  prediction = scheduleBy(program, limits);
  prediction.written = written;
  prediction.bound = std::min(prediction.bound, bound);
  return {program, prediction};
}

namespace {

struct SchedulePass : tp::impl::SchedulePassBase<SchedulePass> {
  using SchedulePassBase::SchedulePassBase;
  void runOnOperation() override;
};

} // namespace

static step::OverlapAttr toAttr(MLIRContext *context,
                                const Prediction &prediction) {
  auto nanoseconds = [](double seconds) {
    return int64_t(seconds * 1e9 + 0.5);
  };
  return step::OverlapAttr::get(context, nanoseconds(prediction.written),
                                nanoseconds(prediction.scheduled),
                                nanoseconds(prediction.bound),
                                nanoseconds(prediction.exposed));
}

void SchedulePass::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<std::optional<cost::Machine>> found =
      cost::readMachineOption(module, machine);
  FailureOr<std::optional<int64_t>> bytes =
      cost::readSizeOption(module, "in-flight", inFlight);
  if (failed(found) || failed(bytes))
    return signalPassFailure();
  if (!*found)
    return;
  PlanRecord plan = PlanRecord::get(module);
  FailureOr<const codegen::Target *> target = codegen::getTarget(
      module, plan.target.empty() ? tprt::kCpuTarget : plan.target, plan.fp8);
  if (failed(target))
    return signalPassFailure();
  int64_t share = int64_t((*found)->memoryBytes) / kMemoryShare;
  Limits limits = {bytes->value_or(share ? share : kInFlightBytes), count};
  for (auto program :
       llvm::make_early_inc_range(module.getOps<step::ProgramOp>())) {
    if (!program.getMeshAttr())
      continue;
    Mesh mesh = cost::withMachineLinks(
        spmd::lookupMesh(program, program.getMeshAttr()).toMesh(), *found);
    if (!mesh.hasLinks)
      continue;
    Surroundings surroundings = {**found, mesh, limits,
                                 (*target)->separatesLinks()};
    auto [scheduled, prediction] =
        ProgramScheduler(program, surroundings).run();
    scheduled.setOverlapAttr(toAttr(&getContext(), prediction));
  }
}
