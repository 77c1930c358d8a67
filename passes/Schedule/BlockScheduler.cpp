// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BlockScheduler.h"

#include "Conflicts.h"
#include "Order.h"

#include "lib/Cost/StepCost.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tp;
using namespace tp::schedule;

/// The smallest gain that justifies reordering steps, as a fraction of their
/// time.
static constexpr double kLeastOrderGain = 0.005;
/// How many steps and transfers a step may run ahead of its place. A small
/// window keeps buffers short-lived; a large one finds more steps to run during
/// a transfer.
static constexpr unsigned kWindows[] = {8, 32, 128};
/// The window for orders that take more memory than the program as written.
/// There is only one, since each window adds 6 % to the time to compile.
static constexpr unsigned kWindowWithMore = 32;

namespace {

/// The schedules of control steps. Times cover all iterations of their bodies.
using ControlSchedules = llvm::DenseMap<Operation *, ScheduledBlock>;

/// Chooses where the collectives of one list of steps start and where the
/// device waits for them. The order of the steps is given.
class BlockScheduler {
public:
  BlockScheduler(Block &block, const Surroundings &given,
                 ControlSchedules &controls)
      : block(block), given(given), controls(controls) {
    collect();
    schedule = overlap(problem, given.limits);
  }

  Prediction predict() const {
    // In `problem`, a control step takes as long as its scheduled bodies.
    Problem least = problem;
    for (auto [step, op] : llvm::zip_equal(least.steps, steps))
      if (auto control = controls.find(op); control != controls.end())
        step.seconds = control->second.prediction.bound;
    return {keep(problem).seconds + inside.written - inside.scheduled,
            schedule.seconds, getBound(least),
            schedule.exposed + inside.exposed};
  }

  bool hasTransfers() const { return !groups.empty(); }

  /// Returns what `ScheduledBlock::carried` and `body` are.
  LinkSeconds getCarried() const { return problem.getCarried(); }
  std::shared_ptr<const Body> getBody() const;

  /// The steps and transfers as a graph, in their present order.
  Graph getGraph() const;

  /// Moves the steps and collectives into the given order of the graph's nodes.
  /// Each collective is waited for right after its start.
  void reorder(llvm::ArrayRef<unsigned> order);

  /// Moves the collectives.
  void apply();

private:
  /// A step or the start of a collective, in program order.
  struct Item {
    Operation *op;
    llvm::SmallVector<Access, 4> accesses;
    std::optional<unsigned> transfer; ///< The transfer that it starts,
    std::optional<unsigned> prepares; ///< or that it prepares.
    unsigned place = 0; ///< The number of this step, or of the next one.
    double seconds = 0; ///< Of a step.
  };
  /// The collectives of a launch, and the steps that only write the data that
  /// it sends.
  struct Group {
    llvm::SmallVector<step::CollectiveStartOp, 1> launch;
    unsigned number; ///< The number of its item.
    llvm::SmallVector<unsigned, 2> preparations = {};
  };

  void collect();
  void findPreparations(Group &group, Value source, unsigned transfer);
  double getTransferTime(const Group &group) const;
  Transfer getTransfer(const Group &group) const;
  const Item *findStepBehind(unsigned number, unsigned start) const;
  int64_t getReadBytes(const Item &item) const;
  double getPreparationTime(const Group &group) const;
  llvm::SmallVector<unsigned, 2> getLinks(step::CollectiveStartOp start) const;
  double getTime(Operation *op);
  void moveBefore(Operation *op, Operation *place);

  Block &block;
  const Surroundings &given;
  ControlSchedules &controls;
  Prediction inside; ///< The prediction for loops and branches.
  std::vector<Item> items;
  std::vector<Group> groups; ///< Indexed by transfer.
  Conflicts conflicts;       ///< Between items.
  llvm::SmallVector<Operation *> steps;
  Problem problem;
  Schedule schedule;
};

} // namespace

/// The bytes that are in use because a collective is in flight. Does not count
/// inputs and outputs or, in a loop, buffers from outside of the loop, since
/// their storage is always in use.
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

