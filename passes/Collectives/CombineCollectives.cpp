// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Combines collectives that do not depend on each other into one launch.

#include "passes/Collectives/Deferral.h"

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/PriceRecord.h"
#include "lib/Cost/ProgramCost.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Collectives/Passes.h"

#include "llvm/ADT/SetVector.h"

#include <deque>
#include <map>

namespace tp {
#define GEN_PASS_DEF_COMBINECOLLECTIVESPASS
#include "tpopt/Passes/Collectives/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::spmd;

/// A collective that takes longer than this many start latencies is issued
/// alone.
static constexpr double kMostStarts = 16;

/// The joined reasons of collectives that are issued as one. Either all of
/// these collectives are requested or none is.
static WhyAttr joinReasons(ArrayRef<WhyAttr> whys) {
  llvm::SmallSetVector<ReasonAttr, 2> reasons;
  for (WhyAttr why : whys)
    reasons.insert_range(why.getReasons());
  return WhyAttr::get(whys.front().getContext(), reasons.getArrayRef(),
                      whys.front().getRequested());
}

/// Moves an op, and the constants that only it uses, since a constant occupies
/// memory from its definition on.
static void moveWithSources(Operation *op, Operation *before) {
  for (Value operand : op->getOperands())
    if (Operation *source = operand.getDefiningOp();
        source && source->getBlock() == op->getBlock() && isPure(source) &&
        source->getNumOperands() == 0 && operand.hasOneUse())
      source->moveBefore(before);
  op->moveBefore(before);
}

namespace {

/// The properties that all collectives of one launch share.
using Key = std::vector<uintptr_t>;

struct Candidate;

/// An op that is put off along with the collectives whose results it uses.
struct Waiter {
  Operation *op = nullptr;
  SmallVector<Operation *, 2> company; ///< Ops that move with it, before it.
  SmallVector<Candidate *, 1> candidates;
  SmallVector<Waiter *, 1> sources;
  SmallVector<Waiter *, 1> dependents; ///< Waiters that take its result.
  unsigned missing = 0; ///< Number of candidates and sources not issued yet.
  bool isPlaced = false;
};

/// Collectives that may share a launch, in program order.
struct Queue {
  std::deque<Candidate *> ready; ///< Operands available; may be issued already.
  std::deque<Candidate *> later; ///< The rest; some may be ready by now.
  int64_t bytes = 0; ///< Total of the ready ones that are not issued yet.
};

struct Candidate {
  Operation *op = nullptr;
  int64_t bytes = 0;
  /// Null if the collective is issued alone.
  Queue *queue = nullptr;
  /// No other op needs the operand of the collective, and the result takes less
  /// memory than the operand, or no memory at all.
  bool frees = false;
  /// A sum whose operand no other op needs.
  bool isSum = false;
  /// `source` is the candidate that computes the operand of this collective, or
  /// null. The `dependents` use its result.
  Candidate *source = nullptr;
  SmallVector<Candidate *, 1> dependents;
  SmallVector<Waiter *, 1> waiters;
  unsigned number = 0; ///< In program order.
  bool isReady = false;
  bool isIssued = false;
};

/// Goes through a block in order. Every collective is put off until an op needs
/// its result; then it is issued together with all collectives of its kind
/// whose operands are available. This minimizes the number of launches, like
/// the greedy algorithm that stabs intervals on a line with the fewest points:
/// it always adds a point where the first unstabbed interval ends. An op that
/// may also be put off (Deferral.h) needs its operands only when its own result
/// is needed. Operands that need only a few more ops, none of which waits for a
/// collective, are computed first: q, k and v of a layer are gathered in one
/// launch even if the program uses the gathered q before it computes k.
///
/// A collective that frees memory waits only until there are enough of its kind
/// to fill a bucket; otherwise the unsharded gradients of all layers would stay
/// in memory until the first of them is needed. A bucket that is full of sums
/// does not wait either: it cannot grow, and can be sent during the following
/// ops.
class BlockCombiner {
public:
  BlockCombiner(Block &block, const Mesh &mesh, int64_t bucketBytes)
      : block(block), mesh(mesh), bucketBytes(bucketBytes) {}

