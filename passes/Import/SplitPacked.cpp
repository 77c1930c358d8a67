// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-split-packed: q, k and v in one weight become a weight each.
//
//     %y = einsum %x, %w            : .. x 12        %q = einsum %x, %w0 : .. x
//     8 %q = slice %y [0, 8)                      ->   %k = einsum %x, %w1 : ..
//     x 4 %k = slice %y [8, 12)
//
// A block of %w along its columns would have parts of both on some device, and
// slices would move them. Of one argument each, both are cut from end to end.

#include "dialects/TP/Interface.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Passes/Import/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <map>
#include <set>

namespace tp {
#define GEN_PASS_DEF_SPLITPACKEDPASS
#include "tpopt/Passes/Import/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

/// Elements [begin, end) of a dimension.
struct Interval {
  int64_t begin, end;

  bool operator<(const Interval &o) const {
    return std::pair(begin, end) < std::pair(o.begin, o.end);
  }
  bool operator==(const Interval &o) const {
    return begin == o.begin && end == o.end;
  }
};

/// How an argument is split: its parts along `dim`, in order.
struct Split {
  unsigned dim;
  SmallVector<Interval, 3> parts;

  bool operator==(const Split &o) const {
    return dim == o.dim && parts == o.parts;
  }
};

/// A dimension of a value that runs along the dimension of an argument: element
/// i is made of `unit` elements there, from i * unit on.
struct Track {
  unsigned dim;
  int64_t unit;
};

/// Follows a dimension of an argument through all that is made of it, down to
/// the slices that take it apart.
class Tracker {
public:
  /// The split that the slices ask for, if they are all there is and take each
  /// element.
  std::optional<Split> find(BlockArgument argument, unsigned dim);

  /// Every slice and the dimension that it cuts; what is between.
  llvm::MapVector<Operation *, unsigned> slices;
  llvm::SetVector<Operation *> between;

private:
  bool add(Value value, Track track);
  bool follow(OpOperand &use, Track track);
  bool visitSlice(SliceOp slice, Track track);

  llvm::MapVector<Value, Track> open;
  std::set<Interval> intervals;
};

/// Rewrites one function.
class Splitter {
public:
  explicit Splitter(func::FuncOp function) : function(function) {}

  /// `tracker` has found the split.
  void add(BlockArgument argument, const Split &split, const Tracker &tracker);
  void run();

private:
  void addParts(BlockArgument whole, const Split &split);
  void replace(SliceOp slice, unsigned dim);
  /// Elements of a dimension of a value, computed without the others where its
  /// op is between a weight and a slice, or moves what it is made of.
  Value cut(Value value, unsigned dim, Interval interval);
  Value cutOp(Operation *op, unsigned dim, Interval interval);

  func::FuncOp function;
  llvm::MapVector<Operation *, unsigned> slices;
  llvm::SetVector<Operation *> between;
  llvm::MapVector<Value, Split> splits;
  llvm::DenseMap<Value, SmallVector<Value>> parts;
  std::map<std::tuple<void *, unsigned, Interval>, Value> known;
};

} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// The dimension of a reshape's result that elements of `dim` are counted by,
/// and by how many elements of `dim` it counts.
static std::optional<Track> getReshaped(ArrayRef<int64_t> from,
                                        ArrayRef<int64_t> to, unsigned dim) {
  int64_t before = ShapedType::getNumElements(from.take_front(dim));
  int64_t behind = ShapedType::getNumElements(from.drop_front(dim + 1));
  int64_t product = 1;
  for (auto [place, size] : llvm::enumerate(to)) {
    if (product == before && size > 1) {
      int64_t inner = ShapedType::getNumElements(to.drop_front(place + 1));
      if (behind == 0 || inner % behind != 0 || from[dim] % size != 0 ||
          inner / behind * size != from[dim])
        return std::nullopt;
      return Track{unsigned(place), inner / behind};
    }
    product *= size;
  }
  return std::nullopt;
}

/// Where the dimension of an operand is in the result of its op, and the factor
/// of the unit; none if something else happens along it.
static std::optional<Track> getInResult(OpOperand &use, unsigned dim) {
  Operation *op = use.getOwner();
  if (op->hasTrait<Elementwise>())
    return Track{dim, 1};
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    auto found = llvm::find(transpose.getPermutation(), int64_t(dim));
    return Track{unsigned(found - transpose.getPermutation().begin()), 1};
  }
  // What these repeat or leave out is another dimension.
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    auto there = unsigned(broadcast.getDims()[dim]);
    if (broadcast.getType().getDimSize(there) !=
        typeOf(use.get()).getDimSize(dim))
      return std::nullopt;
    return Track{there, 1};
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    if (slice.getType().getDimSize(dim) != typeOf(use.get()).getDimSize(dim))
      return std::nullopt;
    return Track{dim, 1};
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return getReshaped(typeOf(reshape.getInput()).getShape(),
                       reshape.getType().getShape(), dim);
  auto einsum = dyn_cast<EinsumOp>(op);
  if (!einsum)
    return std::nullopt;
  EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
  bool isLeft = use.getOperandNumber() == 0;
  char letter = (isLeft ? terms.lhs : terms.rhs)[dim];
  size_t place = terms.result.find(letter);
  if (place == StringRef::npos ||
      (isLeft ? terms.rhs : terms.lhs).contains(letter))
    return std::nullopt;
  return Track{unsigned(place), 1};
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

