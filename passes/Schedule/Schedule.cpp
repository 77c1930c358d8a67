// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Passes/Schedule/Passes.h"

#include "Conflicts.h"
#include "Overlap.h"
#include "SoftwarePipeline.h"
#include "StackedGathers.h"

#include "lib/Cost/ProgramCost.h"
#include "lib/Cost/StepCost.h"

#include "mlir/IR/IRMapping.h"

namespace tp {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "tpopt/Passes/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::schedule;

/// Transfers in flight may hold one part in `kMemoryShare` of a machine's
/// memory, or `kInFlightBytes` if the size of that memory is not known.
static constexpr int64_t kMemoryShare = 32, kInFlightBytes = 256ll << 20;
/// The least gain that justifies turning a loop into four copies of its body,
/// as a share of the program's time.
static constexpr double kLeastGain = 0.01;

namespace {

/// Predicted seconds of steps: see OverlapAttr.
struct Prediction {
  double written = 0, scheduled = 0, bound = 0, exposed = 0;

  Prediction operator+(const Prediction &other) const {
    return {written + other.written, scheduled + other.scheduled,
            bound + other.bound, exposed + other.exposed};
  }
  Prediction operator*(double times) const {
    return {times * written, times * scheduled, times * bound, times * exposed};
  }
};

/// The context that schedules depend on.
struct Surroundings {
  const cost::Machine &machine;
  const Mesh &mesh;
  const Limits &limits;
};

/// Moves the collectives of one list of steps.
class BlockScheduler {
public:
  BlockScheduler(Block &block, const Surroundings &given)
      : block(block), given(given) {
    collect();
  }

  Prediction run() {
    Schedule schedule = overlap(problem, given.limits);
    if (!groups.empty())
      apply(schedule);
    // The steps' times in `problem` are those of their scheduled bodies.
    return {keep(problem).seconds + inside.written - inside.scheduled,
            schedule.seconds,
            getBound(problem) + inside.bound - inside.scheduled,
            schedule.exposed + inside.exposed};
  }

private:
  /// A step or the start of a collective, in program order.
  struct Item {
    Operation *op;
    llvm::SmallVector<Access, 4> accesses;
    std::optional<unsigned> transfer; ///< The transfer that it starts,
    std::optional<unsigned> prepares; ///< or that it prepares.
    unsigned place = 0; ///< The number of this step, or of the next one.
  };
  /// A collective, and the steps that only write the data that it sends.
  struct Group {
    step::CollectiveStartOp start;
    unsigned number; ///< The number of its item.
    llvm::SmallVector<unsigned, 2> preparations = {};
  };

  void collect();
  void findPreparations(Group &group, unsigned transfer);
  Transfer getTransfer(const Group &group) const;
  double getTime(Operation *op);
  void apply(const Schedule &schedule);
  void moveBefore(Operation *op, Operation *place);

