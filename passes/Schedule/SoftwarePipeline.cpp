// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SoftwarePipeline.h"

#include "Conflicts.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::schedule;

namespace {

/// Collectives that may be shifted to the previous or to the next iteration.
struct Candidate {
  /// The starts and dones of the collectives, and the steps that move with the
  /// collectives because they compute the data to send or use the result.
  llvm::SetVector<Operation *> steps;
  /// Buffers of the loop's body that both `steps` and other steps use.
  llvm::SetVector<Value> shared;
  /// For a candidate that runs ahead: the number of the first step that reads
  /// the received data. For a candidate that runs behind: the number of the
  /// step that starts the candidate's first collective.
  unsigned place;
};

struct Candidates {
  std::vector<Candidate> ahead, behind;
};

/// Finds the candidates of a loop.
class Finder {
public:
  explicit Finder(step::LoopOp loop);

  /// `ahead` begins with the candidate whose result an iteration needs first.
  /// `behind` begins with the candidate that an iteration starts last.
  Candidates run();

private:
  using Steps = llvm::SetVector<Operation *>;

  bool isOwn(Value root) const {
    return root.getDefiningOp<step::AllocOp>() && root.getParentBlock() == body;
  }
  bool findSource(Value root, Steps &found) const;
  bool hasOwnParts(Value root) const;
  std::optional<Candidate> getAhead(step::CollectiveStartOp start) const;
  std::optional<Candidate> getBehind(step::CollectiveStartOp start) const;
  bool hasOnlyUsersIn(Value root, const Steps &steps) const {
    return llvm::all_of(users.lookup(root),
                        [&](Operation *user) { return steps.contains(user); });
  }

  step::LoopOp loop;
  Block *body;
  /// For each root, the steps of the body that access it (`users`) and those
  /// that write it (`writers`), in program order.
  llvm::DenseMap<Value, Steps> users, writers;
  llvm::DenseMap<Operation *, unsigned> numbers;
};

/// The iteration of the original loop that a copy of the body computes. The new
/// loop computes two iterations in one: inside it, the number of the iteration
/// is twice the loop's counter plus `index`. Elsewhere it is `index`.
struct Iteration {
  bool inLoop;
  int64_t index;

  Iteration next() const { return {inLoop, index + 1}; }
  Iteration previous() const { return {inLoop, index - 1}; }
};

/// Copies three parts of a loop's body separately: the candidates that run an
/// iteration ahead, those that run an iteration behind, and all other ops.
class Copier {
public:
  Copier(step::LoopOp loop, const Candidates &candidates, Shifts shifts);

  void run();

private:
  enum Part { Rest, Ahead, Behind };

  /// Emits one iteration: copies the steps of `iteration` that are not shifted,
  /// the steps of the next iteration that run ahead, and the steps of the
  /// previous iteration that run behind.
  void copyIteration(Iteration iteration);
  void copyPart(Part part, Iteration iteration);
  void copy(Operation *op, Iteration iteration, IRMapping &map);
  Part getPart(Operation *op) const { return parts.lookup(op); }

  OpBuilder builder;
  step::LoopOp loop;
  int64_t count;
  Shifts shifts;
  llvm::DenseMap<Operation *, Part> parts; ///< Candidates' steps.
  IRMapping sets[2]; ///< The shared buffers of even and of odd iterations.
};

} // namespace

Finder::Finder(step::LoopOp loop) : loop(loop), body(&loop.getBody().front()) {
  for (Operation &op : *body) {
    numbers[&op] = numbers.size();
    for (const Access &access : getAccesses(&op)) {
      users[access.root].insert(&op);
      if (access.isWrite)
        writers[access.root].insert(&op);
    }
  }
}

/// Returns true if the contents of `root` are computed only from memory that
/// the loop does not write. Adds the steps that compute them to `found`.
bool Finder::findSource(Value root, Steps &found) const {
  auto written = writers.find(root);
  if (!isOwn(root) || written == writers.end())
    return !isOwn(root) && written == writers.end();
  return llvm::all_of(written->second, [&](Operation *step) {
    if (found.contains(step))
      return true;
    if (isa<step::CollectiveStartOp>(step) || step::isControlOp(step))
      return false;
    found.insert(step);
    return llvm::all_of(getAccesses(step), [&](const Access &access) {
      return access.root == root ||
             (!access.isWrite && findSource(access.root, found));
    });
  });
}

