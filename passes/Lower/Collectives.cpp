// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Collectives: packed chunks out, views of what arrives.
//
// A tensor that is cut in pieces along some dimensions is sent as chunks, one
// per device, each the dense piece: [4, 6] cut in two along columns becomes
// [2][4, 3]. What arrives lies the same way and is read as a view, so a
// gathered [2][4, 3] is the [4, 6] tensor with strides; where columns do not
// merge it is copied once.

#include "Lowering.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

static step::Reduction toStep(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return step::Reduction::Sum;
  case ReduceKind::Max:
    return step::Reduction::Max;
  case ReduceKind::Min:
    return step::Reduction::Min;
  }
  llvm_unreachable("covered switch");
}

View ProgramLowering::exchange(step::CollectiveKind kind,
                               ArrayRef<AxisRef> axes, const View &from,
                               const View &to,
                               std::optional<step::Reduction> reduction,
                               ArrayRef<int64_t> permutation) {
  auto start = step::CollectiveStartOp::create(
      builder, loc, step::TokenType::get(builder.getContext()), kind,
      reduction ? step::ReductionAttr::get(builder.getContext(), *reduction)
                : step::ReductionAttr(),
      toAttr(builder.getContext(), *mesh, axes), getBuffer(from), getBuffer(to),
      permutation.empty() ? DenseI64ArrayAttr()
                          : builder.getDenseI64ArrayAttr(permutation));
  step::CollectiveDoneOp::create(builder, loc, start.getToken());
  return to;
}

View ProgramLowering::padTo(const View &view, ArrayRef<int64_t> shape,
                            Operation *op) {
  if (ArrayRef<int64_t>(view.shape) == shape)
    return view;
  View padded = allocate(shape, view.element);
  fill(padded, cast<TypedAttr>(builder.getZeroAttr(view.element)), op);
  copy(view, padded.takeFront(view.shape), op);
  return padded;
}

namespace {
/// One cut of a dimension: axes of the group whose digits number its pieces.
struct Cut {
  AxisList axes;
  unsigned dim;
  int64_t pieces;
};
} // namespace

/// `view` with dimension sizes c0, c1, .. of the cuts in front, each taken out
/// of its dimension, whose size becomes that of a piece. Cuts of one dimension
/// are given major first.
static View splitCuts(const View &view, ArrayRef<Cut> cuts) {
  View result = view;
  SmallVector<int64_t> sizes, strides;
  for (const Cut &cut : cuts) {
    int64_t piece = result.shape[cut.dim] / cut.pieces;
    sizes.push_back(cut.pieces);
    strides.push_back(result.strides[cut.dim] * piece);
    result.shape[cut.dim] = piece;
  }
  result.shape.insert(result.shape.begin(), sizes.begin(), sizes.end());
  result.strides.insert(result.strides.begin(), strides.begin(), strides.end());
  return result;
}

/// The axes that each cut names, in one list.
static AxisList getAxes(ArrayRef<Cut> cuts) {
  AxisList axes;
  for (const Cut &cut : cuts)
    axes.append(cut.axes);
  return axes;
}

static SmallVector<Cut> getCuts(ArrayRef<AxisList> dimAxes) {
  SmallVector<Cut> cuts;
  for (auto [dim, axes] : llvm::enumerate(dimAxes))
    if (getSize(axes) > 1)
      cuts.push_back({axes, unsigned(dim), getSize(axes)});
  return cuts;
}