  Block &block;
  const Surroundings &given;
  Prediction inside; ///< The prediction for loops and branches.
  std::vector<Item> items;
  std::vector<Group> groups; ///< Indexed by transfer.
  Conflicts conflicts;       ///< Between items.
  llvm::SmallVector<Operation *> steps;
  Problem problem;
};

} // namespace

static step::CollectiveDoneOp getDone(step::CollectiveStartOp start) {
  return cast<step::CollectiveDoneOp>(*start.getToken().user_begin());
}

/// The bytes that a collective in flight holds. Storage of inputs and outputs
/// is held anyway and, in a loop, so is all storage from outside of the loop.
static int64_t getHeldBytes(step::CollectiveStartOp start) {
  int64_t bytes = 0;
  Value source = step::getRoot(start.getSource()),
        destination = step::getRoot(start.getDestination());
  bool inLoop = isa<step::LoopOp>(start->getParentOp());
  for (Value root : {source, destination})
    if (root.getDefiningOp<step::AllocOp>() &&
        !(inLoop && root.getParentBlock() != start->getBlock()))
      bytes += step::getEndByte(step::bufferTypeOf(root));
  return source == destination ? bytes / 2 : bytes;
}

/// Finds the steps that pack the data to send; they move with the start. They
/// write nothing else, and their operands do not change until the start.
void BlockScheduler::findPreparations(Group &group, unsigned transfer) {
  Value source = step::getRoot(group.start.getSource());
  if (!source.getDefiningOp<step::AllocOp>())
    return;
  Access all = {source, 0, step::getEndByte(step::bufferTypeOf(source)), true};
  llvm::SmallVector<unsigned> before = conflicts.find(group.number, all).before;
  auto isPreparation = [&](unsigned number) {
    const Item &item = items[number];
    if (item.transfer || item.prepares || step::isControlOp(item.op) ||
        llvm::any_of(item.accesses, [&](const Access &access) {
          return access.isWrite && access.root != source;
        }))
      return false;
    return llvm::all_of(
        conflicts.find(number, item.accesses).behind, [&](unsigned behind) {
          // Another transfer that conflicts would wait until this one is done.
          return behind == group.number ||
                 (behind > group.number && !items[behind].transfer) ||
                 llvm::is_contained(before, behind);
        });
  };
  if (!llvm::all_of(before, isPreparation))
    return;
  for (unsigned number : before)
    items[number].prepares = transfer;
  llvm::append_range(group.preparations, before);
}

Transfer BlockScheduler::getTransfer(const Group &group) const {
  Transfer transfer;
  transfer.earliest = 0;
  transfer.place = items[group.number].place;
  transfer.needed = steps.size();
  transfer.seconds = cost::getStepTime(group.start, given.mesh);
  transfer.bytes = getHeldBytes(group.start);
  auto follow = [&](unsigned number) {
    for (unsigned other :
         conflicts.find(number, items[number].accesses).before) {
      const Item &item = items[other];
      if (item.transfer)
        transfer.after.push_back(*item.transfer);
      else if (item.prepares) // of a transfer whose source this writes
        transfer.after.push_back(*item.prepares);
      else
        transfer.earliest = std::max(transfer.earliest, item.place + 1);
    }
  };
  follow(group.number);
  for (unsigned number : group.preparations) {
    follow(number);
    transfer.preparation += cost::getStepTime(items[number].op, given.machine);
  }
  unsigned self = *items[group.number].transfer;
  llvm::erase(transfer.after, self);
  llvm::sort(transfer.after);
  transfer.after.erase(llvm::unique(transfer.after), transfer.after.end());
  // A later collective that conflicts waits for this one in its own start.
  for (unsigned other :
       conflicts.find(group.number, items[group.number].accesses).behind)
    if (!items[other].transfer && !items[other].prepares) {
      transfer.needed = items[other].place;
      break;
    }
  return transfer;
}

/// Schedules the bodies of a control op first, since the outer schedule depends
/// on their time. A loop counts with all its iterations, a `while` with one,
/// and a branch with the longer of its two bodies. Of two alternative
/// implementations, the faster one runs.
static Prediction scheduleControl(Operation *control,
                                  const Surroundings &given) {
  llvm::SmallVector<Prediction, 2> bodies;
  for (Region &region : control->getRegions())
    bodies.push_back(BlockScheduler(region.front(), given).run());
  if (auto loop = dyn_cast<step::LoopOp>(control))
    return bodies[0] * loop.getCount();
  if (isa<step::WhileOp>(control))
    return bodies[0] + bodies[1];
  bool isLonger = bodies[0].scheduled < bodies[1].scheduled;
  return bodies[isa<step::ChooseOp>(control) ? !isLonger : isLonger];
}

double BlockScheduler::getTime(Operation *op) {
  if (!step::isControlOp(op))
    return cost::getStepTime(op, given.machine);
  Prediction control = scheduleControl(op, given);
  inside = inside + control;
  return control.scheduled;
}

void BlockScheduler::collect() {
  for (Operation &op : block) {
    if (step::isBufferOp(&op) || isa<step::CollectiveDoneOp>(op))
      continue;
    unsigned number = items.size();
    Item &item = items.emplace_back();
    item.op = &op;
    item.accesses = getAccesses(&op);
    conflicts.add(number, item.accesses);
    if (auto start = dyn_cast<step::CollectiveStartOp>(op)) {
      item.transfer = groups.size();
      groups.push_back({start, number});
    }
  }
  for (auto [transfer, group] : llvm::enumerate(groups))
    findPreparations(group, transfer);
  for (Item &item : items) {
    item.place = steps.size();
    if (item.transfer || item.prepares)
      continue;
    steps.push_back(item.op);
    problem.steps.push_back(getTime(item.op));
  }
  for (const Group &group : groups)
    problem.transfers.push_back(getTransfer(group));
}

/// Moves `op` before `place`, along with the views and allocs that it uses if
/// they come after `place`. Moves it to the end of the block if `place` is
/// null.
void BlockScheduler::moveBefore(Operation *op, Operation *place) {
  if (!place)
    return op->moveBefore(&block, block.end());
  for (Value operand : op->getOperands()) {
    Operation *made = operand.getDefiningOp();
    if (made && made->getBlock() == &block && step::isBufferOp(made) &&
        place->isBeforeInBlock(made))
      moveBefore(made, place);
  }
  op->moveBefore(place);
}

void BlockScheduler::apply(const Schedule &schedule) {
  for (auto [number, events] : llvm::enumerate(schedule.events)) {
    Operation *place = number < steps.size() ? steps[number] : nullptr;
    for (const Event &event : events) {
      const Group &group = groups[event.transfer];
      if (!event.isStart) {
        moveBefore(getDone(group.start), place);
        continue;
      }
      for (unsigned number : group.preparations)
        moveBefore(items[number].op, place);
      moveBefore(group.start, place);
    }
  }
}

namespace {

/// A way to transform a loop.
struct LoopForm {
  bool spreads = false; ///< Stacked gathers are made layer by layer.
  Shifts shifts = {};
};

/// Lets collectives of loops travel an iteration ahead or behind if that is
/// predicted to be faster. The memory that such a loop holds all the time is
/// not available to other loops.
class LoopPipeliner {
public:
  LoopPipeliner(step::ProgramOp program, const Surroundings &given)
      : program(program), given(given), limits(given.limits) {}