  void run() {
    collect();
    if (candidates.size() < 2)
      return;
    for (Candidate &candidate : candidates)
      connect(candidate);
    SmallVector<Operation *> ops =
        llvm::map_to_vector(block, [](Operation &op) { return &op; });
    for (auto [index, op] : llvm::enumerate(ops))
      places[op] = index;
    for (Operation *op : ops) {
      if (numbers.count(op) || hoisted.contains(op))
        continue;
      current = places[op];
      if (defer(op))
        continue;
      for (Candidate *candidate : needs.lookup(op))
        issue(*candidate, op);
      for (Waiter *waiter : needsWaiter.lookup(op))
        demand(*waiter, op);
      for (Candidate *candidate : madeBy.lookup(op))
        setReady(*candidate, op->getNextNode());
    }
  }

  /// Returns true if the block has changed, even if only in its order.
  bool hasChanged() const { return isChanged; }
  /// The number of collectives that now share a launch with others.
  int64_t getNumCombined() const { return numCombined; }

private:
  void collect();
  void connect(Candidate &candidate);
  Key getKey(CollectiveOpInterface op, const ReshardStep &step);
  bool goesAlone(const ReshardStep &step, int64_t bytes);
  void issue(Candidate &candidate, Operation *before);
  void combine(ArrayRef<Candidate *> members, Operation *before);

  /// Marks a candidate as ready. Its operand must be available before op `at`.
  void setReady(Candidate &candidate, Operation *at);

  /// Prepares the launch of `first` before op `before`. Another collective can
  /// share the launch only if its operand is computed before the launch. So the
  /// ops that compute such operands are moved to the place before `before`.
  void makeOperands(Queue &queue, const Candidate &first, Operation *before);
  /// The ops, from the current one on, that compute the candidate's operand, in
  /// program order. None if one of them waits for a collective, if there are
  /// too many, or if their other results take much more memory than the
  /// collective moves.
  std::optional<SmallVector<Operation *>>
  findMakers(const Candidate &candidate);

  /// Puts off an op that may wait, if it needs collectives that are put off.
  /// Returns true if it was put off.
  bool defer(Operation *op);
  /// Makes the waiter's result available before an op.
  void demand(Waiter &waiter, Operation *before);
  /// Records that one more operand of each op in `waiting` is available.
  void release(ArrayRef<Waiter *> waiting, Operation *before);

