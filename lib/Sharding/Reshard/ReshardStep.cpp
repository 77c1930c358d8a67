// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The rules for one step of a reshard: when it is valid, and what its effect
// is. Plans and IR verifiers share these rules.

#include "tpopt/Sharding/Reshard.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace tp;
using llvm::ArrayRef;
using llvm::Expected;
using llvm::SmallVector;

llvm::StringRef tp::stringify(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllSlice:
    return "all_slice";
  case CollectiveKind::ToPartial:
    return "to_partial";
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::CollectivePermute:
    return "collective_permute";
  }
  llvm_unreachable("covered switch");
}

double tp::getWireElements(CollectiveKind kind, int64_t groupSize,
                           int64_t payload) {
  double ring = static_cast<double>(groupSize - 1) / groupSize * payload;
  switch (kind) {
  case CollectiveKind::AllSlice:
  case CollectiveKind::ToPartial:
    return 0;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return ring;
  case CollectiveKind::AllReduce:
    return 2 * ring;
  case CollectiveKind::CollectivePermute:
    return payload;
  }
  llvm_unreachable("covered switch");
}

/// `a * b`, saturating at the largest payload.
static int64_t multiply(int64_t a, int64_t b) {
  uint64_t product = llvm::SaturatingMultiply<uint64_t>(a, b);
  return std::min<uint64_t>(product, std::numeric_limits<int64_t>::max());
}

static std::string text(const Mesh &mesh, const AxisRef &axis) {
  std::string out;
  llvm::raw_string_ostream os(out);
  axis.print(os, mesh);
  return out;
}

static std::string text(const Mesh &mesh, ArrayRef<AxisRef> axes) {
  std::string out;
  llvm::raw_string_ostream os(out);
  printAxes(os, mesh, axes);
  return out;
}

static llvm::Error error(const llvm::Twine &why) {
  return llvm::createStringError(why);
}

//===----------------------------------------------------------------------===//
// CollectivePermute
//===----------------------------------------------------------------------===//

/// The parts of the mesh that `sharding` does not use, sorted.
static AxisList getIdleAxes(const Mesh &mesh, const TensorSharding &sharding) {
  AxisList used = sharding.getDimAxes(), idle;
  used.append(sharding.unreduced.begin(), sharding.unreduced.end());
  llvm::sort(used);
  const AxisRef *next = used.begin();
  for (auto [index, axis] : llvm::enumerate(mesh.axes)) {
    int64_t begin = 1;
    for (; next != used.end() && next->axis == index; ++next) {
      appendMerged(idle, {next->axis, begin, next->pre / begin});
      begin = next->end();
    }
    appendMerged(idle,
                 {static_cast<unsigned>(index), begin, axis.size / begin});
  }
  return idle;
}

/// The parts that two sets of axes share.
static AxisList getCommon(ArrayRef<AxisRef> a, ArrayRef<AxisRef> b) {
  AxisList common;
  for (const AxisRef &x : a)
    for (const AxisRef &y : b)
      if (std::optional<AxisRef> overlap = x.getOverlap(y))
        common.push_back(*overlap);
  return getMerged(common);
}

