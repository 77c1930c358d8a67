// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Collectives/BlockCombiner.h"

#include "passes/Collectives/Deferral.h"

#include "lib/Cost/ProgramCost.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/SetVector.h"

#include <deque>
#include <map>

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::spmd;

/// A launch is full when it takes this many start latencies: sharing its start
/// with one more collective would save little, and delay the first results.
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

/// Moves constants to their first users, since a constant occupies memory from
/// its definition on. Single numbers stay.
static void sinkConstants(Block &block) {
  llvm::DenseMap<Operation *, unsigned> places;
  SmallVector<Operation *> ops;
  for (Operation &op : block) {
    places[&op] = ops.size();
    ops.push_back(&op);
  }
  for (Operation *op : ops) {
    if (op->getNumOperands() > 0 || op->getNumRegions() > 0 ||
        op->use_empty() || !isPure(op) ||
        cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 0)
      continue;
    unsigned first = ops.size();
    for (Operation *user : op->getUsers())
      first =
          std::min(first, places.lookup(block.findAncestorOpInBlock(*user)));
    op->moveBefore(ops[first]);
  }
}

namespace {

/// The properties that all collectives of one launch share: their group, and
/// who asked for them.
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
  bool isNeeded = false; ///< The current op waits for it.
};

/// Collectives that may share a launch, in program order.
struct Queue {
  std::deque<Candidate *> ready; ///< Operands available; may be issued already.
  std::deque<Candidate *> later; ///< The rest; some may be ready by now.
  /// Total of what the ready ones fill that are not issued yet. Gathers do not
  /// count unless they free memory: they need not be sent soon.
  int64_t fill = 0;
};

struct Candidate {
  Operation *op = nullptr;
  int64_t bytes = 0;
  /// The part of a launch that it fills, as bytes of a bucket: its own bytes,
  /// or more behind a slow link (kMostStarts).
  int64_t fill = 0;
  /// Null if the collective is issued alone.
  Queue *queue = nullptr;
  /// No other op needs the operand of the collective, and the result takes less
  /// memory than the operand, or no memory at all.
  bool frees = false;
  /// A sum whose operand no other op needs.
  bool isSum = false;
  bool isGather = false;
  /// `source` is the candidate that computes the operand of this collective, or
  /// null. The `dependents` use its result.
  Candidate *source = nullptr;
  SmallVector<Candidate *, 1> dependents;
  SmallVector<Waiter *, 1> waiters;
  unsigned number = 0; ///< In program order.
  bool isReady = false;
  bool isIssued = false;
  bool isNeeded = false; ///< The current op waits for it.

  /// Returns true if it counts among what fills a bucket.
  bool fills() const { return frees || !isGather; }
  /// Returns true if a launch of `first` and others, of `total` bytes so far,
  /// may take the collective along before its result is needed. The result of a
  /// gather takes more memory than its operand from then on. So a gather that
  /// is as much as all the rest only goes along with a gather of its type.
  bool mayJoin(const Candidate &first, int64_t total) const {
    return !isGather || isNeeded || bytes < total ||
           (first.isGather && getElementTypeOrSelf(op->getResult(0)) ==
                                  getElementTypeOrSelf(first.op->getResult(0)));
  }
};

/// Collectives that are issued as one, in any order.
struct Launch {
  SmallVector<Candidate *> members;
  int64_t bytes = 0, fill = 0; ///< Totals of the members.

  void add(Candidate &candidate) {
    members.push_back(&candidate);
    bytes += candidate.bytes;
    fill += candidate.fill;
  }
};

/// Goes through a block in order. Every collective is put off until an op needs
/// its result; then it is issued together with all collectives along its axes
/// whose operands are available. This minimizes the number of launches, like
/// the greedy algorithm that stabs intervals on a line with the fewest points:
/// it always adds a point where the first unstabbed interval ends. An op that
/// may also be put off (Deferral.h) needs its operands only when its own result
/// is needed. Operands that need only a few more ops, none of which waits for a
/// collective, are computed first: q, k and v of a layer are gathered in one
/// launch even if the program uses the gathered q before it computes k.
///
/// A collective that frees memory waits only until there are enough along its
/// axes to fill a bucket; otherwise the unsharded gradients of all layers would
/// stay in memory until the first of them is needed. A bucket that is full of
/// sums does not wait either: it cannot grow, and can be sent during the
/// following ops.
class BlockCombiner {
public:
  BlockCombiner(Block &block, const Mesh &mesh, const LaunchRules &rules)
      : block(block), mesh(mesh), rules(rules) {}

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
        need(*candidate);
      for (Waiter *waiter : needsWaiter.lookup(op))
        need(*waiter);
      for (Candidate *candidate : needs.lookup(op))
        issue(*candidate, op);
      for (Waiter *waiter : needsWaiter.lookup(op))
        demand(*waiter, op);
      for (Candidate *candidate : madeBy.lookup(op))
        setReady(*candidate, op->getNextNode());
    }
    if (result.isChanged)
      sinkConstants(block);
  }

  CombineResult result;