/// Finds the preparations of a source of a launch: steps that pack the data to
/// send, and that move together with the launch. A preparation writes nothing
/// but the data to send, and its operands do not change before the start.
void BlockScheduler::findPreparations(Group &group, Value source,
                                      unsigned transfer) {
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
          // A different transfer that conflicts with the step would have to
          // wait until this transfer is done.
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

double BlockScheduler::getTransferTime(const Group &group) const {
  return cost::getStepTime(group.launch.front(), given.mesh);
}

double BlockScheduler::getPreparationTime(const Group &group) const {
  double seconds = 0;
  for (unsigned number : group.preparations)
    seconds += items[number].seconds;
  return seconds;
}

llvm::SmallVector<unsigned, 2>
BlockScheduler::getLinks(step::CollectiveStartOp start) const {
  if (!given.separatesLinks)
    return {0};
  return cost::getLinks(start, given.mesh);
}

/// Returns the first step after item `start` that conflicts with item `number`.
const BlockScheduler::Item *
BlockScheduler::findStepBehind(unsigned number, unsigned start) const {
  for (unsigned other : conflicts.find(number, items[number].accesses).behind)
    if (other > start && !items[other].transfer && !items[other].prepares)
      return &items[other];
  return nullptr;
}

/// Returns the bytes of the block's own buffers that the item reads.
int64_t BlockScheduler::getReadBytes(const Item &item) const {
  int64_t bytes = 0;
  for (const Access &access : item.accesses) {
    auto alloc = access.root.getDefiningOp<step::AllocOp>();
    if (!access.isWrite && alloc && alloc->getBlock() == &block)
      bytes += step::getEndByte(step::bufferTypeOf(access.root));
  }
  return bytes;
}

Transfer BlockScheduler::getTransfer(const Group &group) const {
  Transfer transfer;
  transfer.earliest = 0;
  transfer.place = items[group.number].place;
  transfer.needed = steps.size();
  transfer.seconds = getTransferTime(group);
  transfer.bytes = 0;
  for (step::CollectiveStartOp start : group.launch)
    transfer.bytes += getHeldBytes(start);
  transfer.links = getLinks(group.launch.front());
  auto follow = [&](unsigned number) {
    for (unsigned other :
         conflicts.find(number, items[number].accesses).before) {
      const Item &item = items[other];
      if (item.transfer)
        transfer.after.push_back(*item.transfer);
      else if (item.prepares) // packs the source of a transfer
        transfer.after.push_back(*item.prepares);
      else
        transfer.earliest = std::max(transfer.earliest, item.place + 1);
    }
  };
  follow(group.number);
  for (unsigned number : group.preparations)
    follow(number);
  transfer.preparation = getPreparationTime(group);
  unsigned self = *items[group.number].transfer;
  llvm::erase(transfer.after, self);
  llvm::sort(transfer.after);
  transfer.after.erase(llvm::unique(transfer.after), transfer.after.end());
  // A later collective that conflicts with this one waits for it before its own
  // start.
  if (const Item *step = findStepBehind(group.number, group.number))
    transfer.needed = step->place;
  for (unsigned number : group.preparations) {
    if (const Item *step = findStepBehind(number, group.number))
      transfer.latest = std::min(transfer.latest, step->place);
    transfer.unpreparedBytes += getReadBytes(items[number]);
  }
  return transfer;
}

/// Schedules the bodies of a control op first, since the outer schedule depends
/// on their time. The time of a loop covers all its iterations, that of a
/// `while` one iteration, that of a branch the longer body, and that of
/// alternative implementations the faster one.
static ScheduledBlock scheduleControl(Operation *control,
                                      const Surroundings &given) {
  llvm::SmallVector<ScheduledBlock, 2> bodies;
  int64_t peakBytes = 0;
  for (Region &region : control->getRegions()) {
    bodies.push_back(scheduleBlock(region.front(), given));
    peakBytes = std::max(peakBytes, bodies.back().peakBytes);
  }
  ScheduledBlock result = bodies[0];
  if (auto loop = dyn_cast<step::LoopOp>(control)) {
    result.prediction = result.prediction * loop.getCount();
    result.carried *= loop.getCount();
  } else if (isa<step::WhileOp>(control)) {
    result.prediction = result.prediction + bodies[1].prediction;
    result.carried += bodies[1].carried;
    if (!result.body)
      result.body = bodies[1].body;
  } else if (bool isLonger = bodies[0].prediction.scheduled <
                             bodies[1].prediction.scheduled;
             isLonger != isa<step::ChooseOp>(control)) {
    result = bodies[1];
  }
  result.peakBytes = peakBytes;
  return result;
}

std::shared_ptr<const Body> BlockScheduler::getBody() const {
  if (getCarried().size() == 0)
    return nullptr;
  return std::make_shared<const Body>(Body{problem, schedule});
}

double BlockScheduler::getTime(Operation *op) {
  if (!step::isControlOp(op))
    return cost::getStepTime(op, given.machine);
  auto [known, isNew] = controls.try_emplace(op);
  if (isNew)
    known->second = scheduleControl(op, given);
  inside = inside + known->second.prediction;
  return known->second.prediction.scheduled;
}

void BlockScheduler::collect() {
  for (Operation &op : block) {
    auto start = dyn_cast<step::CollectiveStartOp>(op);
    if (step::isBufferOp(&op) || isa<step::CollectiveDoneOp>(op) ||
        (start && start.getJoined()))
      continue;
    unsigned number = items.size();
    Item &item = items.emplace_back();
    item.op = &op;
    item.accesses = getAccesses(&op);
    if (start) {
      item.transfer = groups.size();
      groups.push_back({start.getLaunch(), number});
      for (step::CollectiveStartOp joined :
           llvm::drop_begin(groups.back().launch))
        llvm::append_range(item.accesses, getAccesses(joined));
    }
    conflicts.add(number, item.accesses);
  }
  for (auto [transfer, group] : llvm::enumerate(groups))
    for (step::CollectiveStartOp start : group.launch)
      findPreparations(group, step::getRoot(start.getSource()), transfer);
  for (Item &item : items) {
    item.place = steps.size();
    if (item.transfer)
      continue;
    item.seconds = getTime(item.op);
    if (item.prepares)
      continue;
    steps.push_back(item.op);
    auto control = controls.find(item.op);
    problem.steps.push_back(control == controls.end()
                                ? StepTime(item.seconds)
                                : StepTime(item.seconds,
                                           control->second.carried,
                                           control->second.body));
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

void BlockScheduler::apply() {
  if (groups.empty())
    return;
  for (auto [number, events] : llvm::enumerate(schedule.events)) {
    Operation *place = number < steps.size() ? steps[number] : nullptr;
    for (const Event &event : events) {
      const Group &group = groups[event.transfer];
      if (event.isStart)
        for (unsigned number : group.preparations)
          moveBefore(items[number].op, place);
      for (step::CollectiveStartOp start : group.launch)
        moveBefore(event.isStart ? start : start.getDone(), place);
    }
  }
}

Graph BlockScheduler::getGraph() const {
  Graph graph;
  llvm::DenseMap<Value, unsigned> buffers;
  auto addUse = [&](Node &node, const Access &access) {
    auto alloc = access.root.getDefiningOp<step::AllocOp>();
    if (!alloc || alloc->getBlock() != &block)
      return;
    auto [known, isNew] = buffers.try_emplace(access.root, graph.bytes.size());
    if (isNew)
      graph.bytes.push_back(step::getEndByte(step::bufferTypeOf(access.root)));
    if (!llvm::is_contained(node.buffers, known->second))
      node.buffers.push_back(known->second);
  };
  for (auto [number, item] : llvm::enumerate(items)) {
    Node node = {item.seconds};
    llvm::append_range(node.after,
                       conflicts.find(number, item.accesses).before);
    for (const Access &access : item.accesses)
      addUse(node, access);
    if (item.transfer) {
      const Group &group = groups[*item.transfer];
      node.links = getLinks(group.launch.front());
      node.seconds = getTransferTime(group);
    } else if (auto control = controls.find(item.op);
               control != controls.end()) {
      node.buffers.push_back(graph.bytes.size());
      graph.bytes.push_back(control->second.peakBytes);
    }
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

void BlockScheduler::reorder(llvm::ArrayRef<unsigned> order) {
  llvm::DenseSet<Operation *> moved;
  auto moveToEnd = [&](auto &self, Operation *op) -> void {
    // Ops in the bodies of a control step use buffers, too.
    op->walk([&](Operation *user) {
      for (Value operand : user->getOperands()) {
        Operation *made = operand.getDefiningOp();
        if (made && made->getBlock() == &block && step::isBufferOp(made) &&
            moved.insert(made).second)
          self(self, made);
      }
    });
    op->moveBefore(&block, block.end());
  };
  llvm::SmallVector<Operation *> buffers;
  for (Operation &op : block)
    if (step::isBufferOp(&op))
      buffers.push_back(&op);
  for (unsigned node : order) {
    const Item &item = items[node];
    if (!item.transfer) {
      moveToEnd(moveToEnd, item.op);
      continue;
    }
    for (step::CollectiveStartOp start : groups[*item.transfer].launch)
      moveToEnd(moveToEnd, start);
    for (step::CollectiveStartOp start : groups[*item.transfer].launch)
      moveToEnd(moveToEnd, start.getDone());
  }
  // A view that no step uses must still come after its buffer.
  for (Operation *buffer : buffers)
    if (moved.insert(buffer).second)
      moveToEnd(moveToEnd, buffer);
}

/// Puts the ops of a block into this order.
static void restore(Block &block, llvm::ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    op->moveBefore(&block, block.end());
}

static llvm::SmallVector<Operation *> getOps(Block &block) {
  return llvm::to_vector(llvm::make_pointer_range(block));
}

ScheduledBlock schedule::scheduleBlock(Block &block,
                                       const Surroundings &given) {
  ControlSchedules controls;
  BlockScheduler written(block, given, controls);
  ScheduledBlock result = {written.predict()};
  Graph graph = written.getGraph();
  llvm::SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, graph.nodes.size()));
  result.peakBytes = getPeakBytes(graph, order);
  Limits limits = given.limits;
  llvm::SmallVector<Operation *> ops = getOps(block);
  double wanted = (1 - kLeastOrderGain) * result.prediction.scheduled;
  bool isReordered = false;
  // Tries orders that reach at most `most`. What this is above the peak as
  // written is taken from the memory for transfers in flight.
  auto tryOrders = [&](int64_t most, llvm::ArrayRef<unsigned> windows) {
    for (unsigned window : windows) {
      if (!written.hasTransfers() || result.prediction.exposed == 0)
        return;
      std::vector<unsigned> tried = findOrder(graph, window, most);
      int64_t more =
          std::max<int64_t>(0, getPeakBytes(graph, tried) - result.peakBytes);
      if (result.peakBytes + more > most)
        continue;
      written.reorder(tried);
      Limits left = {given.limits.bytes - more, given.limits.count};
      Prediction prediction =
          BlockScheduler(block, given.withLimits(left), controls).predict();
      // The smallest bound is a lower bound for every order that was tried.
      result.prediction.bound =
          std::min(result.prediction.bound, prediction.bound);
      if (prediction.scheduled >= wanted)
        continue;
      wanted = prediction.scheduled;
      result.prediction.scheduled = prediction.scheduled;
      result.prediction.exposed = prediction.exposed;
      ops = getOps(block);
      limits = left;
      isReordered = true;
    }
  };
  tryOrders(result.peakBytes, kWindows);
  // The transfers in loops may take all the memory for transfers in flight.
  if (controls.empty() && isa<step::ProgramOp>(block.getParentOp()))
    tryOrders(result.peakBytes + given.limits.bytes / 2, kWindowWithMore);
  restore(block, ops);
  std::optional<BlockScheduler> reordered;
  Surroundings surroundings = given.withLimits(limits);
  if (isReordered)
    reordered.emplace(block, surroundings, controls);
  BlockScheduler &chosen = reordered ? *reordered : written;
  result.carried = chosen.getCarried();
  result.body = chosen.getBody();
  chosen.apply();
  return result;
}