/// Returns true if each iteration accesses only its own part of `root`, a
/// buffer that is allocated outside of the loop.
bool Finder::hasOwnParts(Value root) const {
  std::optional<Access> part;
  for (Operation *user : users.lookup(root))
    for (const Access &access : getAccesses(user)) {
      if (access.root != root)
        continue;
      if (!part)
        part = access;
      if (access.moves != part->moves)
        return false;
      part->begin = std::min(part->begin, access.begin);
      part->end = std::max(part->end, access.end);
    }
  return part && std::abs(part->moves) >= part->end - part->begin;
}

std::optional<Candidate> Finder::getAhead(step::CollectiveStartOp start) const {
  Value source = step::getRoot(start.getSource()),
        destination = step::getRoot(start.getDestination());
  // Give up if another step writes to the destination: that step would have to
  // stay after the collective.
  if (!start.isAlone() || writers.lookup(destination).size() != 1 ||
      (!isOwn(destination) && !hasOwnParts(destination)))
    return std::nullopt;
  Candidate candidate;
  candidate.steps.insert(start);
  if (!findSource(source, candidate.steps))
    return std::nullopt;
  // No other step may use the intermediate buffers.
  for (Operation *step : candidate.steps)
    for (const Access &access : getAccesses(step))
      if (isOwn(access.root) && access.root != destination &&
          !hasOnlyUsersIn(access.root, candidate.steps))
        return std::nullopt;
  candidate.steps.insert(*start.getToken().user_begin());
  if (isOwn(destination))
    candidate.shared.insert(destination);
  candidate.place = numbers.size();
  for (Operation *user : users.lookup(destination))
    if (user != start)
      candidate.place = std::min(candidate.place, numbers.lookup(user));
  return candidate;
}

/// All steps that access the collective's result, or data computed from it,
/// move with the collective. They may also read buffers that other steps of an
/// iteration write: buffers that are allocated in the loop's body, and
/// iterations' own parts of other buffers.
std::optional<Candidate>
Finder::getBehind(step::CollectiveStartOp start) const {
  Candidate candidate;
  Steps &steps = candidate.steps;
  llvm::SetVector<Value> written;
  llvm::MapVector<Value, unsigned> read; // and the first step that reads it
  // If each iteration has its own part of `root`, steps that access the part
  // before `writer` does need not move.
  auto addWritten = [&](Value root, Operation *writer) {
    if (!written.insert(root))
      return;
    bool areParts = !isOwn(root) && hasOwnParts(root);
    for (Operation *user : users.lookup(root))
      if (!areParts || numbers.lookup(user) > numbers.lookup(writer))
        steps.insert(user);
  };
  steps.insert(start);
  for (unsigned i = 0; i < steps.size(); ++i) {
    if (step::isControlOp(steps[i]))
      return std::nullopt;
    for (const Access &access : getAccesses(steps[i])) {
      unsigned number = numbers.lookup(steps[i]);
      if (access.isWrite) {
        addWritten(access.root, steps[i]);
      } else {
        unsigned &first = read.insert({access.root, number}).first->second;
        first = std::min(first, number);
      }
    }
  }
  auto changesAfter = [&](Value root, unsigned first) {
    return llvm::any_of(writers.lookup(root), [&](Operation *writer) {
      return numbers.lookup(writer) > first;
    });
  };
  for (auto [root, first] : read) {
    if (written.contains(root) || !writers.contains(root))
      continue;
    if (changesAfter(root, first) || (!isOwn(root) && !hasOwnParts(root)))
      return std::nullopt; // it changes before a later iteration reads it
    if (isOwn(root))
      candidate.shared.insert(root);
  }
  // A step that stays must not come after one that moves and uses the same
  // part.
  for (Value root : written) {
    bool hasMoved = false;
    for (Operation *user : users.lookup(root)) {
      if (steps.contains(user))
        hasMoved = true;
      else if (hasMoved)
        return std::nullopt;
    }
  }
  candidate.place = numbers.size();
  for (Operation *step : llvm::to_vector(steps))
    if (auto other = dyn_cast<step::CollectiveStartOp>(step)) {
      // Reject a candidate that takes a part of a launch away from the rest, or
      // sends its result again, in a second transfer.
      Value source = step::getRoot(other.getSource());
      if (!other.isAlone() ||
          llvm::any_of(writers.lookup(source), [&](Operation *writer) {
            return writer != other && steps.contains(writer);
          }))
        return std::nullopt;
      candidate.place = std::min(candidate.place, numbers.lookup(other));
      steps.insert(*other.getToken().user_begin());
    }
  return candidate;
}

