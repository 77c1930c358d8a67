// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Stencils: ops that read the same value at several offsets.
//
//     %a = tp.splice %zero, %x    x[i - 1]      %w = tp.window %x, %zero
//     %b = tp.splice %x, %zero    x[i + 1]  ->      x[i - 1], x[i], x[i + 1]
//     %y = tp.add %a, %b                        %a, %b = elements of %w
//
// If the dimension is sharded, each shift would fetch elements from
// neighbouring devices. Windows fetch these elements once for all shifts.

#include "Stencils.h"

#include "dialects/TP/SplicePieces.h"
#include "dialects/TP/Windows.h"

#include "llvm/ADT/MapVector.h"

#include <numeric>

using namespace mlir;
using namespace tp;
using namespace tp::raise;

namespace {

/// The elements that an op reads of a value: along each dimension in `along`,
/// result i reads elements `i * stride + first + k * dilation` for k < `taps`.
struct Access {
  struct Along {
    int64_t dim, results, stride, first, dilation, taps;

    /// Returns true if the same windows can contain the elements of `this` and
    /// of `o`. The two may differ in `first`, `dilation` and `taps`.
    bool isLike(const Along &o) const {
      return dim == o.dim && results == o.results && stride == o.stride;
    }
    int64_t getLast() const { return first + (taps - 1) * dilation; }
  };

  Operation *op;
  Value source, fill; ///< `fill` is null if no fill is read.
  SmallVector<Along, 2> along;
};

/// A shift reads one part of a value and, beyond the ends of the value, the
/// fill.
std::optional<Access> getAccess(SpliceOp splice) {
  SplicePieces pieces{int64_t(splice.getDim()), {}};
  for (auto [i, input] : llvm::enumerate(splice.getInputs()))
    pieces.add({input, splice.getStarts()[i], splice.getSizes()[i],
                splice.getStride(i)});
  std::optional<SurroundedPiece> surrounded = pieces.getSurrounded();
  if (!surrounded || surrounded->piece.stride < 1)
    return std::nullopt;
  auto [input, start, size, stride] = surrounded->piece;
  int64_t length = cast<RankedTensorType>(input.getType())
                       .getDimSize(splice.getDim()),
          results = splice.getType().getDimSize(splice.getDim()),
          first = start - surrounded->low * stride;
  bool hasAll =
      (surrounded->low == 0 || start < stride) &&
      (surrounded->low + size == results || start + size * stride >= length);
  if (!hasAll)
    return std::nullopt;
  return Access{splice,
                input,
                surrounded->fill,
                {{int64_t(splice.getDim()), results, stride, first, 1, 1}}};
}

std::optional<Access> getAccess(WindowOp window) {
  Access access{window, window.getInput(), window.getFill(), {}};
  for (auto [i, dim] : llvm::enumerate(window.getDims())) {
    int64_t at = window.getWindowDim(i);
    access.along.push_back({dim, window.getType().getDimSize(at),
                            window.getStrides()[i], -window.getLow()[i],
                            window.getDilations()[i],
                            window.getType().getDimSize(at + 1)});
  }
  return access;
}

/// Accesses whose elements the same windows can contain.
struct Group {
  SmallVector<Access, 2> accesses;
  Value fill;

