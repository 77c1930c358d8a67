// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SpliceShrinker.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

#include <set>

using namespace mlir;
using namespace tp;

/// The largest number of distances that a window may have.
static constexpr size_t kMostDistances = 8;
static constexpr int64_t kMostDevices = 128;

/// Returns the rows of the input that `piece` contains. A piece with a negative
/// stride contains them in reverse.
static BlockRows getSource(const Piece &piece) {
  if (piece.stride > 0)
    return {piece.start, piece.start + piece.size};
  return {piece.start - piece.size + 1, piece.start + 1};
}

/// Divides `rows` into blocks and a rest of at most half a block, which may be
/// negative.
static std::pair<int64_t, int64_t> divide(int64_t rows, int64_t block) {
  int64_t blocks = (2 * rows + block) / (2 * block);
  return {blocks, rows - blocks * block};
}

static int64_t toRing(int64_t distance, int64_t devices) {
  return (distance % devices + devices) % devices;
}

int64_t SpliceShrinker::mapRows(int64_t rows) const {
  auto [blocks, rest] = divide(rows, large.block);
  return blocks * small.block + rest;
}

/// The known number nearest to `number`.
static std::map<int64_t, int64_t>::const_iterator
findNearest(const std::map<int64_t, int64_t> &known, int64_t number) {
  auto above = known.lower_bound(number);
  if (above == known.begin())
    return above;
  auto below = std::prev(above);
  return above == known.end() || number - below->first < above->first - number
             ? below
             : above;
}

int64_t SpliceShrinker::mapPlace(int64_t place) const {
  auto nearest = findNearest(places, place);
  return nearest->second + (place - nearest->first);
}

int64_t SpliceShrinker::mapDistance(int64_t distance) const {
  int64_t wanted = toRing(distance, large.devices);
  auto nearest = findNearest(distances, wanted);
  int64_t found =
      toRing(nearest->second + (wanted - nearest->first), small.devices);
  if (nearest->first == wanted)
    return found;
  // Map a distance that no window uses to a distance that no window of the
  // small splice uses.
  auto isAsked = [&](int64_t d) {
    return llvm::any_of(distances,
                        [&](const auto &entry) { return entry.second == d; });
  };
  while (isAsked(found))
    found = (found + 1) % small.devices;
  return found;
}

bool SpliceShrinker::findWindows(Numbers &numbers) const {
  BlockLayout to{numbers.lengths.back(), numbers.devices};
  for (auto [i, piece] : llvm::enumerate(numbers.pieces)) {
    std::optional<Window> &window = numbers.windows.emplace_back();
    if (sources[i] < 0)
      continue;
    BlockLayout from{numbers.lengths[i], isCut[i] ? numbers.devices : 1};
    window = getWindow(from, to, piece, kMostDistances);
    if (!window)
      return false;
  }
  return true;
}

bool SpliceShrinker::read(SpliceOp op, ArrayRef<TensorSharding> layouts) {
  int64_t dim = op.getDim(), at = 0;
  large.devices = tp::getSize(layouts.back().dims[dim].axes);
  int64_t length = op.getType().getDimSize(dim);
  large.block = BlockLayout{length, large.devices}.block();
  if (large.devices == 1)
    return false;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    large.pieces.push_back(
        {op.getStarts()[i], at, op.getSizes()[i], op.getStride(i)});
    at += op.getSizes()[i];
    auto type = cast<RankedTensorType>(input.getType());
    bool isScalar = type.getRank() == 0;
    large.lengths.push_back(isScalar ? 0 : type.getDimSize(dim));
    isCut.push_back(!isScalar && tp::getSize(layouts[i].dims[dim].axes) > 1);
    // The counts assume that the rows of a piece are adjacent.
    int64_t stride = op.getStride(i);
    if (std::abs(stride) != 1 || (stride < 0 && !isCut.back()))
      return false;
    sources.push_back(isScalar ? -1
                               : int(llvm::find(op.getInputs(), input) -
                                     op.getInputs().begin()));
    // If blocks differ in size, distances depend on the position of the device.
    if (isCut.back() &&
        (layouts[i].dims[dim].axes != layouts.back().dims[dim].axes ||
         BlockLayout{large.lengths.back(), large.devices}.block() !=
             large.block))
      return false;
  }
  large.lengths.push_back(length);
  isCut.push_back(true);
  return findWindows(large);
}

