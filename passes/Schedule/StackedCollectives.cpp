// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StackedCollectives.h"

#include "Conflicts.h"

using namespace mlir;
using namespace tp;
using namespace tp::schedule;

namespace {

/// A collective of all layers. A gather is followed by a copy that puts the
/// devices' parts of each layer next to each other. Before a reduce-scatter, a
/// copy does the reverse. An all-reduce has no copy.
struct Stacked {
  step::CollectiveStartOp start;
  step::CopyOp copy;
  int64_t part = 0;        ///< Elements of a layer that a device has.
  int64_t whole = 0;       ///< Elements of a layer.
  bool isReversed = false; ///< The first iteration uses the last layer.

  bool isGather() { return start.getKind() == step::CollectiveKind::AllGather; }
};

struct Transposition {
  int64_t places, layers, part;
};

/// For each root buffer, the accesses of a block's steps to it, in program
/// order.
class Uses {
public:
  explicit Uses(Block &block) {
    for (Operation &op : block)
      for (const Access &access : getAccesses(&op))
        byRoot[access.root].push_back({&op, access});
  }

  struct Use {
    Operation *step;
    Access access;
  };
  llvm::ArrayRef<Use> get(Value root) const {
    auto it = byRoot.find(root);
    return it == byRoot.end() ? llvm::ArrayRef<Use>()
                              : llvm::ArrayRef<Use>(it->second);
  }

private:
  llvm::DenseMap<Value, std::vector<Use>> byRoot;
};

} // namespace

/// The sizes of a copy from or to a stack, which is [layers, places, part], to
/// or from a buffer [places, layers, part]; none if the copy does something
/// else.
static std::optional<Transposition> readTransposition(Value stack,
                                                      Value packed) {
  auto from = cast<MemRefType>(packed.getType()),
       to = cast<MemRefType>(stack.getType());
  step::Strides outer(from), inner(to);
  if (outer.offset != 0 || inner.offset != 0 || step::isMoving(stack) ||
      step::isMoving(packed))
    return std::nullopt;
  // Merge dimensions that are contiguous in both buffers.
  llvm::SmallVector<int64_t> sizes, packedBy, stackedBy;
  for (auto [size, inPacked, inStack] :
       llvm::zip_equal(from.getShape(), outer.strides, inner.strides)) {
    if (size == 1)
      continue;
    if (!sizes.empty() && packedBy.back() == size * inPacked &&
        stackedBy.back() == size * inStack) {
      sizes.back() *= size;
      packedBy.back() = inPacked;
      stackedBy.back() = inStack;
      continue;
    }
    sizes.push_back(size);
    packedBy.push_back(inPacked);
    stackedBy.push_back(inStack);
  }
  if (sizes.size() != 3)
    return std::nullopt;
  auto [places, layers, part] = std::tuple(sizes[0], sizes[1], sizes[2]);
  llvm::SmallVector<int64_t> wantedPacked = {layers * part, part, 1},
                             wantedStacked = {part, places * part, 1};
  if (packedBy != wantedPacked || stackedBy != wantedStacked)
    return std::nullopt;
  return Transposition{places, layers, part};
}

/// Returns true if each iteration accesses only its own layer of `stack`, from
/// the first layer to the last or in reverse. Unless `mayWrite`, the loop must
/// only read the stack.
static bool usesItsLayer(step::LoopOp loop, Value stack, bool mayWrite,
                         Stacked &stacked) {
  int64_t bytes =
      stacked.whole *
      step::getElementBytes(step::bufferTypeOf(stack).getElementType());
  std::optional<int64_t> moves;
  for (Operation &op : loop.getBody().front())
    for (const Access &access : getAccesses(&op)) {
      if (access.root != stack)
        continue;
      int64_t first = access.moves < 0 ? (loop.getCount() - 1) * bytes : 0;
      if ((access.isWrite && !mayWrite) || std::abs(access.moves) != bytes ||
          moves.value_or(access.moves) != access.moves ||
          access.begin < first || access.end > first + bytes)
        return false;
      moves = access.moves;
    }
  stacked.isReversed = moves.value_or(0) < 0;
  return moves.has_value();
}

/// Returns true if the layers of dense buffers, of `stacked.part` elements for
/// each of the loop's iterations, can be viewed one by one.
static bool hasLayers(const Stacked &stacked, Value parts, step::LoopOp loop) {
  auto type = cast<MemRefType>(parts.getType());
  return step::isDense(parts) &&
         type.getNumElements() == int64_t(loop.getCount()) * stacked.part &&
         stacked.part * step::getElementBytes(type.getElementType()) %
                 step::kArenaAlignment ==
             0;
}