  bool takes(const Access &access) const {
    const auto &along = accesses.front().along;
    return along.size() == access.along.size() &&
           llvm::all_of(llvm::zip_equal(along, access.along),
                        [](auto pair) {
                          return std::get<0>(pair).isLike(std::get<1>(pair));
                        }) &&
           (!access.fill ||
            // The windows are created before the first access. Only a constant
            // fill can be cloned there.
            (fill ? isSameScalar(fill, access.fill)
                  : access.fill.getDefiningOp<ConstantOp>() != nullptr));
  }
  void add(Access access) {
    if (!fill)
      fill = access.fill;
    accesses.push_back(std::move(access));
  }
};

/// Returns the windows that contain all elements read by a group.
SmallVector<Access::Along, 2> getHull(const Group &group) {
  SmallVector<Access::Along, 2> hull(group.accesses.front().along);
  for (auto [i, along] : llvm::enumerate(hull)) {
    int64_t first = along.first, last = along.getLast(), grain = 0;
    for (const Access &access : group.accesses) {
      first = std::min(first, access.along[i].first);
      last = std::max(last, access.along[i].getLast());
    }
    for (const Access &access : group.accesses) {
      grain = std::gcd(grain, access.along[i].first - first);
      if (access.along[i].taps > 1)
        grain = std::gcd(grain, access.along[i].dilation);
    }
    along.first = first;
    along.dilation = std::max<int64_t>(grain, 1);
    along.taps = (last - first) / along.dilation + 1;
  }
  return hull;
}

/// The maximum number of elements per shared window, including elements that no
/// op reads.
constexpr int64_t kMostTaps = 256;

/// Replaces the ops of a group. Returns false if the windows would be too
/// large.
bool share(const Group &group) {
  SmallVector<Access::Along, 2> hull = getHull(group);
  int64_t taps = 1;
  for (const Access::Along &along : hull)
    taps = std::min(taps * std::min(along.taps, kMostTaps + 1), kMostTaps + 1);
  if (taps > kMostTaps)
    return false;
  const Access &front = group.accesses.front();
  auto source = cast<RankedTensorType>(front.source.getType());
  SmallVector<int64_t> shape, dims, low, strides, dilations;
  size_t next = 0;
  for (auto [dim, size] : llvm::enumerate(source.getShape())) {
    if (next == hull.size() || hull[next].dim != int64_t(dim)) {
      shape.push_back(size);
      continue;
    }
    const Access::Along &along = hull[next++];
    shape.append({along.results, along.taps});
    dims.push_back(dim);
    low.push_back(-along.first);
    strides.push_back(along.stride);
    dilations.push_back(along.dilation);
  }
  OpBuilder builder(front.op);
  Value fill = group.fill;
  if (Operation *constant = fill ? fill.getDefiningOp<ConstantOp>() : nullptr)
    fill = builder.clone(*constant)->getResult(0);
  Value windows = emitWindow(builder, front.op->getLoc(), source.clone(shape),
                             front.source, fill, dims, low, strides, dilations);
  for (const Access &access : group.accesses) {
    builder.setInsertionPoint(access.op);
    SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1),
        sizes(shape);
    for (auto [i, along] : llvm::enumerate(access.along)) {
      size_t at = along.dim + i + 1;
      starts[at] = (along.first - hull[i].first) / hull[i].dilation;
      steps[at] = along.taps > 1 ? along.dilation / hull[i].dilation : 1;
      sizes[at] = along.taps;
    }
    Location loc = access.op->getLoc();
    Value part = SliceOp::create(builder, loc, source.clone(sizes), windows,
                                 starts, steps);
    Type wanted = access.op->getResult(0).getType();
    if (part.getType() != wanted)
      part = ReshapeOp::create(builder, loc, wanted, part);
    access.op->getResult(0).replaceAllUsesWith(part);
    access.op->erase();
  }
  return true;
}

} // namespace

bool tp::raise::shareWindows(Region &region) {
  bool changed = false;
  for (Block &block : region) {
    llvm::MapVector<Value, SmallVector<Group, 1>> groups;
    for (Operation &op : block) {
      for (Region &inner : op.getRegions())
        changed |= shareWindows(inner);
      // An annotated op is not replaced, so that its annotation is kept.
      if (!op.getDiscardableAttrDictionary().empty())
        continue;
      auto splice = dyn_cast<SpliceOp>(op);
      auto window = dyn_cast<WindowOp>(op);
      std::optional<Access> access = splice   ? getAccess(splice)
                                     : window ? getAccess(window)
                                              : std::nullopt;
      if (!access)
        continue;
      SmallVector<Group, 1> &known = groups[access->source];
      auto *group = llvm::find_if(
          known, [&](const Group &group) { return group.takes(*access); });
      if (group == known.end())
        group = &known.emplace_back();
      group->add(std::move(*access));
    }
    for (auto &[source, known] : groups)
      for (const Group &group : known)
        if (group.accesses.size() > 1)
          changed |= share(group);
  }
  return changed;
}