  Block &block;
  const Mesh &mesh;
  int64_t bucketBytes;
  bool isChanged = false;
  int64_t numCombined = 0;
  std::deque<Candidate> candidates; // a deque keeps their addresses
  llvm::DenseMap<Operation *, Candidate *> numbers;
  llvm::DenseMap<Operation *, unsigned> places; ///< In program order.
  unsigned current = 0;                ///< The place of the current op.
  llvm::DenseSet<Operation *> hoisted; ///< Moved ahead of the current op.
  std::map<Key, Queue> queues;
  /// Non-candidate ops of the block: those that need results of candidates, and
  /// those that make the candidates' operands.
  llvm::DenseMap<Operation *, SmallVector<Candidate *, 1>> needs, madeBy;
  std::deque<Waiter> waiters; // a deque keeps their addresses
  llvm::DenseMap<Operation *, Waiter *> waiterOf;
  llvm::DenseSet<Operation *> deferred; ///< Waiters and their company.
  /// Keyed by op: the waiters (ops that are put off) whose results the op
  /// needs.
  llvm::DenseMap<Operation *, SmallVector<Waiter *, 1>> needsWaiter;
};

} // namespace

Key BlockCombiner::getKey(CollectiveOpInterface op, const ReshardStep &step) {
  auto toNumber = [](const void *pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
  };
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  ShardingAttr in = op.getInSharding(), out = op.getOutSharding();
  Key key{uintptr_t(step.kind),
          isReduction(step.kind) ? uintptr_t(in.getKind()) : 0,
          toNumber(type.getElementType().getAsOpaquePointer()),
          uintptr_t(isRequested(op)), uintptr_t(isAlongManualAxes(op))};
  if (step.kind == CollectiveKind::CollectivePermute)
    llvm::append_values(key, toNumber(in.getAsOpaquePointer()),
                        toNumber(out.getAsOpaquePointer()));
  for (const AxisRef &axis : getGroupAxes(step))
    llvm::append_values(key, uintptr_t(axis.axis), uintptr_t(axis.pre),
                        uintptr_t(axis.size));
  return key;
}

/// Returns true if issuing the collective with others would save almost
/// nothing.
bool BlockCombiner::goesAlone(const ReshardStep &step, int64_t bytes) {
  if (bytes > bucketBytes)
    return true;
  if (!mesh.hasLinks)
    return false;
  Link link = getLink(mesh, step.axes);
  return link.beta * getWireElements(step.kind, step.getGroupSize(), bytes) >
         kMostStarts * link.alpha;
}

void BlockCombiner::collect() {
  for (Operation &op : block) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (!collective || isa<CombinedOp>(op) || op.use_empty())
      continue;
    const ReshardStep &step = getStep(collective);
    // Collectives that the user wrote into a manual region stay unchanged,
    // except for sums: users often write a separate sum for each gradient.
    if (isFree(step.kind) ||
        (isAlongManualAxes(collective) && !isReduction(step.kind)))
      continue;
    int64_t bytes =
        step.payload * tp::getElementBytes(op.getOperand(0).getType());
    if (bytes == 0) // not a launch at all
      continue;
    Candidate &candidate = candidates.emplace_back();
    candidate.op = &op;
    candidate.bytes = bytes;
    if (!goesAlone(step, bytes)) {
      candidate.queue = &queues[getKey(collective, step)];
      candidate.queue->later.push_back(&candidate);
    }
    candidate.number = candidates.size();
    Operation *maker = op.getOperand(0).getDefiningOp();
    bool isLastUse =
        maker && maker->getBlock() == &block && op.getOperand(0).hasOneUse();
    candidate.frees =
        isLastUse && (step.kind == CollectiveKind::ReduceScatter ||
                      isOnlyStored(op.getResult(0)));
    candidate.isSum = isLastUse && isReduction(step.kind);
    numbers[&op] = &candidate;
  }
}

/// Finds the op that makes a candidate's operand and the ops that need its
/// result.
void BlockCombiner::connect(Candidate &candidate) {
  Value operand = candidate.op->getOperand(0);
  Operation *maker = operand.getDefiningOp();
  if (!maker || maker->getBlock() != &block) {
    setReady(candidate, &block.front());
  } else if (Candidate *source = numbers.lookup(maker)) {
    candidate.source = source;
    source->dependents.push_back(&candidate);
  } else {
    madeBy[maker].push_back(&candidate);
  }
  llvm::SmallSetVector<Operation *, 4> users;
  for (Operation *user : candidate.op->getUsers())
    users.insert(block.findAncestorOpInBlock(*user));
  for (Operation *user : users)
    if (!numbers.count(user))
      needs[user].push_back(&candidate);
}

void BlockCombiner::setReady(Candidate &candidate, Operation *at) {
  Queue *queue = candidate.queue;
  candidate.isReady = true;
  if (queue) {
    queue->ready.push_back(&candidate);
    queue->bytes += candidate.bytes;
  }
  bool isFull = queue && queue->bytes >= bucketBytes;
  if (candidate.frees ? queue && !isFull : !candidate.isSum || !isFull)
    return;
  // Ops that are put off may still move. Issue the collective before the next
  // op that stays in place.
  while (numbers.count(at) || deferred.count(at))
    at = at->getNextNode();
  issue(candidate, at);
}

