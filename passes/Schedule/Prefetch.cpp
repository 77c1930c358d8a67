// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Prefetch.h"

#include "Conflicts.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::schedule;

namespace {

/// A collective that may run an iteration ahead.
struct Candidate {
  /// Its start, its done, and the steps that make what it sends.
  llvm::SetVector<Operation *> steps;
  Value destination;
  unsigned needed; ///< Number of the first step that reads what is received.
};

/// Finds those of a loop.
class Finder {
public:
  explicit Finder(step::LoopOp loop);

  /// That which an iteration needs first is first.
  std::vector<Candidate> run();

private:
  bool isOwn(Value root) const {
    return root.getDefiningOp<step::AllocOp>() && root.getParentBlock() == body;
  }
  bool findSource(Value root, llvm::SetVector<Operation *> &found) const;
  std::optional<Candidate> getCandidate(step::CollectiveStartOp start) const;

  step::LoopOp loop;
  Block *body;
  /// Steps of the body that touch a root, by the root, in order.
  llvm::DenseMap<Value, llvm::SetVector<Operation *>> users, writers;
  llvm::DenseMap<Operation *, unsigned> numbers;
};

/// Which iteration of the former loop a copy of its body is: `index`, or for a
/// copy in a loop that makes two iterations in one, twice the counter plus
/// `index`.
struct Iteration {
  bool inLoop;
  int64_t index;

  Iteration next() const { return {inLoop, index + 1}; }
};

/// Writes copies of a loop's body.
class Copier {
public:
  Copier(step::LoopOp loop, llvm::ArrayRef<Candidate> candidates);

  /// What an iteration does but for the candidates, which were received in
  /// buffer set `received`.
  void copyIteration(Iteration iteration, unsigned received);
  /// The candidates of an iteration.
  void copyAhead(Iteration iteration, unsigned destination);

  OpBuilder builder;

private:
  void copy(Operation *op, Iteration iteration, IRMapping &map);
  void copyIf(Iteration iteration, unsigned set, bool isAhead);
  IRMapping mapTo(unsigned set) const;