SmallVector<int64_t> tp::getPermuteSources(const Mesh &mesh,
                                           const TensorSharding &in,
                                           const TensorSharding &out) {
  // Each digit of a device number is in one list of `from` and in one of `to`.
  // The digits in `to[i]` form a number, the position. The position is then
  // split into the digits in `from[i]`, which give the source device.
  SmallVector<AxisList> from, to;
  for (auto [a, b] : llvm::zip_equal(in.dims, out.dims)) {
    from.push_back(a.axes);
    to.push_back(b.axes);
  }
  auto addSet = [&](const AxisList &a, const AxisList &b) {
    AxisList common = getCommon(a, b);
    from.push_back(common);
    to.push_back(common);
    from.push_back(*subtract(a, common));
    to.push_back(*subtract(b, common));
  };
  addSet(getMerged(in.unreduced), getMerged(out.unreduced));
  addSet(getIdleAxes(mesh, in), getIdleAxes(mesh, out));

  SmallVector<int64_t> sources;
  for (int64_t device = 0, n = mesh.getNumDevices(); device < n; ++device) {
    SmallVector<int64_t> coordinates(mesh.axes.size(), 0);
    for (auto [a, b] : llvm::zip_equal(from, to)) {
      int64_t position = getPosition(mesh, b, device);
      for (const AxisRef &axis : llvm::reverse(a)) {
        int64_t post = mesh.axes[axis.axis].size / axis.end();
        coordinates[axis.axis] += position % axis.size * post;
        position /= axis.size;
      }
    }
    sources.push_back(mesh.getNumber(coordinates));
  }
  return sources;
}

namespace {

/// The role of a digit of the device number: it belongs to a dimension, with a
/// weight, or to the unreduced or the idle axes.
struct Place {
  enum : unsigned { Unreduced = ~0u - 1, Idle = ~0u };
  unsigned dim = Idle;
  int64_t weight = 0;
  bool operator!=(const Place &o) const {
    return dim != o.dim || weight != o.weight;
  }
};

} // namespace

static Place getPlace(const TensorSharding &sharding, const AxisRef &digit) {
  for (auto [index, dim] : llvm::enumerate(sharding.dims)) {
    int64_t weight = 1;
    for (const AxisRef &axis : llvm::reverse(dim.axes)) {
      if (axis.overlaps(digit))
        return {static_cast<unsigned>(index),
                weight * (axis.end() / digit.end())};
      weight *= axis.size;
    }
  }
  if (overlap(sharding.unreduced, digit))
    return {Place::Unreduced, 0};
  return {};
}

/// The axes along which a permutation moves data: those with a digit that
/// changes its place.
static AxisList getPermutedAxes(const Mesh &mesh, const TensorSharding &in,
                                const TensorSharding &out) {
  AxisList all = in.getDimAxes();
  all.append(in.unreduced);
  all.append(out.getDimAxes());
  all.append(out.unreduced);
  AxisList changed;
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
    SmallVector<int64_t> cuts = {1, mesh.axes[axis].size};
    for (const AxisRef &ref : all)
      if (ref.axis == axis)
        cuts.append({ref.pre, ref.end()});
    llvm::sort(cuts);
    AxisList moved;
    for (size_t i = 1; i < cuts.size(); ++i) {
      if (cuts[i] % cuts[i - 1] != 0) {
        // The two layouts cut the axis in incompatible ways, so the whole axis
        // counts as moved.
        moved = {AxisRef::full(mesh, axis)};
        break;
      }
      AxisRef digit = {axis, cuts[i - 1], cuts[i] / cuts[i - 1]};
      if (digit.size > 1 && getPlace(in, digit) != getPlace(out, digit))
        moved.push_back(digit);
    }
    changed.append(moved);
  }
  return getMerged(changed);
}

//===----------------------------------------------------------------------===//
// Applying a step
//===----------------------------------------------------------------------===//

namespace {

/// Applies one step to `in`: sets `out`, `axes` and `payload`. There is one
/// member function per kind.
class StepApplication {
public:
  StepApplication(const Mesh &mesh, const TensorSharding &in,
                  const ReshardStep &step, ArrayRef<int64_t> shape)
      : out(in.getLayout()), mesh(mesh), step(step), shape(shape), in(out) {}

  llvm::Error apply() {
    if (in.getRank() != shape.size())
      return error("the sharding has " + llvm::Twine(in.getRank()) +
                   " dimensions, but the tensor has " +
                   llvm::Twine(shape.size()));
    if (auto err = applyKind())
      return err;
    out = out.getLayout();
    if (std::optional<ShardingError> err = verify(out, mesh, shape.size()))
      return error(err->message);
    return llvm::Error::success();
  }

