// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WindowShrinker.h"

#include "dialects/TP/Strips.h"
#include "tpopt/Dialect/SPMD/SPMD.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// Maps `number` such that its distance from the nearest known number stays the
/// same.
static int64_t mapNearest(const std::map<int64_t, int64_t> &known,
                          int64_t number) {
  auto above = known.lower_bound(number);
  auto nearest = above;
  if (above == known.end() ||
      (above != known.begin() && above->first != number &&
       number - std::prev(above)->first < above->first - number))
    nearest = std::prev(above);
  return nearest->second + (number - nearest->first);
}

int64_t WindowShrinker::Along::getSpan(const Numbers &numbers) const {
  int64_t block = BlockLayout{numbers.windows, numbers.devices}.block();
  return (block - 1) * stride + (taps - 1) * dilation + 1;
}

/// Returns the small numbers with `devices` devices and `block` windows per
/// block. The first and the last window keep their distances from the ends of
/// the input.
std::optional<WindowShrinker::Numbers>
WindowShrinker::Along::shrinkTo(int64_t devices, int64_t block) const {
  int64_t missing =
      large.devices * BlockLayout{large.windows, large.devices}.block() -
      large.windows;
  Numbers numbers{0, devices * block - missing, devices};
  numbers.length = large.length - (large.windows - numbers.windows) * stride;
  if (numbers.windows <= (devices - 1) * block || numbers.length < 1 ||
      BlockLayout{numbers.windows, devices}.block() != block)
    return std::nullopt;
  return numbers;
}

namespace {
/// The numbers in the local form of a window op, in order of occurrence.
struct Form {
  SmallVector<int64_t> rows, places, distances;
};
} // namespace

/// Returns the numbers in the local form. Returns nullopt if blocks of windows
/// do not start where blocks of the input start: then the first row that a
/// device reads from its block would depend on the device's position.
static std::optional<Form> getForm(const Piece &piece, int64_t length,
                                   int64_t devices, int64_t span) {
  BlockLayout from{length, devices}, to{piece.size, devices};
  if (from.block() != piece.stride * to.block() ||
      from.valid(devices - 1) <= 0 || to.valid(devices - 1) <= 0)
    return std::nullopt;
  std::optional<Window> window = getWindow(from, to, piece, kMostDistances);
  if (!window || window->step != 0)
    return std::nullopt;
  Fetches fetches;
  addFetches(fetches, 0, *window, devices);
  Form form;
  form.rows = {
      0, from.block(), span, window->lead, window->tail, window->offset};
  int64_t strip = window->lead + window->tail;
  for (auto [i, rows] : llvm::enumerate(window->rows)) {
    form.rows.append(
        {rows.begin, rows.end, rows.size(), from.block() - rows.end});
    bool isFirst = i == 0, isLast = i + 1 == window->rows.size();
    strip += (isLast ? rows.end : from.block()) - (isFirst ? rows.begin : 0);
  }
  form.rows.push_back(strip);
  form.places = {0, length, piece.start};
  for (const Fetch &fetch : fetches) {
    form.distances.push_back(fetch.distance);
    form.rows.append({fetch.rows.begin, fetch.rows.end, fetch.rows.size()});
    for (const BlockRows &rows : window->rows)
      if (rows.begin >= fetch.rows.begin && rows.end <= fetch.rows.end)
        form.rows.push_back(rows.begin - fetch.rows.begin);
  }
  return form;
}

