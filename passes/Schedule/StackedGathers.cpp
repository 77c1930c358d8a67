// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StackedGathers.h"

#include "Conflicts.h"

using namespace mlir;
using namespace tp;
using namespace tp::schedule;

namespace {

/// A gather of all layers, and the copy that puts the devices' parts of each
/// layer next to each other.
struct Stacked {
  step::CollectiveStartOp start;
  step::CopyOp copy;
  int64_t part = 0;        ///< Elements of a layer that a device sends.
  int64_t whole = 0;       ///< Elements of a layer.
  bool isReversed = false; ///< The first iteration uses the last layer.
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

static bool isDense(MemRefType type) {
  step::Strides layout(type);
  return layout.offset == 0 &&
         layout.strides == step::getDenseStrides(type.getShape());
}

/// The sizes of a copy whose source is [places, layers, part] and whose
/// destination is [layers, places, part]; none if the copy does something else.
static std::optional<std::array<int64_t, 3>>
readTransposition(step::CopyOp op) {
  auto from = cast<MemRefType>(op.getSource().getType()),
       to = cast<MemRefType>(op.getDestination().getType());
  step::Strides source(from), destination(to);
  if (source.offset != 0 || destination.offset != 0)
    return std::nullopt;
  // Merge dimensions that are contiguous in both source and destination.
  llvm::SmallVector<int64_t> sizes, reads, writes;
  for (auto [size, read, write] :
       llvm::zip_equal(from.getShape(), source.strides, destination.strides)) {
    if (size == 1)
      continue;
    if (!sizes.empty() && reads.back() == size * read &&
        writes.back() == size * write) {
      sizes.back() *= size;
      reads.back() = read;
      writes.back() = write;
      continue;
    }
    sizes.push_back(size);
    reads.push_back(read);
    writes.push_back(write);
  }
  if (sizes.size() != 3)
    return std::nullopt;
  auto [places, layers, part] = std::tuple(sizes[0], sizes[1], sizes[2]);
  llvm::SmallVector<int64_t> wantedReads = {layers * part, part, 1},
                             wantedWrites = {part, places * part, 1};
  if (reads != wantedReads || writes != wantedWrites)
    return std::nullopt;
  return std::array<int64_t, 3>{places, layers, part};
}

/// Returns true if the loop only reads `stack`, and each iteration reads only
/// its own layer, from the first layer to the last or in reverse.
static bool readsItsLayer(step::LoopOp loop, Value stack, Stacked &stacked) {
  int64_t bytes =
      stacked.whole *
      step::getElementBytes(step::bufferTypeOf(stack).getElementType());
  std::optional<int64_t> moves;
  for (Operation &op : loop.getBody().front())
    for (const Access &access : getAccesses(&op)) {
      if (access.root != stack)
        continue;
      int64_t first = access.moves < 0 ? (loop.getCount() - 1) * bytes : 0;
      if (access.isWrite || std::abs(access.moves) != bytes ||
          moves.value_or(access.moves) != access.moves ||
          access.begin < first || access.end > first + bytes)
        return false;
      moves = access.moves;
    }
  stacked.isReversed = moves.value_or(0) < 0;
  return moves.has_value();
}

static std::optional<Stacked> read(step::CollectiveStartOp start,
                                   step::LoopOp loop, const Uses &uses) {
  Stacked stacked;
  stacked.start = start;
  Value source = step::getRoot(start.getSource()),
        destination = step::getRoot(start.getDestination());
  auto received = uses.get(destination);
  if (start.getKind() != step::CollectiveKind::AllGather ||
      !destination.getDefiningOp<step::AllocOp>() || received.size() != 2 ||
      !isDense(cast<MemRefType>(start.getSource().getType())) ||
      !isDense(cast<MemRefType>(start.getDestination().getType())))
    return std::nullopt;
  stacked.copy = dyn_cast<step::CopyOp>(received[1].step);
  if (!stacked.copy || step::getRoot(stacked.copy.getSource()) != destination)
    return std::nullopt;
  std::optional<std::array<int64_t, 3>> parts = readTransposition(stacked.copy);
  if (!parts)
    return std::nullopt;
  auto [places, layers, part] = *parts;
  stacked.part = part;
  stacked.whole = places * part;
  auto type = cast<MemRefType>(start.getSource().getType());
  constexpr int64_t kAlignment = 64; // of a view that moves with a loop
  if (layers != int64_t(loop.getCount()) ||
      type.getNumElements() != layers * part ||
      part * step::getElementBytes(type.getElementType()) % kAlignment != 0)
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
  if (!readsItsLayer(loop, stack, stacked))
    return std::nullopt;
  return stacked;
}

static llvm::SmallVector<Stacked> find(step::LoopOp loop) {
  llvm::SmallVector<Stacked> found;
  if (loop.getCount() < 2)
    return found;
  Uses uses(*loop->getBlock());
  for (auto start : loop->getBlock()->getOps<step::CollectiveStartOp>())
    if (start->isBeforeInBlock(loop))
      if (std::optional<Stacked> stacked = read(start, loop, uses))
        found.push_back(*stacked);
  return found;
}

bool schedule::hasStackedGathers(step::LoopOp loop) {
  return !find(loop).empty();
}

/// Creates a view of the iteration's layer, of `size` elements, in a dense
/// buffer of layers.
static Value createLayer(OpBuilder &builder, Stacked stacked, Value buffer,
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

void schedule::spreadStackedGathers(step::LoopOp loop) {
  int64_t layers = loop.getCount();
  OpBuilder builder = OpBuilder::atBlockBegin(&loop.getBody().front());
  for (const Stacked &stacked : find(loop)) {
    step::CollectiveStartOp start = stacked.start;
    step::CopyOp copy = stacked.copy;
    Value source = createLayer(builder, stacked, start.getSource(),
                               stacked.part, layers),
          destination = createLayer(builder, stacked, copy.getDestination(),
                                    stacked.whole, layers);
    auto own = step::CollectiveStartOp::create(
        builder, start.getLoc(), start.getToken().getType(), start.getKind(),
        start.getReductionAttr(), start.getAxesAttr(), source, destination,
        start.getPermutationAttr());
    own->setDiscardableAttrs(start->getDiscardableAttrDictionary());
    step::CollectiveDoneOp::create(builder, start.getLoc(), own.getToken());
    // Erase the views and allocs that make these buffers, if now unused.
    llvm::SmallVector<Value> unused = {copy.getSource(), copy.getDestination(),
                                       start.getSource(),
                                       start.getDestination()};
    copy.erase();
    (*start.getToken().user_begin())->erase();
    start.erase();
    for (unsigned i = 0; i < unused.size(); ++i) {
      Operation *made = unused[i].getDefiningOp();
      if (!made || !made->use_empty() ||
          llvm::is_contained(llvm::ArrayRef(unused).drop_front(i + 1),
                             unused[i]))
        continue;
      llvm::append_range(unused, made->getOperands());
      made->erase();
    }
  }
}