/// Whether the value has no other dimension that runs along the argument's.
bool Tracker::add(Value value, Track track) {
  const Track &own = open.insert({value, track}).first->second;
  return own.dim == track.dim && own.unit == track.unit;
}

std::optional<Split> Tracker::find(BlockArgument argument, unsigned dim) {
  (void)add(argument, {dim, 1});
  for (size_t i = 0; i < open.size(); ++i) {
    auto [value, track] = open.begin()[i];
    if (value.use_empty())
      return std::nullopt;
    for (OpOperand &use : value.getUses())
      if (!follow(use, track))
        return std::nullopt;
  }
  Split split{dim, {}};
  int64_t end = 0;
  for (const Interval &interval : intervals) {
    if (interval.begin != end)
      return std::nullopt;
    end = interval.end;
    split.parts.push_back(interval);
  }
  if (end != typeOf(argument).getDimSize(dim) || split.parts.size() < 2)
    return std::nullopt;
  return split;
}

bool Tracker::follow(OpOperand &use, Track track) {
  Operation *op = use.getOwner();
  // What somebody said of a value is said of no part of it.
  if (!op->getDiscardableAttrDictionary().empty() || op->getNumResults() != 1 ||
      op->getBlock() != use.get().getParentBlock())
    return false;
  if (auto next = getInResult(use, track.dim)) {
    between.insert(op);
    return add(op->getResult(0), {next->dim, next->unit * track.unit});
  }
  auto slice = dyn_cast<SliceOp>(op);
  return slice && visitSlice(slice, track);
}

bool Tracker::visitSlice(SliceOp slice, Track track) {
  int64_t start = slice.getStarts()[track.dim],
          size = slice.getType().getDimSize(track.dim);
  // Parts of single elements are a stack of layers, not one packed matrix.
  if (slice.getStrides()[track.dim] != 1 || size * track.unit < 2)
    return false;
  intervals.insert({start * track.unit, (start + size) * track.unit});
  return slices.insert({slice, track.dim}).first->second == track.dim;
}