/// Fills the maps from numbers of the large form to numbers of the small form.
/// Returns false if a number would be mapped to several numbers.
bool WindowShrinker::Along::relate() {
  rows.clear();
  places.clear();
  distances = {{0, 0}};
  if (large.devices == 1) {
    rows = {{0, 0}, {large.length, small.length}};
    return true;
  }
  auto getForm = [&](const Numbers &numbers) {
    Piece piece{first, /*at=*/0, numbers.windows, stride};
    piece.taps = taps;
    piece.dilation = dilation;
    return ::getForm(piece, numbers.length, numbers.devices, getSpan(numbers));
  };
  std::optional<Form> was = getForm(large), is = getForm(small);
  if (!was || !is)
    return false;
  auto addAll = [](Map &map, ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
    if (from.size() != to.size())
      return false;
    for (auto [number, small] : llvm::zip(from, to))
      if (map.try_emplace(number, small).first->second != small)
        return false;
    return true;
  };
  // At least one distance in the small form must stay unused: distances that no
  // window uses are mapped to it.
  return addAll(rows, was->rows, is->rows) &&
         addAll(places, was->places, is->places) &&
         addAll(distances, was->distances, is->distances) &&
         (small.devices == large.devices ||
          int64_t(distances.size()) < small.devices);
}

/// Finds shrunk sizes along this dimension, with a device count that is a
/// multiple of `grain`. Returns false if there are none.
bool WindowShrinker::Along::shrink(int64_t grain) {
  constexpr int64_t kMostDevices = 12, kMostWindows = 64;
  if (large.devices == 1) {
    // The fewest windows with which the input keeps at least one element.
    int64_t fewest = large.windows - (large.length - 1) / stride;
    small = large;
    small.windows =
        std::min(large.windows, std::max<int64_t>({2, fewest, taps}));
    small.length -= (large.windows - small.windows) * stride;
    return relate();
  }
  int64_t block = BlockLayout{large.windows, large.devices}.block();
  for (int64_t devices = grain; devices <= large.devices; devices += grain) {
    if (devices < std::min<int64_t>(large.devices, 3))
      continue;
    if (devices > kMostDevices)
      return false;
    // Use at least `devices` windows per block: a form that multiplies a
    // position by itself instead of by the block size then shows an error.
    for (int64_t few = std::min(block, devices);
         few <= std::min(block, kMostWindows); ++few)
      if (std::optional<Numbers> found = shrinkTo(devices, few)) {
        small = *found;
        if (relate())
          return true;
      }
  }
  return false;
}

std::optional<WindowShrinker> WindowShrinker::create(WindowOp op,
                                                     const TensorSharding &from,
                                                     const TensorSharding &to,
                                                     const Mesh &mesh) {
  WindowShrinker shrinker;
  shrinker.mesh = &mesh;
  shrinker.numOperands = op->getNumOperands();
  for (auto [i, dim] : llvm::enumerate(op.getDims())) {
    const AxisList &cutting = to.dims[op.getWindowDim(i)].axes;
    if (from.dims[dim].axes != cutting)
      return std::nullopt;
    Along along{dim,
                op.getReach(i).first,
                op.getStrides()[i],
                op.getType().getDimSize(op.getWindowDim(i) + 1),
                op.getDilations()[i],
                cutting,
                {op.getInput().getType().getDimSize(dim),
                 op.getType().getDimSize(op.getWindowDim(i)),
                 tp::getSize(cutting)},
                {},
                {},
                {},
                {}};
    constexpr int64_t kLeast = 2;
    if (!along.shrink(getGrain(cutting, kLeast)))
      return std::nullopt;
    shrinker.resize(cutting, kLeast, along.small.devices);
    shrinker.along.push_back(std::move(along));
  }
  return shrinker;
}

const WindowShrinker::Along *WindowShrinker::find(unsigned dim) const {
  const auto *found = llvm::find_if(
      along, [&](const Along &other) { return other.dim == int64_t(dim); });
  return found == along.end() ? nullptr : found;
}

std::optional<int64_t> WindowShrinker::getSize(unsigned tensor,
                                               unsigned dim) const {
  if (tensor == 0) {
    const Along *found = find(dim);
    return found ? std::optional(found->small.length) : std::nullopt;
  }
  if (tensor < numOperands)
    return std::nullopt;
  for (auto [i, other] : llvm::enumerate(along)) {
    if (other.dim + i == dim)
      return other.small.windows;
    if (other.dim + i + 1 == dim)
      return other.taps;
  }
  return std::nullopt;
}