  /// Schedules the program and returns it; it may be another op than before.
  std::pair<step::ProgramOp, Prediction> run();

private:
  /// A copy of the program, the map from ops to their copies, and the limits
  /// that are left.
  struct Copy {
    step::ProgramOp program;
    IRMapping map;
    Limits limits;
  };
  Copy rewrite(step::LoopOp loop, LoopForm form) const;
  std::vector<LoopForm> getForms(step::LoopOp loop) const;
  Prediction scheduleBy(step::ProgramOp made, const Limits &limits) const {
    return BlockScheduler(made.getBody().front(),
                          {given.machine, given.mesh, limits})
        .run();
  }
  void improve(size_t number);

  step::ProgramOp program;
  const Surroundings &given;
  Limits limits; ///< The limits that the loops so far leave.
  llvm::SmallVector<step::LoopOp> loops; ///< Null: must not be tried any more.
  double best = 0, bound = 0;
};

} // namespace

LoopPipeliner::Copy LoopPipeliner::rewrite(step::LoopOp loop,
                                           LoopForm form) const {
  Copy copy = {{}, {}, limits};
  copy.program =
      cast<step::ProgramOp>(OpBuilder(program).clone(*program, copy.map));
  if (!loop)
    return copy;
  auto copied = cast<step::LoopOp>(copy.map.lookup(loop.getOperation()));
  if (form.spreads)
    spreadStackedGathers(copied);
  if (form.shifts.ahead + form.shifts.behind > 0) {
    copy.limits.bytes =
        std::min(limits.bytes,
                 given.limits.bytes - getPipelineBytes(copied, form.shifts));
    pipeline(copied, form.shifts);
  }
  return copy;
}

/// A collective whose result is needed late has time to travel in its own
/// iteration, and so has one that starts early. So each form is a number of
/// collectives that are needed first and a number that start last. Stacked
/// gathers that are made in the loop can all run ahead, since they need no
/// buffers.
std::vector<LoopForm> LoopPipeliner::getForms(step::LoopOp loop) const {
  auto getCounts = [](unsigned all) {
    llvm::SmallVector<unsigned> counts = {0};
    for (unsigned count = 1; count < all; count *= 2)
      counts.push_back(count);
    if (all > 0)
      counts.push_back(all);
    return counts;
  };
  std::vector<LoopForm> forms;
  Shifts most = getMostShifts(loop);
  for (unsigned behind : getCounts(most.behind))
    for (unsigned ahead : getCounts(most.ahead))
      if (ahead + behind > 0)
        forms.push_back({/*spreads=*/false, {ahead, behind}});
  if (!hasStackedGathers(loop))
    return forms;
  Copy spread = rewrite(loop, {/*spreads=*/true});
  most =
      getMostShifts(cast<step::LoopOp>(spread.map.lookup(loop.getOperation())));
  spread.program.erase();
  for (unsigned behind : getCounts(most.behind))
    forms.push_back({/*spreads=*/true, {most.ahead, behind}});
  return forms;
}

void LoopPipeliner::improve(size_t number) {
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
  // A loop around a pipelined loop would hold more memory at a time.
  for (step::LoopOp &other : llvm::drop_begin(loops, number + 1))
    if (other)
      other = other->isAncestor(loop)
                  ? nullptr
                  : cast<step::LoopOp>(made.map.lookup(other.getOperation()));
  program.erase();
  program = made.program;
}

std::pair<step::ProgramOp, Prediction> LoopPipeliner::run() {
  program.walk([&](step::LoopOp loop) { // inner ones first
    Shifts most = getMostShifts(loop);
    if (most.ahead + most.behind > 0 || hasStackedGathers(loop))
      loops.push_back(loop);
  });
  if (loops.empty())
    return {program, scheduleBy(program, limits)};
  Copy asWritten = rewrite(nullptr, {});
  Prediction prediction = scheduleBy(asWritten.program, limits);
  asWritten.program.erase();
  best = prediction.scheduled;
  bound = prediction.bound;
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i])
      improve(i);
  prediction = scheduleBy(program, limits);
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
    Surroundings surroundings = {**found, mesh, limits};
    auto [scheduled, prediction] = LoopPipeliner(program, surroundings).run();
    scheduled.setOverlapAttr(toAttr(&getContext(), prediction));
  }
}