/// Returns the number of rows of a segment after shrinking. A segment lies
/// between two neighbouring ends of pieces. `isCut` is false if every device
/// holds the whole tensor. The segment then keeps all its blocks, since devices
/// read different parts of the tensor.
int64_t SpliceShrinker::shrinkSegment(int64_t rows, int64_t blocksKept,
                                      bool isCut) const {
  auto [blocks, rest] = divide(rows, large.block);
  if (isCut)
    blocks = std::min(blocks, blocksKept);
  return blocks * small.block + rest;
}

/// Shrinks the splice to blocks of `block` rows and at most `blocksKept` blocks
/// in a segment, and stores the sizes in `small`. Returns false if these sizes
/// do not describe a splice.
bool SpliceShrinker::shrink(int64_t block, int64_t blocksKept) {
  small = Numbers();
  small.block = block;
  small.lengths.assign(large.lengths.size(), 0);
  small.pieces.resize(large.pieces.size());
  bool isSplice = true;
  // Handle all pieces of one tensor together, since they may overlap.
  for (auto [first, source] : llvm::enumerate(sources)) {
    if (source >= 0 && source != int(first))
      continue;
    std::set<int64_t> ends = {0, large.lengths[first]};
    SmallVector<unsigned> own;
    for (unsigned i = first; i < sources.size(); ++i)
      if (i == first || (source >= 0 && sources[i] == source)) {
        own.push_back(i);
        BlockRows rows = getSource(large.pieces[i]);
        ends.insert({rows.begin, rows.end});
      }
    std::map<int64_t, int64_t> moved;
    int64_t last = 0, at = 0;
    for (int64_t end : ends) {
      if (end > last) {
        int64_t rows =
            shrinkSegment(end - last, blocksKept, source < 0 || isCut[first]);
        isSplice &= rows > 0;
        at += rows;
      }
      moved[end] = at;
      last = end;
    }
    for (unsigned i : own) {
      BlockRows rows = getSource(large.pieces[i]);
      Piece &piece = small.pieces[i];
      piece.stride = large.pieces[i].stride;
      piece.start = piece.stride > 0 ? moved[rows.begin] : moved[rows.end] - 1;
      piece.size = moved[rows.end] - moved[rows.begin];
      small.lengths[i] = source < 0 ? 0 : moved[large.lengths[i]];
    }
  }
  for (Piece &piece : small.pieces) {
    piece.at = small.lengths.back();
    small.lengths.back() += piece.size;
  }
  return isSplice;
}

/// Returns true if the small tensors are split into blocks like the large ones:
/// the last block is shorter, or empty, in both or in neither.
bool SpliceShrinker::liesAlike() const {
  for (auto [i, cut] : llvm::enumerate(isCut)) {
    if (!cut)
      continue;
    BlockLayout was{large.lengths[i], large.devices};
    BlockLayout is{small.lengths[i], small.devices};
    if (is.block() != small.block || was.isUneven() != is.isUneven() ||
        (was.valid(was.k - 1) == 0) != (is.valid(is.k - 1) == 0))
      return false;
  }
  return true;
}

/// Returns true if the counts in a reversed read shrink correctly: a row's
/// distance from the end of a block must become its distance from the end of a
/// small block.
bool SpliceShrinker::countsBackAlike(const Window &was,
                                     const Window &is) const {
  auto getStart = [](const Window &window, int64_t block) {
    int64_t strip = (window.rows.size() - 1) * block + window.rows.back().end -
                    window.rows.front().begin + window.lead + window.tail;
    return strip - block - window.offset;
  };
  for (const BlockRows &rows : was.rows)
    for (int64_t row : {rows.begin, rows.end})
      if (mapRows(large.block - row) != small.block - mapRows(row))
        return false;
  return mapRows(getStart(was, large.block)) == getStart(is, small.block);
}