private:
  void collect();
  void connect(Candidate &candidate);
  Key getKey(CollectiveOpInterface op, const ReshardStep &step);
  int64_t getFill(const ReshardStep &step, int64_t bytes) const;
  /// What a launch of `first` sends now.
  Launch select(Candidate &first) const;
  void issue(Candidate &candidate, Operation *before);
  void combine(ArrayRef<Candidate *> members, Operation *before);

  /// Marks a candidate as ready. Its operand must be available before op `at`.
  void setReady(Candidate &candidate, Operation *at);

  /// Prepares the launch of `first` before op `before`. Another collective can
  /// share the launch only if its operand is computed before the launch. So the
  /// ops that compute such operands are moved to the place before `before`.
  void makeOperands(Queue &queue, Candidate &first, Operation *before);
  /// The ops, from the current one on, that compute the candidate's operand, in
  /// program order. None if one of them waits for a collective, if there are
  /// too many, or if their other results take much more memory than the
  /// collective moves.
  std::optional<SmallVector<Operation *>>
  findMakers(const Candidate &candidate);

  /// Puts off an op that may wait, if it needs collectives that are put off.
  /// Returns true if it was put off.
  bool defer(Operation *op);
  /// Marks what the current op waits for.
  void need(Candidate &candidate);
  void need(Waiter &waiter);
  /// Makes the waiter's result available before an op.
  void demand(Waiter &waiter, Operation *before);
  /// Records that one more operand of each op in `waiting` is available.
  void release(ArrayRef<Waiter *> waiting, Operation *before);

  Block &block;
  const Mesh &mesh;
  const LaunchRules &rules;
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
  Key key{uintptr_t(isRequested(op)), uintptr_t(isAlongManualAxes(op)),
          uintptr_t(!rules.mixed && isReduction(step.kind))};
  for (const AxisRef &axis : getGroupAxes(step))
    llvm::append_values(key, uintptr_t(axis.axis), uintptr_t(axis.pre),
                        uintptr_t(axis.size));
  return key;
}