std::optional<int64_t> WindowShrinker::mapRows(int64_t rows,
                                               unsigned dim) const {
  const Along *found = find(dim);
  return found ? std::optional(mapNearest(found->rows, rows)) : std::nullopt;
}

int64_t WindowShrinker::Along::mapDistance(int64_t distance) const {
  auto toRing = [](int64_t number, int64_t devices) {
    return (number % devices + devices) % devices;
  };
  int64_t wanted = toRing(distance, large.devices);
  int64_t found = toRing(mapNearest(distances, wanted), small.devices);
  if (distances.count(wanted))
    return found;
  // Map a distance that no window uses to one that no small window uses.
  auto isAsked = [&](int64_t other) {
    return llvm::any_of(
        distances, [&](const auto &entry) { return entry.second == other; });
  };
  while (isAsked(found))
    found = (found + 1) % small.devices;
  return found;
}

/// Finds the dimension to which the number in `op` belongs. The number is
/// combined, directly or through other scalars, with a device position or a
/// shift along axes. Returns the dimension that these axes split, or null if
/// there is none.
const WindowShrinker::Along *WindowShrinker::findCutBy(Operation *op) const {
  SmallVector<Operation *> worklist(op->getUsers());
  worklist.push_back(op);
  while (!worklist.empty()) {
    Operation *next = worklist.pop_back_val();
    auto index = dyn_cast<AxisIndexOp>(next);
    auto shift = dyn_cast<ShiftOp>(next);
    if (index || shift) {
      AxisList list = resolveAxes(
          (index ? index.getAxes() : shift.getAxes()).getAxes(), *mesh);
      for (const Along &other : along)
        if (!list.empty() && !other.axes.empty() &&
            other.axes.front().axis == list.front().axis)
          return &other;
      return nullptr;
    }
    for (Value operand : next->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && cast<RankedTensorType>(operand.getType()).getRank() == 0)
        worklist.push_back(def);
  }
  return nullptr;
}

void WindowShrinker::mapConstant(Operation *copy) const {
  auto constant = cast<ConstantOp>(copy);
  auto value = dyn_cast<SplatElementsAttr>(constant.getValue());
  if (!value || constant.getType().getRank() != 0 ||
      !constant.getType().getElementType().isInteger(32))
    return;
  const Along *found = findCutBy(copy);
  if (!found)
    return;
  int64_t number = value.getSplatValue<APInt>().getSExtValue();
  for (Operation *user : copy->getUsers()) {
    if (!isa<MulOp>(user)) {
      number = mapNearest(found->places, number);
      break;
    }
    // The local form multiplies a position by the block size, which gives the
    // number of the first window, and then multiplies that by the stride.
    bool isBlock = llvm::any_of(user->getOperands(), [](Value operand) {
      return operand.getDefiningOp<AxisIndexOp>() != nullptr;
    });
    if (isBlock) {
      number +=
          BlockLayout{found->small.windows, found->small.devices}.block() -
          BlockLayout{found->large.windows, found->large.devices}.block();
      break;
    }
  }
  constant.setValueAttr(DenseElementsAttr::get(
      value.getType(), IntegerAttr::get(value.getElementType(), number)));
}

void WindowShrinker::mapNumbers(Operation *copy) const {
  if (isa<ConstantOp>(copy))
    return mapConstant(copy);
  if (auto shift = dyn_cast<ShiftOp>(copy)) {
    if (const Along *found = findCutBy(copy))
      shift.setBy(-found->mapDistance(-shift.getBy()));
    return;
  }
  auto slice = dyn_cast<SliceOp>(copy);
  if (!slice)
    return;
  SmallVector<int64_t> starts(slice.getStarts());
  for (auto [dim, start] : llvm::enumerate(starts))
    start = mapRows(start, dim).value_or(start);
  slice.setStarts(starts);
}