  TensorSharding out;
  AxisList axes;
  int64_t payload = 0;

private:
  llvm::Error applyKind() {
    switch (step.kind) {
    case CollectiveKind::AllSlice:
      return slice();
    case CollectiveKind::ToPartial:
      return makePartial();
    case CollectiveKind::AllGather:
      return gather();
    case CollectiveKind::ReduceScatter:
      return reduceScatter();
    case CollectiveKind::AllReduce:
      return allReduce();
    case CollectiveKind::AllToAll:
      return exchange();
    case CollectiveKind::CollectivePermute:
      return permute();
    }
    llvm_unreachable("covered switch");
  }

  llvm::Error slice();
  llvm::Error makePartial();
  llvm::Error gather();
  llvm::Error reduceScatter();
  llvm::Error allReduce();
  llvm::Error exchange();
  llvm::Error permute();

  /// Sets the axes of the collective to `all`.
  llvm::Error setAxes(ArrayRef<AxisRef> all) {
    for (auto [index, axis] : llvm::enumerate(all)) {
      int64_t whole = mesh.axes[axis.axis].size;
      if (axis.pre < 1 || axis.size < 1 || whole % axis.pre != 0 ||
          whole / axis.pre % axis.size != 0)
        return error("sub-axis " + text(mesh, axis) +
                     " does not divide its axis");
      for (const AxisRef &other : all.take_front(index)) {
        if (other.overlaps(axis))
          return error("axis " + text(mesh, axis) + " is used twice");
        if (auto err = checkCoexist(other, axis))
          return err;
      }
    }
    axes = getMerged(all);
    if (axes.empty())
      return error("the step has no axes");
    return llvm::Error::success();
  }

  llvm::Expected<AxisList> getDimAxes() {
    if (step.dimAxes.size() != in.getRank())
      return error(
          "the step lists axes for " + llvm::Twine(step.dimAxes.size()) +
          " dimensions of a tensor of rank " + llvm::Twine(in.getRank()));
    AxisList all;
    for (const AxisList &list : step.dimAxes)
      all.append(list);
    return all;
  }

  llvm::Error setAxesFromDims() {
    llvm::Expected<AxisList> all = getDimAxes();
    return all ? setAxes(*all) : all.takeError();
  }

  llvm::Error checkCoexist(const AxisRef &a, const AxisRef &b) {
    if (a.canCoexist(b))
      return llvm::Error::success();
    return error(
        "sub-axes " + text(mesh, a) + " and " + text(mesh, b) +
        " cannot be used together: no factorization of the axis contains both");
  }

  llvm::Error checkIdle(ArrayRef<AxisRef> list) {
    AxisList used = out.getDimAxes();
    used.append(out.unreduced);
    for (const AxisRef &axis : list) {
      if (overlap(used, axis))
        return error("axis " + text(mesh, axis) +
                     " is already used by this sharding");
      for (const AxisRef &other : used)
        if (auto err = checkCoexist(other, axis))
          return err;
    }
    return llvm::Error::success();
  }

  /// Checks that each block over `fewer` devices consists of whole blocks over
  /// `more` devices.
  llvm::Error checkBoundaries(unsigned dim, int64_t fewer, int64_t more) {
    if (BlockLayout{shape[dim], more}.mergesEvenly(more / fewer))
      return llvm::Error::success();
    return error("dimension " + llvm::Twine(dim) + " of size " +
                 llvm::Twine(shape[dim]) +
                 " has no block boundaries in common between " +
                 llvm::Twine(fewer) + " and " + llvm::Twine(more) + " blocks");
  }

  llvm::Error append(unsigned dim, ArrayRef<AxisRef> list) {
    AxisList &target = out.dims[dim].axes;
    int64_t before = getSize(target);
    for (const AxisRef &axis : list)
      appendMerged(target, axis);
    return checkBoundaries(dim, before, getSize(target));
  }