static std::optional<Stacked> readGather(step::CollectiveStartOp start,
                                         step::LoopOp loop, const Uses &uses) {
  Stacked stacked;
  stacked.start = start;
  Value source = step::getRoot(start.getSource()),
        destination = step::getRoot(start.getDestination());
  auto received = uses.get(destination);
  if (start.getKind() != step::CollectiveKind::AllGather ||
      !start->isBeforeInBlock(loop) ||
      !destination.getDefiningOp<step::AllocOp>() || received.size() != 2 ||
      !step::isDense(start.getDestination()))
    return std::nullopt;
  stacked.copy = dyn_cast<step::CopyOp>(received[1].step);
  if (!stacked.copy || step::getRoot(stacked.copy.getSource()) != destination ||
      !stacked.copy->isBeforeInBlock(loop))
    return std::nullopt;
  std::optional<Transposition> sizes = readTransposition(
      stacked.copy.getDestination(), stacked.copy.getSource());
  if (!sizes || sizes->layers != int64_t(loop.getCount()))
    return std::nullopt;
  stacked.part = sizes->part;
  stacked.whole = sizes->places * sizes->part;
  if (!hasLayers(stacked, start.getSource(), loop))
    return std::nullopt;
  // The loop must be the first to use the stack, and the source must not change
  // after the gather.
  Value stack = step::getRoot(stacked.copy.getDestination());
  if (!stack.getDefiningOp<step::AllocOp>())
    return std::nullopt;
  for (const Uses::Use &use : uses.get(stack))
    if (use.step != stacked.copy &&
        (use.access.isWrite || use.step->isBeforeInBlock(loop)))
      return std::nullopt;
  for (const Uses::Use &use : uses.get(source))
    if (use.access.isWrite && start->isBeforeInBlock(use.step) &&
        !loop->isBeforeInBlock(use.step))
      return std::nullopt;
  if (!usesItsLayer(loop, stack, /*mayWrite=*/false, stacked))
    return std::nullopt;
  return stacked;
}

/// Returns true if sums of the layers can be made in `loop`, each as soon as
/// its iteration has computed the layer: no other step changes the stack
/// before `end`, and none uses the destination before the sum's `start`.
static bool canSumInside(step::LoopOp loop, Value stack, Operation *end,
                         const Uses &uses, Stacked &stacked) {
  Value destination = step::getRoot(stacked.start.getDestination());
  if (!stack.getDefiningOp<step::AllocOp>())
    return false;
  for (const Uses::Use &use : uses.get(stack))
    if (loop->isBeforeInBlock(use.step) && use.step->isBeforeInBlock(end) &&
        (use.access.isWrite || stack == destination))
      return false;
  for (const Uses::Use &use : uses.get(destination))
    if (stack != destination && use.step->isBeforeInBlock(stacked.start))
      return false;
  return usesItsLayer(loop, stack, /*mayWrite=*/true, stacked);
}

static std::optional<Stacked> readScatter(step::CollectiveStartOp start,
                                          step::LoopOp loop, const Uses &uses) {
  Stacked stacked;
  stacked.start = start;
  Value source = step::getRoot(start.getSource());
  auto sent = uses.get(source);
  if (start.getKind() != step::CollectiveKind::ReduceScatter ||
      !loop->isBeforeInBlock(start) || !source.getDefiningOp<step::AllocOp>() ||
      sent.size() != 2 || !step::isDense(start.getSource()))
    return std::nullopt;
  stacked.copy = dyn_cast<step::CopyOp>(sent[0].step);
  if (!stacked.copy || step::getRoot(stacked.copy.getDestination()) != source ||
      !loop->isBeforeInBlock(stacked.copy))
    return std::nullopt;
  std::optional<Transposition> sizes = readTransposition(
      stacked.copy.getSource(), stacked.copy.getDestination());
  if (!sizes || sizes->layers != int64_t(loop.getCount()))
    return std::nullopt;
  stacked.part = sizes->part;
  stacked.whole = sizes->places * sizes->part;
  Value stack = step::getRoot(stacked.copy.getSource());
  if (!hasLayers(stacked, start.getDestination(), loop) ||
      stack == step::getRoot(start.getDestination()) ||
      !canSumInside(loop, stack, stacked.copy, uses, stacked))
    return std::nullopt;
  return stacked;
}

static std::optional<Stacked> readAllReduce(step::CollectiveStartOp start,
                                            step::LoopOp loop,
                                            const Uses &uses) {
  Stacked stacked;
  stacked.start = start;
  auto type = cast<MemRefType>(start.getSource().getType());
  if (start.getKind() != step::CollectiveKind::AllReduce ||
      !loop->isBeforeInBlock(start) ||
      type.getNumElements() % loop.getCount() != 0)
    return std::nullopt;
  stacked.part = stacked.whole = type.getNumElements() / loop.getCount();
  if (!hasLayers(stacked, start.getSource(), loop) ||
      !step::isDense(start.getDestination()) ||
      !canSumInside(loop, step::getRoot(start.getSource()), start, uses,
                    stacked))
    return std::nullopt;
  return stacked;
}

