// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PackedParts.h"

#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// Returns the dimension of a reshape's result that holds the major part of
/// `dim`, and the number of elements of `dim` per element of the result's
/// dimension.
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

/// Returns the dimension of the op's result that dimension `dim` of an operand
/// becomes, and the number of elements of `dim` per element of the result's
/// dimension. Returns nullopt if the op does anything else along that
/// dimension.
static std::optional<Track> getInResult(OpOperand &use, unsigned dim) {
  Operation *op = use.getOwner();
  if (op->hasTrait<Elementwise>())
    return Track{dim, 1};
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    auto found = llvm::find(transpose.getPermutation(), int64_t(dim));
    return Track{unsigned(found - transpose.getPermutation().begin()), 1};
  }
  // A broadcast or slice must keep every element of `dim`, each exactly once.
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
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (llvm::is_contained(reduce.getDims(), int64_t(dim)))
      return std::nullopt;
    return Track{dim - unsigned(llvm::count_if(
                           reduce.getDims(),
                           [&](int64_t other) { return other < dim; })),
                 1};
  }
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    if (concat.getDim() == dim)
      return std::nullopt;
    return Track{dim, 1};
  }
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

SmallVector<Origin, 2> tp::getOrigins(Operation *op, unsigned dim) {
  SmallVector<Origin, 2> origins;
  for (OpOperand &use : op->getOpOperands())
    for (unsigned own = 0, rank = typeOf(use.get()).getRank(); own < rank;
         ++own)
      if (std::optional<Track> there = getInResult(use, own);
          there && there->dim == dim) {
        origins.push_back({use.getOperandNumber(), own, there->unit, 1});
        break;
      }
  // If a reshape merges dimensions into `dim`, records only the major
  // dimension.
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (reshape && origins.empty())
    if (std::optional<Track> major =
            getReshaped(reshape.getType().getShape(),
                        typeOf(reshape.getInput()).getShape(), dim))
      origins.push_back({0, major->dim, 1, major->unit});
  return origins;
}

SmallVector<std::pair<unsigned, unsigned>, 2>
tp::getOperandDims(const PackedSum &sum) {
  auto einsum = dyn_cast<EinsumOp>(sum.op);
  if (!einsum)
    return {{sum.operand, sum.dim}};
  EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
  char letter = (sum.operand == 0 ? terms.lhs : terms.rhs)[sum.dim];
  StringRef sides[] = {terms.lhs, terms.rhs};
  SmallVector<std::pair<unsigned, unsigned>, 2> dims;
  for (auto [operand, letters] : llvm::enumerate(sides))
    if (size_t dim = letters.find(letter); dim != StringRef::npos)
      dims.push_back({operand, dim});
  return dims;
}

/// Returns true if the op sums over the dimension.
static bool isSum(const PackedSum &sum) {
  if (auto reduce = dyn_cast<ReduceOp>(sum.op))
    return reduce.getKind() == ReductionKind::Sum &&
           llvm::is_contained(reduce.getDims(), int64_t(sum.dim));
  auto einsum = dyn_cast<EinsumOp>(sum.op);
  if (!einsum)
    return false;
  EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
  return !terms.result.contains(
      (sum.operand == 0 ? terms.lhs : terms.rhs)[sum.dim]);
}

std::optional<SmallVector<Interval, 3>> Split::getParts(int64_t size) const {
  int64_t whole = parts.back().end;
  SmallVector<Interval, 3> scaled;
  for (auto [begin, end] : parts) {
    if (begin * size % whole != 0 || end * size % whole != 0)
      return std::nullopt;
    scaled.push_back({begin * size / whole, end * size / whole});
  }
  return scaled;
}

//===----------------------------------------------------------------------===//
// Tracker
//===----------------------------------------------------------------------===//

/// Returns false if a different dimension of the value is already recorded as
/// running along the argument's dimension.
bool Tracker::add(Value value, Track track) {
  const Track &own = open.insert({value, track}).first->second;
  return own.dim == track.dim && own.unit == track.unit;
}

bool Tracker::follow(Value value, unsigned dim) {
  root = value;
  rootTrack = {dim, 1};
  (void)add(value, rootTrack);
  for (size_t i = 0; i < open.size(); ++i) {
    auto [value, track] = open.begin()[i];
    if (value.use_empty())
      return false;
    for (OpOperand &use : value.getUses())
      if (!follow(use, track))
        return false;
  }
  return true;
}