/// Whether an argument is a stored tensor as it is, so that parts of it are
/// loaded, and that nothing else has to be said of them.
static bool isWholeWeight(func::FuncOp function, unsigned index) {
  auto source = function.getArgAttrOfType<SourceAttr>(index, kSourceAttr);
  auto name = function.getArgAttrOfType<StringAttr>(index, kNameAttr);
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
  if (!source || !name || !type || source.getTensor() != name ||
      function.getArgAttr(index, kDonatedAttr) ||
      function.getArgAttr(index, spmd::kShardingAttr))
    return false;
  return source.getStored() == type.getShape() &&
         source.getSize() == type.getShape() &&
         source.getView() == type.getShape() &&
         llvm::equal(source.getPermutation(),
                     llvm::seq<int64_t>(0, type.getRank()));
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

void Splitter::add(BlockArgument argument, const Split &split,
                   const Tracker &tracker) {
  splits.insert({argument, split});
  for (const auto &entry : tracker.slices)
    slices.insert(entry);
  between.insert_range(tracker.between);
}

void Splitter::addParts(BlockArgument whole, const Split &split) {
  MLIRContext *context = function.getContext();
  unsigned index = whole.getArgNumber();
  auto source = function.getArgAttrOfType<SourceAttr>(index, kSourceAttr);
  for (auto [number, part] : llvm::enumerate(split.parts)) {
    SmallVector<int64_t> start(source.getStart()), size(source.getSize());
    start[split.dim] = part.begin;
    size[split.dim] = part.end - part.begin;
    NamedAttrList attributes(function.getArgAttrDict(index));
    attributes.set(kNameAttr,
                   StringAttr::get(context, source.getTensor().getValue() +
                                                "#" + Twine(number)));
    attributes.set(kSourceAttr, SourceAttr::get(context, source.getTensor(),
                                                source.getStored(), start, size,
                                                size, source.getPermutation()));
    unsigned place = index + 1 + number;
    (void)function.insertArgument(place, typeOf(whole).clone(size),
                                  attributes.getDictionary(context),
                                  whole.getLoc());
    parts[whole].push_back(function.getArgument(place));
  }
}

Value Splitter::cut(Value value, unsigned dim, Interval interval) {
  auto [begin, end] = interval;
  if (begin == 0 && end == typeOf(value).getDimSize(dim))
    return value;
  Value &result = known[{value.getAsOpaquePointer(), dim, interval}];
  if (result)
    return result;
  if (auto found = splits.find(value);
      found != splits.end() && found->second.dim == dim)
    for (auto [part, own] : llvm::zip_equal(parts[value], found->second.parts))
      if (own == interval)
        return result = part;
  Operation *op = value.getDefiningOp();
  if (op && op->getDiscardableAttrDictionary().empty() &&
      (between.contains(op) || isa<BroadcastOp, ReshapeOp, ConvertOp>(op)))
    if (Value made = cutOp(op, dim, interval))
      return result = made;
  SmallVector<int64_t> shape(typeOf(value).getShape()), starts(shape.size(), 0),
      strides(shape.size(), 1);
  starts[dim] = begin;
  shape[dim] = end - begin;
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfterValue(value);
  return result = SliceOp::create(builder, value.getLoc(),
                                  typeOf(value).clone(shape), value, starts,
                                  strides);
}

Value Splitter::cutOp(Operation *op, unsigned dim, Interval interval) {
  SmallVector<Value> operands(op->getOperands());
  for (OpOperand &use : op->getOpOperands())
    for (int64_t own = 0, rank = typeOf(use.get()).getRank(); own < rank; ++own)
      if (std::optional<Track> there = getInResult(use, own);
          there && there->dim == dim) {
        operands[use.getOperandNumber()] =
            cut(use.get(), own,
                {interval.begin * there->unit, interval.end * there->unit});
        break;
      }
  // A broadcast that makes the dimension makes less of it.
  if (!isa<BroadcastOp>(op) && llvm::equal(operands, op->getOperands()))
    return {};
  SmallVector<int64_t> shape(typeOf(op->getResult(0)).getShape());
  shape[dim] = interval.end - interval.begin;
  OpBuilder builder(op);
  Operation *part = builder.clone(*op);
  part->setOperands(operands);
  part->getResult(0).setType(typeOf(op->getResult(0)).clone(shape));
  return part->getResult(0);
}

void Splitter::replace(SliceOp slice, unsigned dim) {
  SmallVector<int64_t> starts(slice.getStarts());
  int64_t begin = starts[dim], size = slice.getType().getDimSize(dim);
  Value value = cut(slice.getInput(), dim, {begin, begin + size});
  if (value.getType() != slice.getType()) {
    starts[dim] = 0;
    OpBuilder builder(slice);
    value = SliceOp::create(builder, slice.getLoc(), slice.getType(), value,
                            starts, slice.getStrides());
  }
  slice.getResult().replaceAllUsesWith(value);
}

void Splitter::run() {
  for (auto &[argument, split] : splits)
    addParts(cast<BlockArgument>(argument), split);
  for (auto [slice, dim] : slices)
    replace(cast<SliceOp>(slice), dim);
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  for (const auto &entry : splits)
    (void)function.eraseArgument(
        cast<BlockArgument>(entry.first).getArgNumber());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct SplitPackedPass : tp::impl::SplitPackedPassBase<SplitPackedPass> {
  using SplitPackedPassBase::SplitPackedPassBase;

  void runOnOperation() override {
    auto entries = llvm::filter_to_vector(
        getOperation().getOps<func::FuncOp>(), [](func::FuncOp function) {
          return isEntry(function) && function.getBody().hasOneBlock();
        });
    for (func::FuncOp function : entries)
      for (BlockArgument argument : function.getArguments())
        find(function, argument);
    for (func::FuncOp function : entries) {
      Splitter splitter(function);
      bool isAny = false;
      for (BlockArgument argument : function.getArguments())
        if (auto found = trackers.find(argument); found != trackers.end())
          if (std::optional<Split> split =
                  byName[getInputName(function, argument.getArgNumber())]) {
            splitter.add(argument, *split, found->second);
            isAny = true;
          }
      if (isAny)
        splitter.run();
    }
    byName.clear();
    trackers.clear();
  }

private:
  /// Entries that share a storage split it alike, or not at all.
  void find(func::FuncOp function, BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    std::optional<Split> split;
    if (isWholeWeight(function, index))
      for (int64_t dim = 0, e = typeOf(argument).getRank(); dim < e && !split;
           ++dim) {
        Tracker tracker;
        split = tracker.find(argument, dim);
        if (split)
          trackers.insert({argument, std::move(tracker)});
      }
    auto [entry, isNew] =
        byName.try_emplace(getInputName(function, index), split);
    if (!isNew && !(entry->second == split))
      entry->second = std::nullopt;
  }

  llvm::DenseMap<StringAttr, std::optional<Split>> byName;
  llvm::DenseMap<Value, Tracker> trackers;
};
} // namespace