  step::LoopOp loop;
  llvm::ArrayRef<Candidate> candidates;
  llvm::DenseSet<Operation *> ahead; ///< Steps of the candidates.
  llvm::SmallVector<Value> sets[2];  ///< For their destinations.
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

/// Whether what lies in `root` follows from what the loop does not write.
/// `found` gets the steps that make it.
bool Finder::findSource(Value root, llvm::SetVector<Operation *> &found) const {
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

std::optional<Candidate>
Finder::getCandidate(step::CollectiveStartOp start) const {
  Value source = step::getRoot(start.getSource()),
        destination = step::getRoot(start.getDestination());
  // Another one that writes there has to stay behind it.
  if (!isOwn(destination) || writers.lookup(destination).size() != 1)
    return std::nullopt;
  Candidate candidate;
  candidate.steps.insert(start);
  if (!findSource(source, candidate.steps))
    return std::nullopt;
  // Nobody else looks at what is made on the way.
  for (Operation *step : candidate.steps)
    for (const Access &access : getAccesses(step))
      if (isOwn(access.root) && access.root != destination &&
          !llvm::all_of(users.lookup(access.root), [&](Operation *user) {
            return candidate.steps.contains(user);
          }))
        return std::nullopt;
  candidate.steps.insert(*start.getToken().user_begin());
  candidate.destination = destination;
  candidate.needed = numbers.size();
  for (Operation *user : users.lookup(destination))
    if (user != start)
      candidate.needed = std::min(candidate.needed, numbers.lookup(user));
  return candidate;
}

std::vector<Candidate> Finder::run() {
  std::vector<Candidate> candidates;
  // A part that is combined begins where its buffer does, in each iteration.
  WalkResult combines =
      loop->walk([](step::CombineOp) { return WalkResult::interrupt(); });
  if (loop.getCount() < 2 || combines.wasInterrupted())
    return candidates;
  for (auto start : body->getOps<step::CollectiveStartOp>())
    if (std::optional<Candidate> candidate = getCandidate(start))
      candidates.push_back(std::move(*candidate));
  llvm::sort(candidates, [&](const Candidate &a, const Candidate &b) {
    return std::pair(a.needed, numbers.lookup(a.steps[0])) <
           std::pair(b.needed, numbers.lookup(b.steps[0]));
  });
  return candidates;
}

Copier::Copier(step::LoopOp loop, llvm::ArrayRef<Candidate> candidates)
    : builder(loop), loop(loop), candidates(candidates) {
  for (const Candidate &candidate : candidates) {
    ahead.insert_range(candidate.steps);
    for (llvm::SmallVector<Value> &set : sets)
      set.push_back(
          builder.clone(*candidate.destination.getDefiningOp())->getResult(0));
  }
}

IRMapping Copier::mapTo(unsigned set) const {
  IRMapping map;
  for (auto [candidate, buffer] : llvm::zip(candidates, sets[set]))
    map.map(candidate.destination, buffer);
  return map;
}

/// Calls `what` with the loops between the loop that was copied and each op.
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

/// A view of the loop's iteration lies where the iteration is.
static void moveView(step::ViewOp view, int64_t depth, Iteration iteration) {
  int64_t number = view.getLoop();
  if (!view.getBy() || view.getAxes() || number < depth)
    return;
  int64_t by = *view.getBy();
  // There is one loop less around what stands behind it.
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

/// With the views and buffers of the body that it uses.
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
  // Views may have other types than the ones that they are copies of, and so
  // have the arguments of kernels, from the outside in.
  copied->walk<WalkOrder::PreOrder>([](step::KernelOpInterface kernel) {
    if (kernel->getNumRegions() == 0)
      return;
    for (auto [argument, operand] : llvm::zip_equal(
             kernel->getRegion(0).getArguments(), kernel->getOperands()))
      argument.setType(operand.getType());
  });
}

void Copier::copyIf(Iteration iteration, unsigned set, bool isAhead) {
  IRMapping map = mapTo(set);
  for (Operation &op : loop.getBody().front())
    if (!step::isBufferOp(&op) && ahead.contains(&op) == isAhead)
      copy(&op, iteration, map);
}

void Copier::copyIteration(Iteration iteration, unsigned received) {
  copyIf(iteration, received, /*isAhead=*/false);
}

void Copier::copyAhead(Iteration iteration, unsigned destination) {
  copyIf(iteration, destination, /*isAhead=*/true);
}

unsigned schedule::countPrefetches(step::LoopOp loop) {
  return Finder(loop).run().size();
}

int64_t schedule::getPrefetchBytes(step::LoopOp loop, unsigned count) {
  std::vector<Candidate> candidates = Finder(loop).run();
  int64_t bytes = 0;
  for (const Candidate &candidate :
       llvm::ArrayRef(candidates).take_front(count))
    bytes += step::getEndByte(step::bufferTypeOf(candidate.destination));
  return bytes;
}

void schedule::prefetch(step::LoopOp loop, unsigned most) {
  std::vector<Candidate> candidates = Finder(loop).run();
  Copier copier(loop, llvm::ArrayRef(candidates).take_front(most));
  int64_t count = loop.getCount(), pairs = (count - 1) / 2;
  auto copyIterations = [&](bool inLoop, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Iteration iteration = {inLoop, i};
      copier.copyIteration(iteration, i % 2);
      copier.copyAhead(iteration.next(), (i + 1) % 2);
    }
  };
  copier.copyAhead({/*inLoop=*/false, 0}, 0);
  // What runs once needs no loop.
  int64_t done = pairs > 1 ? 2 * pairs : 0;
  if (done) {
    auto paired = step::LoopOp::create(copier.builder, loop.getLoc(), pairs);
    OpBuilder::InsertionGuard guard(copier.builder);
    copier.builder.setInsertionPointToStart(&paired.getBody().emplaceBlock());
    copyIterations(/*inLoop=*/true, 0, 2);
  }
  copyIterations(/*inLoop=*/false, done, count - 1);
  copier.copyIteration({/*inLoop=*/false, count - 1}, (count - 1) % 2);
  loop.erase();
}