Candidates Finder::run() {
  Candidates found;
  // Skip loops with `step.combine` ops. The operands of these ops must be
  // dense, but copies of an iteration may turn them into views with an offset.
  WalkResult combines =
      loop->walk([](step::CombineOp) { return WalkResult::interrupt(); });
  if (loop.getCount() < 2 || combines.wasInterrupted())
    return found;
  Steps taken;
  llvm::SetVector<Value> shared;
  for (auto start : body->getOps<step::CollectiveStartOp>())
    if (std::optional<Candidate> candidate = getAhead(start)) {
      taken.insert_range(candidate->steps);
      shared.insert_range(candidate->shared);
      found.ahead.push_back(std::move(*candidate));
    }
  for (auto start : body->getOps<step::CollectiveStartOp>()) {
    if (taken.contains(start))
      continue;
    std::optional<Candidate> candidate = getBehind(start);
    auto isTaken = [&](Operation *step) { return taken.contains(step); };
    auto isShared = [&](Value root) { return shared.contains(root); };
    // A candidate that runs ahead already uses the second buffer for the next
    // iteration.
    if (!candidate || llvm::any_of(candidate->steps, isTaken) ||
        llvm::any_of(candidate->shared, isShared))
      continue;
    taken.insert_range(candidate->steps);
    found.behind.push_back(std::move(*candidate));
  }
  auto getKey = [&](const Candidate &candidate) {
    return std::pair(candidate.place, numbers.lookup(candidate.steps[0]));
  };
  llvm::sort(found.ahead, [&](const Candidate &a, const Candidate &b) {
    return getKey(a) < getKey(b);
  });
  llvm::sort(found.behind, [&](const Candidate &a, const Candidate &b) {
    return getKey(a) > getKey(b);
  });
  return found;
}

/// Returns the buffers of which even and odd iterations get separate copies.
static llvm::SetVector<Value> getShared(const Candidates &candidates,
                                        Shifts shifts) {
  llvm::SetVector<Value> shared;
  for (const Candidate &candidate :
       llvm::ArrayRef(candidates.ahead).take_front(shifts.ahead))
    shared.insert_range(candidate.shared);
  for (const Candidate &candidate :
       llvm::ArrayRef(candidates.behind).take_front(shifts.behind))
    shared.insert_range(candidate.shared);
  return shared;
}

Copier::Copier(step::LoopOp loop, const Candidates &candidates, Shifts shifts)
    : builder(loop), loop(loop), count(loop.getCount()), shifts(shifts) {
  for (const Candidate &candidate :
       llvm::ArrayRef(candidates.ahead).take_front(shifts.ahead))
    for (Operation *step : candidate.steps)
      parts[step] = Ahead;
  for (const Candidate &candidate :
       llvm::ArrayRef(candidates.behind).take_front(shifts.behind))
    for (Operation *step : candidate.steps)
      parts[step] = Behind;
  for (Value buffer : getShared(candidates, shifts))
    for (IRMapping &set : sets)
      set.map(buffer, builder.clone(*buffer.getDefiningOp())->getResult(0));
}

/// Calls `what` with each op of type `Op` in `copied`, and with the number of
/// loops in `copied` that enclose that op.
template <typename Op>
static void forEach(Operation *copied,
                    llvm::function_ref<void(Op, int64_t)> what) {
  llvm::SmallVector<std::pair<Op, int64_t>> found;
  copied->walk([&](Op op) {
    int64_t depth = 0;
    for (Operation *at = op; at != copied; at = at->getParentOp())
      depth += isa<step::LoopOp>(at->getParentOp());
    found.push_back({op, depth});
  });
  for (auto [op, depth] : found)
    what(op, depth);
}

static void setMotion(step::ViewOp view, std::optional<int64_t> by,
                      int64_t loop) {
  Builder builder(view.getContext());
  view.setByAttr(by ? builder.getI64IntegerAttr(*by) : nullptr);
  view.setLoop(loop);
}

/// If the offset of `view` advances with the loop, adjusts the offset to the
/// iteration that the copy of the loop's body computes.
static void moveView(step::ViewOp view, int64_t depth, Iteration iteration) {
  int64_t number = view.getLoop();
  if (!view.getBy() || view.getAxes() || number < depth)
    return;
  int64_t by = *view.getBy();
  // A copy outside of the new loop is nested in one loop fewer.
  if (number > depth)
    return setMotion(view, by, iteration.inLoop ? number : number - 1);
  if (iteration.inLoop)
    setMotion(view, 2 * by, number);
  else
    setMotion(view, std::nullopt, 0);
  MemRefType type = view.getType();
  step::Strides layout(type);
  view.getResult().setType(step::getBufferType(
      type.getShape(), type.getElementType(), layout.strides,
      layout.offset + iteration.index * by));
}