std::optional<SmallVector<Operation *>>
BlockCombiner::findMakers(const Candidate &candidate) {
  constexpr size_t kMostOps = 64;
  constexpr int64_t kMostKept = 2; // times the collective's bytes
  llvm::SetVector<Operation *> makers;
  SmallVector<Value> values{candidate.op->getOperand(0)};
  while (!values.empty()) {
    Operation *op = values.pop_back_val().getDefiningOp();
    auto place = places.find(op);
    if (!op || place == places.end() || hoisted.contains(op) ||
        makers.contains(op))
      continue;
    Candidate *source = numbers.lookup(op);
    Waiter *waiter = waiterOf.lookup(op);
    if (source || waiter) {
      if (source ? source->isIssued : waiter->isPlaced)
        continue;
      return std::nullopt;
    }
    bool waits = deferred.contains(op);
    if (place->second < current && !waits)
      continue;
    if (waits || op->getNumRegions() > 0 || makers.size() == kMostOps)
      return std::nullopt;
    makers.insert(op);
    llvm::append_range(values, op->getOperands());
  }
  int64_t kept = 0;
  for (Operation *op : makers)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return user != candidate.op && !makers.contains(user);
          }))
        kept += getVolume(cast<ShapedType>(result.getType()).getShape()) *
                tp::getElementBytes(result.getType());
  if (kept > kMostKept * candidate.bytes ||
      !llvm::all_of(makers, isMemoryEffectFree))
    return std::nullopt;
  SmallVector<Operation *> inOrder = makers.takeVector();
  llvm::sort(inOrder, [&](Operation *a, Operation *b) {
    return places.lookup(a) < places.lookup(b);
  });
  return inOrder;
}

void BlockCombiner::makeOperands(Queue &queue, const Candidate &first,
                                 Operation *before) {
  // Returns the bytes that the launch moves so far.
  auto getBytes = [&] {
    return queue.bytes + (first.isReady ? 0 : first.bytes);
  };
  constexpr unsigned kMostTries = 8;
  unsigned tries = 0;
  auto isDone = [](Candidate *candidate) {
    return candidate->isReady || candidate->isIssued;
  };
  while (!queue.later.empty() && isDone(queue.later.front()))
    queue.later.pop_front();
  for (size_t i = 0; i < queue.later.size() && tries < kMostTries; ++i) {
    Candidate *candidate = queue.later[i];
    if (isDone(candidate))
      continue;
    ++tries;
    if (candidate->source || getBytes() + candidate->bytes > bucketBytes)
      continue;
    std::optional<SmallVector<Operation *>> makers = findMakers(*candidate);
    if (!makers)
      continue;
    for (Operation *op : *makers) {
      isChanged = true;
      op->moveBefore(before);
      hoisted.insert(op);
    }
    for (Operation *op : *makers)
      for (Candidate *made : madeBy.lookup(op))
        setReady(*made, before);
  }
}

bool BlockCombiner::defer(Operation *op) {
  if (op->use_empty())
    return false;
  auto findCandidate = [&](Value value) -> Candidate * {
    Candidate *candidate = numbers.lookup(value.getDefiningOp());
    return candidate && !candidate->isIssued ? candidate : nullptr;
  };
  auto findWaiter = [&](Value value) -> Waiter * {
    Waiter *waiter = waiterOf.lookup(value.getDefiningOp());
    return waiter && !waiter->isPlaced ? waiter : nullptr;
  };
  auto isPending = [&](Value value) {
    return value.getDefiningOp() && (findCandidate(value) || findWaiter(value));
  };
  if (llvm::none_of(op->getOperands(), isPending))
    return false;
  std::optional<SmallVector<Operation *, 2>> company =
      findCompany(op, isPending);
  if (!company)
    return false;
  Waiter &waiter = waiters.emplace_back();
  waiter.op = op;
  waiter.company = *std::move(company);
  for (Value operand :
       llvm::SetVector<Value>(op->operand_begin(), op->operand_end())) {
    if (!isPending(operand))
      continue;
    ++waiter.missing;
    if (Candidate *candidate = findCandidate(operand)) {
      waiter.candidates.push_back(candidate);
      candidate->waiters.push_back(&waiter);
    } else {
      Waiter *source = findWaiter(operand);
      waiter.sources.push_back(source);
      source->dependents.push_back(&waiter);
    }
  }
  waiterOf[op] = &waiter;
  deferred.insert(op);
  deferred.insert_range(waiter.company);
  for (Operation *user : op->getUsers())
    needsWaiter[block.findAncestorOpInBlock(*user)].push_back(&waiter);
  return true;
}