/// A collective whose fill exceeds a bucket is issued alone.
int64_t BlockCombiner::getFill(const ReshardStep &step, int64_t bytes) const {
  if (!mesh.hasLinks)
    return bytes;
  Link link = getLink(mesh, step.axes);
  double time =
             link.beta * getWireElements(step.kind, step.getGroupSize(), bytes),
         full = kMostStarts * link.alpha;
  if (time > full)
    return std::max(bytes, rules.bucketBytes + 1);
  double share = full > 0 ? time / full : 0;
  return std::max(bytes, int64_t(share * double(rules.bucketBytes)));
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
    candidate.fill = getFill(step, bytes);
    if (candidate.fill <= rules.bucketBytes) {
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
    candidate.isGather = step.kind == CollectiveKind::AllGather;
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
    if (candidate.fills())
      queue->fill += candidate.fill;
  }
  bool isFull = queue && queue->fill >= rules.bucketBytes;
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

void BlockCombiner::makeOperands(Queue &queue, Candidate &first,
                                 Operation *before) {
  constexpr unsigned kMostTries = 8, kMostLooks = 64;
  unsigned tries = 0, looks = 0;
  Launch launch = select(first);
  auto isDone = [](Candidate *candidate) {
    return candidate->isReady || candidate->isIssued;
  };
  while (!queue.later.empty() && isDone(queue.later.front()))
    queue.later.pop_front();
  for (size_t i = 0;
       i < queue.later.size() && tries < kMostTries && looks < kMostLooks;
       ++i) {
    Candidate *candidate = queue.later[i];
    if (isDone(candidate))
      continue;
    ++looks;
    if (candidate->source ||
        launch.fill + candidate->fill > rules.bucketBytes ||
        !candidate->mayJoin(first, launch.bytes))
      continue;
    ++tries;
    std::optional<SmallVector<Operation *>> makers = findMakers(*candidate);
    if (!makers)
      continue;
    for (Operation *op : *makers) {
      result.isChanged = true;
      op->moveBefore(before);
      hoisted.insert(op);
    }
    for (Operation *op : *makers)
      for (Candidate *made : madeBy.lookup(op))
        setReady(*made, before);
    if (first.isIssued) // along with one that fills a bucket
      return;
    launch = select(first);
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

void BlockCombiner::need(Candidate &candidate) {
  if (candidate.isIssued || std::exchange(candidate.isNeeded, true))
    return;
  if (candidate.source)
    need(*candidate.source);
  else if (Waiter *waiter =
               waiterOf.lookup(candidate.op->getOperand(0).getDefiningOp()))
    need(*waiter);
}

void BlockCombiner::need(Waiter &waiter) {
  if (waiter.isPlaced || std::exchange(waiter.isNeeded, true))
    return;
  for (Waiter *source : waiter.sources)
    need(*source);
  for (Candidate *candidate : waiter.candidates)
    need(*candidate);
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
    result.isChanged |= waiter->op->getNextNode() != before;
    for (Operation *op : waiter->company)
      op->moveBefore(before);
    waiter->op->moveBefore(before);
    deferred.erase(waiter->op);
    for (Operation *op : waiter->company)
      deferred.erase(op);
    for (Candidate *candidate : madeBy.lookup(waiter->op))
      setReady(*candidate, before);
    release(waiter->dependents, before);
  }
}

Launch BlockCombiner::select(Candidate &first) const {
  Launch launch;
  launch.add(first);
  if (!first.queue)
    return launch;
  // Whether a gather may join depends on the total of the rest.
  for (bool isGather : {first.isGather, !first.isGather})
    for (Candidate *next : first.queue->ready) {
      if (next == &first || next->isIssued || next->isGather != isGather ||
          !next->mayJoin(first, launch.bytes))
        continue;
      if (launch.fill + next->fill > rules.bucketBytes)
        break;
      launch.add(*next);
    }
  return launch;
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
  SmallVector<Candidate *> members = select(candidate).members;
  for (Candidate *member : members) {
    member->isIssued = true;
    if (member->queue && member->isReady && member->fills())
      member->queue->fill -= member->fill;
  }
  if (candidate.queue)
    llvm::erase_if(candidate.queue->ready,
                   [](Candidate *ready) { return ready->isIssued; });
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
    result.isChanged = true;
    return op->moveBefore(before);
  }
  result.isChanged = true;
  result.combined += members.size();
  auto sums = [](const Candidate *member) {
    return isReduction(getKind(cast<CollectiveOpInterface>(member->op)));
  };
  result.isMixed |= llvm::any_of(members, sums) && !llvm::all_of(members, sums);
  SmallVector<Location> locations;
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  SmallVector<Attribute> kinds, in, out;
  SmallVector<WhyAttr> whys;
  OpBuilder builder(before);
  for (Candidate *member : members) {
    auto op = cast<CollectiveOpInterface>(member->op);
    kinds.push_back(builder.getStringAttr(tp::stringify(getKind(op))));
    locations.push_back(op.getLoc());
    inputs.push_back(op->getOperand(0));
    types.push_back(op->getResult(0).getType());
    in.push_back(op.getInSharding());
    out.push_back(op.getOutSharding());
    if (auto why = op->getAttrOfType<WhyAttr>(kWhyAttr))
      whys.push_back(why);
  }
  auto combined =
      CombinedOp::create(builder, builder.getFusedLoc(locations), types,
                         builder.getArrayAttr(kinds), inputs,
                         builder.getArrayAttr(in), builder.getArrayAttr(out));
  if (!whys.empty())
    combined->setAttr(kWhyAttr, joinReasons(whys));
  for (auto [member, result] :
       llvm::zip_equal(members, combined.getOutputs())) {
    member->op->getResult(0).replaceAllUsesWith(result);
    member->op->erase();
  }
}

CombineResult tp::combineCollectives(Block &block, const Mesh &mesh,
                                     const LaunchRules &rules) {
  BlockCombiner combiner(block, mesh, rules);
  combiner.run();
  return combiner.result;
}