/// Fills the maps from numbers of the large splice to numbers of the small
/// splice. Returns false if a window of the small splice differs from the large
/// one in more than its numbers, or if two different numbers would become the
/// same.
bool SpliceShrinker::relate() {
  distances = {{0, 0}};
  places = {{0, 0}};
  auto add = [](std::map<int64_t, int64_t> &map, int64_t from, int64_t to) {
    return map.try_emplace(from, to).first->second == to;
  };
  for (unsigned i = 0; i < sources.size(); ++i) {
    if (i > 0 && !add(places, large.pieces[i].at, small.pieces[i].at))
      return false;
    if (sources[i] < 0)
      continue;
    const Window &was = *large.windows[i], &is = *small.windows[i];
    if (was.rows.size() != is.rows.size() || mapRows(was.step) != is.step ||
        mapRows(was.lead) != is.lead || mapRows(was.tail) != is.tail ||
        (was.step != 0 && !add(places, was.offset, is.offset)) ||
        (was.step == 0 && mapRows(was.offset) != is.offset) ||
        (was.mirrored && !countsBackAlike(was, is)))
      return false;
    for (auto [j, rows] : llvm::enumerate(was.rows)) {
      BlockRows mapped{mapRows(rows.begin), mapRows(rows.end)};
      if (rows.empty() != is.rows[j].empty() ||
          (!rows.empty() && !(mapped == is.rows[j])))
        return false;
      if (isCut[i] && !rows.empty() &&
          !add(distances, toRing(was.lowest + int64_t(j), large.devices),
               toRing(is.lowest + int64_t(j), small.devices)))
        return false;
    }
  }
  auto keepsApart = [](const std::map<int64_t, int64_t> &map) {
    std::set<int64_t> values;
    for (auto [from, to] : map)
      values.insert(to);
    return values.size() == map.size();
  };
  // At least one distance in the small form must stay unused: distances that no
  // window uses are mapped to it.
  return keepsApart(distances) && keepsApart(places) &&
         int64_t(distances.size()) < small.devices;
}

/// Finds a number of devices for the small tensors.
bool SpliceShrinker::findDevices(int64_t grain) {
  auto fits = [&](int64_t devices) {
    small.devices = devices;
    small.windows.clear();
    return liesAlike() && findWindows(small) && relate();
  };
  for (int64_t k = grain; k < std::min(large.devices, kMostDevices); k += grain)
    if (k >= 4 && fits(k))
      return true;
  return large.devices < kMostDevices && fits(large.devices);
}

/// Finds shrunk sizes of the splice, with a device count that is a multiple of
/// `grain`. Returns false if there are none.
bool SpliceShrinker::shrink(int64_t grain) {
  SmallVector<int64_t> blocks;
  for (int64_t block = 8; block < large.block; block += block / 2)
    blocks.push_back(block);
  blocks.push_back(large.block);
  for (int64_t block : blocks)
    for (int64_t kept = 3; kept < kMostDevices; ++kept)
      if (shrink(block, kept) && findDevices(grain))
        return true;
  return false;
}

std::optional<SpliceShrinker>
SpliceShrinker::create(SpliceOp op, ArrayRef<TensorSharding> layouts,
                       const Mesh &mesh) {
  SpliceShrinker shrinker;
  shrinker.dim = op.getDim();
  const AxisList &cutting = layouts.back().dims[op.getDim()].axes;
  if (cutting.empty() || !shrinker.read(op, layouts))
    return std::nullopt;
  int64_t least = cutting.size() > 3 ? 2 : 3;
  if (!shrinker.shrink(getGrain(cutting, least)))
    return std::nullopt;
  shrinker.resize(cutting, least, shrinker.small.devices);
  return shrinker;
}

void SpliceShrinker::mapWhole(Operation *copy) const {
  SmallVector<int64_t> starts, sizes;
  for (const Piece &piece : small.pieces) {
    starts.push_back(piece.start);
    sizes.push_back(piece.size);
  }
  cast<SpliceOp>(copy).setStarts(starts);
  cast<SpliceOp>(copy).setSizes(sizes);
}

void SpliceShrinker::mapNumbers(Operation *copy) const {
  if (auto shift = dyn_cast<spmd::ShiftOp>(copy))
    return shift.setBy(-mapDistance(-shift.getBy()));
  if (auto slice = dyn_cast<SliceOp>(copy)) {
    SmallVector<int64_t> starts(slice.getStarts());
    starts[dim] = mapRows(starts[dim]);
    return slice.setStarts(starts);
  }
  auto constant = dyn_cast<ConstantOp>(copy);
  if (!constant || !constant.getType().getElementType().isInteger(32))
    return;
  auto value = dyn_cast<SplatElementsAttr>(constant.getValue());
  if (!value)
    return;
  int64_t number = value.getSplatValue<APInt>().getSExtValue();
  // `mapRows` maps two kinds of constants: block sizes, which are multiplied by
  // a device's position, and the largest index of a reversed read, a constant
  // with one dimension. `mapPlace` maps all other constants.
  bool isRows = constant.getType().getRank() == 1 ||
                llvm::any_of(copy->getUsers(), llvm::IsaPred<MulOp>);
  constant.setValueAttr(DenseElementsAttr::get(
      value.getType(),
      IntegerAttr::get(value.getElementType(),
                       isRows ? mapRows(number) : mapPlace(number))));
}