void BlockCombiner::demand(Waiter &waiter, Operation *before) {
  if (waiter.isPlaced)
    return;
  for (Waiter *source : waiter.sources)
    demand(*source, before);
  for (Candidate *candidate : waiter.candidates)
    issue(*candidate, before);
}

void BlockCombiner::release(ArrayRef<Waiter *> waiting, Operation *before) {
  for (Waiter *waiter : waiting) {
    if (--waiter->missing > 0)
      continue;
    waiter->isPlaced = true;
    isChanged |= waiter->op->getNextNode() != before;
    for (Operation *op : waiter->company)
      moveWithSources(op, before);
    moveWithSources(waiter->op, before);
    deferred.erase(waiter->op);
    for (Operation *op : waiter->company)
      deferred.erase(op);
    for (Candidate *candidate : madeBy.lookup(waiter->op))
      setReady(*candidate, before);
    release(waiter->dependents, before);
  }
}

void BlockCombiner::issue(Candidate &candidate, Operation *before) {
  if (candidate.isIssued)
    return;
  if (candidate.source)
    issue(*candidate.source, before);
  else if (Operation *maker = candidate.op->getOperand(0).getDefiningOp())
    if (Waiter *waiter = waiterOf.lookup(maker))
      demand(*waiter, before);
  if (candidate.queue && !candidate.isIssued)
    makeOperands(*candidate.queue, candidate, before);
  if (candidate.isIssued) // issued when it became ready, since it frees memory
    return;
  // The ready queue may contain this candidate, too. It must not be added to
  // `members` twice.
  SmallVector<Candidate *> members{&candidate};
  candidate.isIssued = true;
  int64_t bytes = candidate.bytes;
  if (Queue *queue = candidate.queue) {
    while (!queue->ready.empty()) {
      Candidate *next = queue->ready.front();
      if (!next->isIssued && bytes + next->bytes > bucketBytes)
        break;
      queue->ready.pop_front();
      if (next->isIssued)
        continue;
      next->isIssued = true;
      bytes += next->bytes;
      members.push_back(next);
    }
    queue->bytes -= bytes;
  }
  llvm::sort(members, [](const Candidate *a, const Candidate *b) {
    return a->number < b->number;
  });
  combine(members, before);
  for (Candidate *member : members) {
    release(member->waiters, before);
    for (Candidate *dependent : member->dependents)
      setReady(*dependent, before);
  }
}

void BlockCombiner::combine(ArrayRef<Candidate *> members, Operation *before) {
  if (members.size() == 1) {
    Operation *op = members.front()->op;
    if (op == before || op->getNextNode() == before)
      return;
    isChanged = true;
    return op->moveBefore(before);
  }
  isChanged = true;
  numCombined += members.size();
  SmallVector<Location> locations;
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  SmallVector<Attribute> in, out;
  SmallVector<WhyAttr> whys;
  for (Candidate *member : members) {
    auto op = cast<CollectiveOpInterface>(member->op);
    locations.push_back(op.getLoc());
    inputs.push_back(op->getOperand(0));
    types.push_back(op->getResult(0).getType());
    in.push_back(op.getInSharding());
    out.push_back(op.getOutSharding());
    if (auto why = op->getAttrOfType<WhyAttr>(kWhyAttr))
      whys.push_back(why);
  }
  auto first = cast<CollectiveOpInterface>(members.front()->op);
  OpBuilder builder(before);
  auto combined = CombinedOp::create(
      builder, builder.getFusedLoc(locations), types,
      builder.getStringAttr(tp::stringify(getKind(first))), inputs,
      builder.getArrayAttr(in), builder.getArrayAttr(out));
  if (!whys.empty())
    combined->setAttr(kWhyAttr, joinReasons(whys));
  for (auto [member, result] :
       llvm::zip_equal(members, combined.getOutputs())) {
    member->op->getResult(0).replaceAllUsesWith(result);
    member->op->erase();
  }
}