  llvm::Error removeSuffix(unsigned dim, ArrayRef<AxisRef> list) {
    AxisList &source = out.dims[dim].axes;
    std::optional<AxisList> rest = dropSuffix(source, list);
    if (!rest)
      return error("dimension " + llvm::Twine(dim) +
                   " must end with the axes " + text(mesh, list));
    int64_t before = getSize(source);
    source = *rest;
    return checkBoundaries(dim, getSize(source), before);
  }

  llvm::Error removeUnreduced() {
    std::optional<AxisList> rest = subtract(in.unreduced, axes);
    if (!rest)
      return error("the value is not unreduced along " + text(mesh, axes));
    out.unreduced = *rest;
    return llvm::Error::success();
  }

  int64_t getBufferSize(const TensorSharding &sharding) {
    int64_t size = 1;
    for (int64_t local : getLocalShape(sharding, shape))
      size = multiply(size, local);
    return size;
  }

  const Mesh &mesh;
  const ReshardStep &step;
  ArrayRef<int64_t> shape;
  TensorSharding in;
};

llvm::Error StepApplication::slice() {
  if (auto err = setAxesFromDims())
    return err;
  if (auto err = checkIdle(axes))
    return err;
  for (auto [dim, list] : llvm::enumerate(step.dimAxes))
    if (auto err = append(dim, list))
      return err;
  return llvm::Error::success();
}

llvm::Error StepApplication::makePartial() {
  llvm::Expected<AxisList> fromDims = getDimAxes();
  if (!fromDims)
    return fromDims.takeError();
  if (auto err = setAxes(step.axes))
    return err;
  std::optional<AxisList> idle = subtract(axes, *fromDims);
  if (!idle)
    return error("the axes of the step " + text(mesh, axes) +
                 " must include every axis that the step removes from a "
                 "dimension");
  if (auto err = checkIdle(*idle))
    return err;
  for (auto [dim, list] : llvm::enumerate(step.dimAxes))
    if (auto err = removeSuffix(dim, list))
      return err;
  if (!in.unreduced.empty() && in.kind != step.result.kind)
    return error("the value is a partial " + stringify(in.kind) +
                 " and cannot be a partial " + stringify(step.result.kind) +
                 " as well");
  out.unreduced.append(axes);
  out.kind = step.result.kind;
  return llvm::Error::success();
}

llvm::Error StepApplication::gather() {
  if (auto err = setAxesFromDims())
    return err;
  for (auto [dim, list] : llvm::enumerate(step.dimAxes))
    if (auto err = removeSuffix(dim, list))
      return err;
  payload = multiply(getSize(axes), getBufferSize(in));
  return llvm::Error::success();
}

llvm::Error StepApplication::reduceScatter() {
  if (auto err = setAxesFromDims())
    return err;
  if (auto err = removeUnreduced())
    return err;
  for (auto [dim, list] : llvm::enumerate(step.dimAxes))
    if (auto err = append(dim, list))
      return err;
  payload = multiply(getSize(axes), getBufferSize(out));
  return llvm::Error::success();
}

llvm::Error StepApplication::allReduce() {
  if (auto err = setAxes(step.axes))
    return err;
  payload = getBufferSize(in);
  return removeUnreduced();
}

llvm::Error StepApplication::exchange() {
  AxisList all;
  SmallVector<AxisList> leaving(in.getRank()), arriving(in.getRank());
  for (const AxisMove &move : step.moves) {
    if (move.from >= in.getRank() || move.to >= in.getRank())
      return error("the step moves an axis between dimensions " +
                   llvm::Twine(move.from) + " and " + llvm::Twine(move.to) +
                   " of a tensor of rank " + llvm::Twine(in.getRank()));
    all.push_back(move.axis);
    leaving[move.from].push_back(move.axis);
    arriving[move.to].push_back(move.axis);
  }
  if (auto err = setAxes(all))
    return err;

  // A device sends the same share of every buffer to each other device only if
  // each dimension either gives or takes axes, but not both.
  int64_t share = 1;
  for (unsigned dim = 0; dim < in.getRank(); ++dim) {
    if (!leaving[dim].empty() && !arriving[dim].empty())
      return error("an all_to_all cannot both remove axes from dimension " +
                   llvm::Twine(dim) + " and add axes to it");
    if (!leaving[dim].empty()) {
      // The moves are ordered by target dimension, so the order of the axes in
      // the source dimension has to be found from `in`.
      AxisList suffix;
      int64_t left = getSize(leaving[dim]);
      for (const AxisRef &axis : llvm::reverse(in.dims[dim].axes)) {
        int64_t taken = std::min(left, axis.size);
        if (taken == 1 || axis.size % taken != 0 || left % taken != 0)
          break;
        suffix.insert(suffix.begin(), {axis.axis, axis.end() / taken, taken});
        left /= taken;
      }
      if (getMerged(suffix) != getMerged(leaving[dim]))
        return error("dimension " + llvm::Twine(dim) +
                     " must end with the axes " + text(mesh, leaving[dim]) +
                     " in some order");
      if (auto err = removeSuffix(dim, suffix))
        return err;
    }
    if (auto err = append(dim, arriving[dim]))
      return err;
    int64_t more =
        std::max(getSize(in.dims[dim].axes), getSize(out.dims[dim].axes));
    share = multiply(share, BlockLayout{shape[dim], more}.block());
  }
  payload = multiply(share, getSize(axes));
  return llvm::Error::success();
}

llvm::Error StepApplication::permute() {
  out = step.result.getLayout();
  if (auto err = verify(out, mesh, in.getRank()))
    return error(err->message);
  for (auto [index, before, after] : llvm::enumerate(in.dims, out.dims))
    if (getSize(before.axes) != getSize(after.axes))
      return error("the step changes the number of blocks of dimension " +
                   llvm::Twine(index) + " from " +
                   llvm::Twine(getSize(before.axes)) + " to " +
                   llvm::Twine(getSize(after.axes)));
  if (getSize(in.unreduced) != getSize(out.unreduced) ||
      (!in.unreduced.empty() && in.kind != out.kind))
    return error("the step changes how many devices hold addends, or the kind "
                 "of their reduction");
  axes = getPermutedAxes(mesh, in, out);
  if (axes.empty())
    return error("the step moves nothing");
  payload = getBufferSize(in);
  return llvm::Error::success();
}

} // namespace