static void replaceCounter(step::CounterOp counter, int64_t depth,
                           Iteration iteration) {
  int64_t number = counter.getLoop();
  if (number < depth || (number > depth && iteration.inLoop))
    return;
  if (number > depth)
    return counter.setLoop(number - 1);
  OpBuilder builder(counter);
  Location loc = counter.getLoc();
  auto make = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  };
  Value now = make(iteration.index);
  if (iteration.inLoop) {
    Value pair = step::CounterOp::create(builder, loc, number);
    now = arith::AddIOp::create(
        builder, loc, arith::MulIOp::create(builder, loc, pair, make(2)), now);
  }
  counter.getResult().replaceAllUsesWith(now);
  counter.erase();
}

/// Copies an op, along with the views and buffers of the body that it uses.
void Copier::copy(Operation *op, Iteration iteration, IRMapping &map) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Operation *made = operand.getDefiningOp();
      if (made && made->getBlock() == &loop.getBody().front() &&
          step::isBufferOp(made) && !map.contains(operand))
        copy(made, iteration, map);
    }
  });
  Operation *copied = builder.clone(*op, map);
  forEach<step::ViewOp>(copied, [&](step::ViewOp view, int64_t depth) {
    moveView(view, depth, iteration);
  });
  forEach<step::CounterOp>(copied, [&](step::CounterOp counter, int64_t depth) {
    replaceCounter(counter, depth, iteration);
  });
  // Copied views may have new types, which the arguments of kernels must have,
  // too. Update outer kernels before the kernels inside them.
  copied->walk<WalkOrder::PreOrder>([](step::KernelOpInterface kernel) {
    if (kernel->getNumRegions() == 0)
      return;
    for (auto [argument, operand] : llvm::zip_equal(
             kernel->getRegion(0).getArguments(), kernel->getOperands()))
      argument.setType(operand.getType());
  });
}

void Copier::copyPart(Part part, Iteration iteration) {
  IRMapping map = sets[iteration.index % 2];
  for (Operation &op : loop.getBody().front())
    if (!step::isBufferOp(&op) && getPart(&op) == part)
      copy(&op, iteration, map);
}

void Copier::copyIteration(Iteration iteration) {
  copyPart(Rest, iteration);
  if (shifts.ahead && (iteration.inLoop || iteration.index + 1 < count))
    copyPart(Ahead, iteration.next());
  if (shifts.behind && iteration.index > 0)
    copyPart(Behind, iteration.previous());
}

void Copier::run() {
  if (shifts.ahead)
    copyPart(Ahead, {/*inLoop=*/false, 0});
  // Iterations `begin` to `end` - 1 have the same form, so a loop can run them.
  int64_t begin = shifts.behind ? 1 : 0, end = shifts.ahead ? count - 1 : count;
  int64_t pairs = (end - begin) / 2;
  if (pairs < 2) // A single pair needs no loop.
    pairs = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (i != begin || pairs == 0) {
      copyIteration({/*inLoop=*/false, i});
      continue;
    }
    auto paired = step::LoopOp::create(builder, loop.getLoc(), pairs);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&paired.getBody().emplaceBlock());
    copyIteration({/*inLoop=*/true, begin});
    copyIteration({/*inLoop=*/true, begin + 1});
    i += 2 * pairs - 1;
  }
  if (shifts.behind)
    copyPart(Behind, {/*inLoop=*/false, count - 1});
}

Shifts schedule::getMostShifts(step::LoopOp loop) {
  Candidates candidates = Finder(loop).run();
  return {unsigned(candidates.ahead.size()),
          unsigned(candidates.behind.size())};
}

int64_t schedule::getPipelineBytes(step::LoopOp loop, Shifts shifts) {
  int64_t bytes = 0;
  for (Value buffer : getShared(Finder(loop).run(), shifts))
    bytes += step::getEndByte(step::bufferTypeOf(buffer));
  return bytes;
}

void schedule::pipeline(step::LoopOp loop, Shifts shifts) {
  Copier(loop, Finder(loop).run(), shifts).run();
  loop.erase();
}