static llvm::SmallVector<Stacked> find(step::LoopOp loop) {
  llvm::SmallVector<Stacked> found;
  if (loop.getCount() < 2)
    return found;
  Uses uses(*loop->getBlock());
  for (auto start : loop->getBlock()->getOps<step::CollectiveStartOp>())
    for (auto *readAs : {readGather, readScatter, readAllReduce})
      if (std::optional<Stacked> stacked = readAs(start, loop, uses))
        found.push_back(*stacked);
  return found;
}

Spread schedule::findStacked(step::LoopOp loop) {
  Spread spread;
  for (Stacked &stacked : find(loop))
    (stacked.isGather() ? spread.gathers : spread.sums) = true;
  return spread;
}

int64_t schedule::getStackedSumBytes(step::LoopOp loop) {
  int64_t bytes = 0;
  for (Stacked &stacked : find(loop)) {
    Value source = step::getRoot(stacked.start.getSource()),
          destination = step::getRoot(stacked.start.getDestination());
    if (!stacked.isGather() && source != destination &&
        destination.getDefiningOp<step::AllocOp>())
      bytes += step::getEndByte(step::bufferTypeOf(destination));
  }
  return bytes;
}

/// Creates a view of the iteration's layer, of `size` elements, in a dense
/// buffer of layers.
static Value createLayer(OpBuilder &builder, Stacked &stacked, Value buffer,
                         int64_t size, int64_t layers) {
  Value root = step::getRoot(buffer);
  MemRefType type = step::bufferTypeOf(buffer);
  int64_t first = (stacked.isReversed ? layers - 1 : 0) * size;
  MemRefType layer = step::getBufferType({size}, type.getElementType(), {1},
                                         step::Strides(type).offset + first);
  auto view =
      step::ViewOp::create(builder, stacked.start.getLoc(), layer, root);
  view.setBy(stacked.isReversed ? -size : size);
  return view;
}

/// Erases the views and allocs that make these buffers, if they are unused.
static void eraseUnused(llvm::SmallVector<Value> buffers) {
  for (unsigned i = 0; i < buffers.size(); ++i) {
    Operation *made = buffers[i].getDefiningOp();
    if (!made || !made->use_empty() ||
        llvm::is_contained(llvm::ArrayRef(buffers).drop_front(i + 1),
                           buffers[i]))
      continue;
    llvm::append_range(buffers, made->getOperands());
    made->erase();
  }
}

void schedule::spreadStacked(step::LoopOp loop, Spread spread) {
  int64_t layers = loop.getCount();
  Block *body = &loop.getBody().front();
  OpBuilder ahead = OpBuilder::atBlockBegin(body),
            behind = OpBuilder::atBlockEnd(body);
  for (Stacked &stacked : find(loop)) {
    bool isGather = stacked.isGather();
    if (!(isGather ? spread.gathers : spread.sums))
      continue;
    step::CollectiveStartOp start = stacked.start;
    step::CopyOp copy = stacked.copy;
    OpBuilder &builder = isGather ? ahead : behind;
    Value from = start.getSource(), to = start.getDestination();
    if (isGather)
      to = copy.getDestination();
    else if (copy)
      from = copy.getSource();
    // The loop writes the result before the step that has written it so far.
    if (auto alloc = step::getRoot(to).getDefiningOp<step::AllocOp>();
        alloc && alloc->getBlock() == loop->getBlock() &&
        loop->isBeforeInBlock(alloc))
      alloc->moveBefore(loop);
    Value source = createLayer(builder, stacked, from,
                               isGather ? stacked.part : stacked.whole, layers);
    Value destination = source;
    if (from != to)
      destination =
          createLayer(builder, stacked, to,
                      isGather ? stacked.whole : stacked.part, layers);
    auto own = step::CollectiveStartOp::create(
        builder, start.getLoc(), start.getToken().getType(), start.getKind(),
        start.getReductionAttr(), start.getAxesAttr(), source, destination,
        start.getPermutationAttr());
    own->setDiscardableAttrs(start->getDiscardableAttrDictionary());
    step::CollectiveDoneOp::create(builder, start.getLoc(), own.getToken());
    llvm::SmallVector<Value> unused = {start.getSource(),
                                       start.getDestination()};
    if (copy) {
      unused.append({copy.getSource(), copy.getDestination()});
      copy.erase();
    }
    // Without the first collective, the second one begins the launch.
    if (auto launch = start.getLaunch(); launch.size() > 1)
      launch[1].setJoined(false);
    start.getDone().erase();
    start.erase();
    eraseUnused(std::move(unused));
  }
}