Expected<TensorSharding> tp::applyStep(const Mesh &mesh,
                                       const TensorSharding &in,
                                       const ReshardStep &step,
                                       ArrayRef<int64_t> shape) {
  StepApplication application(mesh, in, step, shape);
  if (auto err = application.apply())
    return std::move(err);
  return std::move(application.out);
}

std::optional<std::string> tp::verifyStep(const Mesh &mesh,
                                          const TensorSharding &in,
                                          const ReshardStep &step,
                                          ArrayRef<int64_t> shape) {
  StepApplication application(mesh, in, step, shape);
  if (auto err = application.apply())
    return llvm::toString(std::move(err));
  if (!application.out.sameLayout(step.result))
    return "the step results in the sharding " + application.out.str(mesh) +
           ", not " + step.result.str(mesh);
  if (application.axes != getMerged(step.axes))
    return "the axes of the step are " + text(mesh, application.axes) +
           ", not " + text(mesh, step.axes);
  if (application.payload != step.payload)
    return "the payload of the step is " + std::to_string(application.payload) +
           " elements, not " + std::to_string(step.payload);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Describing a step
//===----------------------------------------------------------------------===//

/// For every dimension, the axes in `longer` that follow the common prefix of
/// `longer` and `shorter`.
static SmallVector<AxisList, 4> getDifference(const TensorSharding &longer,
                                              const TensorSharding &shorter) {
  SmallVector<AxisList, 4> difference;
  for (auto [a, b] : llvm::zip_equal(longer.dims, shorter.dims))
    difference.push_back(dropPrefix(a.axes, getCommonPrefix(a.axes, b.axes)));
  return difference;
}

/// For every axis that a dimension of `out` gains, finds the dimension that it
/// comes from. Parts of an axis that come from several dimensions may be joined
/// into one axis in `out`.
static SmallVector<AxisMove, 2> getMoves(const TensorSharding &in,
                                         const TensorSharding &out) {
  SmallVector<AxisMove, 2> moves;
  SmallVector<AxisList, 4> leaving = getDifference(in, out);
  for (auto [to, list] : llvm::enumerate(getDifference(out, in)))
    for (const AxisRef &axis : list) {
      size_t first = moves.size();
      for (auto [from, parts] : llvm::enumerate(leaving))
        for (const AxisRef &part : parts)
          if (std::optional<AxisRef> common = axis.getOverlap(part))
            moves.push_back({*common, static_cast<unsigned>(from),
                             static_cast<unsigned>(to)});
      llvm::sort(
          moves.begin() + first, moves.end(),
          [](const AxisMove &a, const AxisMove &b) { return a.axis < b.axis; });
    }
  return moves;
}

Expected<ReshardStep> tp::makeStep(const Mesh &mesh, CollectiveKind kind,
                                   const TensorSharding &in,
                                   const TensorSharding &out,
                                   ArrayRef<int64_t> shape) {
  ReshardStep step;
  step.kind = kind;
  step.result = out.getLayout();
  TensorSharding before = in.getLayout();
  if (before.getRank() != step.result.getRank())
    return error("the shardings differ in rank");
  // Guess the axes of the step from the difference of the shardings. Applying
  // the step checks the guess.
  switch (kind) {
  case CollectiveKind::AllSlice:
  case CollectiveKind::ReduceScatter:
    step.dimAxes = getDifference(step.result, before);
    break;
  case CollectiveKind::AllGather:
    step.dimAxes = getDifference(before, step.result);
    break;
  case CollectiveKind::ToPartial:
    step.dimAxes = getDifference(before, step.result);
    if (auto added = subtract(step.result.unreduced, before.unreduced))
      step.axes = *added;
    break;
  case CollectiveKind::AllReduce:
    if (auto removed = subtract(before.unreduced, step.result.unreduced))
      step.axes = *removed;
    break;
  case CollectiveKind::AllToAll:
    step.moves = getMoves(before, step.result);
    break;
  case CollectiveKind::CollectivePermute:
    break;
  }
  StepApplication application(mesh, before, step, shape);
  if (auto err = application.apply())
    return std::move(err);
  if (application.out != step.result)
    return error("no " + stringify(kind) + " turns the sharding " +
                 before.str(mesh) + " into " + step.result.str(mesh));
  step.axes = application.axes;
  step.payload = application.payload;
  return step;
}

void ReshardStep::print(llvm::raw_ostream &os, const Mesh &mesh) const {
  switch (kind) {
  case CollectiveKind::AllSlice:
    os << "S";
    break;
  case CollectiveKind::ToPartial:
    os << "P";
    break;
  case CollectiveKind::AllGather:
    os << "AG";
    break;
  case CollectiveKind::ReduceScatter:
    os << "RS";
    break;
  case CollectiveKind::AllReduce:
    os << "AR";
    break;
  case CollectiveKind::AllToAll:
    os << "A2A";
    break;
  case CollectiveKind::CollectivePermute:
    os << "CP";
    break;
  }
  os << '{';
  llvm::interleave(
      axes, os,
      [&](const AxisRef &axis) { axis.print(os, mesh, /*quoted=*/false); },
      ",");
  os << '}';
  if (!isFree(kind))
    os << " V=" << payload;
}