std::optional<Split> Tracker::getSplit() const {
  Split split{rootTrack.dim, {}};
  int64_t end = 0;
  for (const Interval &interval : intervals) {
    if (interval.begin != end)
      return std::nullopt;
    end = interval.end;
    split.parts.push_back(interval);
  }
  if (end != typeOf(root).getDimSize(split.dim) || split.parts.size() < 2)
    return std::nullopt;
  return split;
}

bool Tracker::follow(OpOperand &use, Track track) {
  Operation *op = use.getOwner();
  if (isa<func::ReturnOp>(op))
    return visitReturn(use, track);
  // An attribute that was attached to a value may not hold for its parts.
  if (!op->getDiscardableAttrDictionary().empty() || op->getNumResults() != 1 ||
      op->getBlock() != use.get().getParentBlock())
    return false;
  if (auto next = getInResult(use, track.dim)) {
    between.insert(op);
    return add(op->getResult(0), {next->dim, next->unit * track.unit});
  }
  if (auto slice = dyn_cast<SliceOp>(op))
    return visitSlice(slice, track);
  PackedSum sum{op, use.getOperandNumber(), track.dim};
  if (!isSum(sum))
    return false;
  sums.push_back(sum);
  return true;
}

bool Tracker::visitSlice(SliceOp slice, Track track) {
  int64_t start = slice.getStarts()[track.dim],
          size = slice.getType().getDimSize(track.dim);
  // If the parts are single elements, this is a stack of layers, not a packed
  // matrix.
  if (slice.getStrides()[track.dim] != 1 || size * track.unit < 2)
    return false;
  intervals.insert({start * track.unit, (start + size) * track.unit});
  return slices.insert({slice, track.dim}).first->second == track.dim;
}

/// Accepts a use by the function's return. If the tracked value is an argument,
/// the result must be its updated value: it must have the argument's shape and
/// be tracked along the same dimension. A product with the argument, for
/// example, is not accepted.
bool Tracker::visitReturn(OpOperand &use, Track track) {
  if (isa<BlockArgument>(root) &&
      (typeOf(use.get()).getShape() != typeOf(root).getShape() ||
       track.dim != rootTrack.dim || track.unit != 1))
    return false;
  results.push_back({use.getOperandNumber(), track.dim});
  return true;
}

//===----------------------------------------------------------------------===//
// Parting
//===----------------------------------------------------------------------===//

bool Parting::has(Value value, unsigned dim) {
  if (auto found = known.find({value, dim}); found != known.end())
    return found->second;
  return known[{value, dim}] = find(value, dim);
}

bool Parting::has(const PackedSum &sum) {
  return llvm::all_of(getOperandDims(sum), [&](auto place) {
    return has(sum.op->getOperand(place.first), place.second);
  });
}

bool Parting::find(Value value, unsigned dim) {
  auto wanted = split.getParts(typeOf(value).getDimSize(dim));
  if (!wanted)
    return false;
  Operation *op = value.getDefiningOp();
  if (!op)
    return arguments.contains(value) && dim == split.dim;
  if (!op->getDiscardableAttrDictionary().empty() || op->getNumResults() != 1 ||
      !isa<func::FuncOp>(op->getParentOp()))
    return false;
  if (isa<ConstantOp>(op))
    return true;
  if (auto concat = dyn_cast<ConcatOp>(op); concat && concat.getDim() == dim) {
    std::set<int64_t> ends;
    int64_t end = 0;
    for (Value input : concat.getInputs())
      ends.insert(end += typeOf(input).getDimSize(dim));
    return llvm::all_of(*wanted, [&](const Interval &part) {
      return ends.count(part.end) != 0;
    });
  }
  if (!op->hasTrait<Elementwise>() &&
      !isa<TransposeOp, BroadcastOp, ReshapeOp, SliceOp, EinsumOp, ReduceOp,
           ConcatOp>(op))
    return false;
  SmallVector<Origin, 2> origins = getOrigins(op, dim);
  // Only a broadcast may create a dimension that comes from no operand.
  if (origins.empty() && !isa<BroadcastOp>(op))
    return false;
  if (!llvm::all_of(origins, [&](const Origin &origin) {
        return has(op->getOperand(origin.operand), origin.dim);
      }))
    return false;
  between.insert({op, dim});
  return true;
}