namespace {

struct CombineCollectives
    : tp::impl::CombineCollectivesPassBase<CombineCollectives> {
  using CombineCollectivesPassBase::CombineCollectivesPassBase;

  static SmallVector<Block *> findBlocks(FunctionOpInterface function) {
    SmallVector<Block *> blocks;
    function->walk<WalkOrder::PreOrder>([&](Block *block) {
      if (llvm::any_of(*block, llvm::IsaPred<CollectiveOpInterface>))
        blocks.push_back(block);
    });
    return blocks;
  }

  /// Returns the number of collectives that share a launch with others; nullopt
  /// if nothing has changed.
  static std::optional<int64_t> combine(FunctionOpInterface function,
                                        const Mesh &mesh, int64_t bucket) {
    bool isChanged = false;
    int64_t combined = 0;
    for (Block *block : findBlocks(function)) {
      BlockCombiner combiner(*block, mesh, bucket);
      combiner.run();
      isChanged |= combiner.hasChanged();
      combined += combiner.getNumCombined();
    }
    return isChanged ? std::optional<int64_t>(combined) : std::nullopt;
  }

  /// Returns the largest bucket size with which the program fits into a
  /// device's memory. If there is none, returns the size with which the program
  /// needs the least memory. Returns nullopt if the program needs even less
  /// memory when no collective is moved.
  std::optional<int64_t> findBucket(FunctionOpInterface function,
                                    const Mesh &mesh, int64_t capacity) {
    ShardingTable table(&getContext(), mesh);
    int64_t least = getHeldBytes(function, table);
    if (least + getMovedBytes(function, table) <= capacity)
      return bucketBytes;
    std::optional<int64_t> best;
    for (int64_t bucket = bucketBytes;; bucket /= 4) {
      // Insert the trial next to the function, so that it finds the mesh.
      auto trial =
          cast<FunctionOpInterface>(OpBuilder(function).clone(*function));
      combine(trial, mesh, bucket);
      int64_t held = getHeldBytes(trial, table);
      trial.erase();
      if (held <= capacity)
        return bucket;
      if (held < least || (!best && held == least)) {
        least = held;
        best = bucket;
      }
      if (bucket == 0)
        return best;
    }
  }

  /// An upper bound on the memory that moving collectives can add.
  static int64_t getMovedBytes(FunctionOpInterface function,
                               ShardingTable &table) {
    int64_t bytes = 0;
    function->walk([&](CollectiveOpInterface op) {
      for (Value value :
           llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                               SmallVector<Value>(op->getResults())))
        if (std::optional<LocalTensor> local = getLocalTensor(value, table))
          bytes += local->getBytes();
    });
    return bytes;
  }

  void runOnOperation() override {
    auto device = readMachineOption(getOperation(), machine);
    if (failed(device))
      return signalPassFailure();
    auto capacity = readMemoryOption(getOperation(), "", *device);
    if (failed(capacity))
      return signalPassFailure();
    bool isChanged = false;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (findBlocks(function).empty())
        continue;
      FailureOr<MeshOp> mesh = tp::getMesh(function);
      if (failed(mesh))
        return signalPassFailure();
      Mesh linked = withMachineLinks(mesh->toMesh(), *device);
      std::optional<int64_t> bucket =
          *capacity ? findBucket(function, linked, *capacity) : bucketBytes;
      std::optional<int64_t> combined;
      if (bucket)
        combined = combine(function, linked, *bucket);
      isChanged |= combined.has_value();
      ShardingTable table(&getContext(), linked);
      recordChange(function, PriceKind::Combined, combined.value_or(0), table,
                   *device);
    }
    if (!isChanged) // then verification is not needed again either
      markAllAnalysesPreserved();
  }
};

} // namespace