void ProgramLowering::lowerCollective(CollectiveOpInterface op) {
  const LocalInfo &info = infos.find(op)->second;
  Value result = op->getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  View input = getView(op->getOperand(0));
  ArrayRef<int64_t> shape = type.getShape();

  // The tensor `cuts` are taken out of, as chunks; and back.
  auto getWhole = [](ArrayRef<int64_t> piece, ArrayRef<Cut> cuts) {
    SmallVector<int64_t> whole(piece);
    for (const Cut &cut : cuts)
      whole[cut.dim] *= cut.pieces;
    return whole;
  };
  auto pack = [&](ArrayRef<int64_t> piece, ArrayRef<Cut> cuts) {
    return getDense(splitCuts(padTo(input, getWhole(piece, cuts), op), cuts),
                    op);
  };
  auto unpack = [&](const View &chunks, ArrayRef<int64_t> piece,
                    ArrayRef<Cut> cuts) {
    // Pieces of a dimension that nothing but ones stands before are in place.
    SmallVector<int64_t> whole = getWhole(piece, cuts);
    View joined;
    bool inPlace = cuts.size() == 1 &&
                   llvm::all_of(ArrayRef(piece).take_front(cuts[0].dim),
                                [](int64_t size) { return size == 1; });
    if (inPlace) {
      joined = *chunks.reshape(whole);
    } else {
      joined = ArrayRef<int64_t>(whole) == shape
                   ? allocateFor(result)
                   : allocate(whole, type.getElementType());
      copy(chunks, splitCuts(joined, cuts), op);
    }
    return joined.takeFront(shape);
  };
  auto allocateChunks = [&](ArrayRef<int64_t> piece, ArrayRef<Cut> cuts) {
    SmallVector<int64_t> sizes;
    for (const Cut &cut : cuts)
      sizes.push_back(cut.pieces);
    sizes.append(piece.begin(), piece.end());
    return allocate(sizes, type.getElementType());
  };

  switch (info.step.kind) {
  case CollectiveKind::AllReduce: {
    bool inPlace =
        !outputStorage.count(result) && mayOverwrite(op->getOperand(0), op);
    View from = getDense(input, op);
    View to = inPlace ? from : allocateFor(result);
    views[result] = exchange(step::CollectiveKind::AllReduce, info.step.axes,
                             from, to, toStep(info.sharding.kind));
    return;
  }
  case CollectiveKind::AllGather: {
    SmallVector<Cut> cuts = getCuts(info.step.dimAxes);
    View chunks =
        exchange(step::CollectiveKind::AllGather, getAxes(cuts),
                 getDense(input, op), allocateChunks(input.shape, cuts));
    views[result] = unpack(chunks, input.shape, cuts);
    return;
  }
  case CollectiveKind::ReduceScatter: {
    SmallVector<Cut> cuts = getCuts(info.step.dimAxes);
    views[result] = exchange(step::CollectiveKind::ReduceScatter, getAxes(cuts),
                             pack(shape, cuts), allocateFor(result),
                             toStep(info.sharding.kind));
    return;
  }
  case CollectiveKind::AllToAll: {
    // A move is a cut of the dimension it goes to on the way out, and of the
    // one it leaves on the way in; there its digits stand as they did before.
    SmallVector<Cut> out, in;
    SmallVector<int64_t> piece(input.shape);
    for (const AxisMove &move : info.step.moves) {
      out.push_back({{move.axis}, move.to, move.axis.size});
      in.push_back({{move.axis}, move.from, move.axis.size});
    }
    for (const Cut &cut : out)
      piece[cut.dim] = shape[cut.dim];
    auto getPlace = [&](const Cut &cut) {
      const AxisList &axes = info.sharding.dims[cut.dim].axes;
      for (auto [i, axis] : llvm::enumerate(axes))
        if (axis.contains(cut.axes[0]))
          return std::pair<size_t, int64_t>(i, cut.axes[0].pre);
      return std::pair<size_t, int64_t>(axes.size(), 0);
    };
    View chunks = exchange(step::CollectiveKind::AllToAll, getAxes(out),
                           pack(piece, out), allocateChunks(piece, out));
    // splitCuts takes the cuts of a dimension major first.
    SmallVector<int64_t> order =
        llvm::to_vector(llvm::seq<int64_t>(0, in.size()));
    llvm::sort(order, [&](int64_t a, int64_t b) {
      return getPlace(in[a]) < getPlace(in[b]);
    });
    SmallVector<Cut> sorted;
    SmallVector<int64_t> permutation;
    for (int64_t i : order) {
      sorted.push_back(in[i]);
      permutation.push_back(i);
    }
    for (size_t i = in.size(); i < chunks.shape.size(); ++i)
      permutation.push_back(i);
    views[result] = unpack(chunks.transpose(permutation), piece, sorted);
    return;
  }
  case CollectiveKind::CollectivePermute: {
    SmallVector<int64_t> sources =
        getPermuteSources(*mesh, info.sharding, info.step.result);
    SmallVector<int64_t> group = getGroups(*mesh, info.step.axes).front();
    SmallVector<int64_t> permutation;
    for (int64_t device : group)
      permutation.push_back(llvm::find(group, sources[device]) - group.begin());
    views[result] = exchange(step::CollectiveKind::CollectivePermute,
                             info.step.axes, getDense(input, op),
                             allocateFor(result), std::nullopt, permutation);
    return;
  }
  case CollectiveKind::AllSlice:
  case CollectiveKind::ToPartial:
    break; // row programs
  }
}

void ProgramLowering::lowerShift(ShiftOp op) {
  std::optional<unsigned> axis =
      mesh ? mesh->find(op.getAxis()) : std::optional<unsigned>();
  if (!axis)
    return void(fail(op, ErrorCode::UnknownAxis)
                << "the mesh has no axis \"" << op.getAxis() << "\"");
  int64_t size = mesh->axes[*axis].size, by = op.getBy();
  SmallVector<int64_t> permutation;
  for (int64_t place = 0; place < size; ++place) {
    int64_t from = place - by;
    bool wraps = op.getMode() == "wrap";
    if (wraps)
      from = (from % size + size) % size;
    permutation.push_back(from >= 0 && from < size ? from : -1);
  }
  views[op.getResult()] = exchange(
      step::CollectiveKind::CollectivePermute, AxisRef::full(*mesh, *axis),
      getDense(getView(op.getInput()), op), allocateFor(op.getResult()),
      std::nullopt, permutation);
}
