// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers collectives: packs the chunks that are sent, and views the chunks that
// are received.
//
// A tensor that is split along some dimensions is sent as chunks, one per
// device, each of which is a dense piece: [4, 6] split in two along its columns
// becomes [2][4, 3]. The chunks that arrive have the same layout. If the
// tensor is split along its first dimension, it is a view of these chunks.
// Otherwise, as here, the chunks are copied into a tensor.

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

void ProgramLowering::exchange(ArrayRef<LaunchPart> parts,
                               ArrayRef<AxisRef> axes) {
  SmallVector<Value> sources, destinations, tokens;
  for (const LaunchPart &part : parts) {
    sources.push_back(getBuffer(part.from));
    destinations.push_back(getBuffer(part.to));
  }
  for (auto [part, source, destination] :
       llvm::zip_equal(parts, sources, destinations)) {
    auto start = step::CollectiveStartOp::create(
        builder, loc, step::TokenType::get(builder.getContext()), part.kind,
        part.reduction
            ? step::ReductionAttr::get(builder.getContext(), *part.reduction)
            : step::ReductionAttr(),
        toAttr(builder.getContext(), *mesh, axes), source, destination,
        part.permutation.empty()
            ? DenseI64ArrayAttr()
            : builder.getDenseI64ArrayAttr(part.permutation),
        /*joined=*/!tokens.empty());
    tokens.push_back(start.getToken());
  }
  for (Value token : tokens)
    step::CollectiveDoneOp::create(builder, loc, token);
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
/// A split of one dimension into pieces, one per position along `axes`. The
/// axes belong to the collective's group.
struct Cut {
  AxisList axes;
  unsigned dim;
  int64_t pieces;
};
} // namespace

/// Splits the dimension of each cut: the number of pieces becomes a new
/// dimension in front, and the size of a piece replaces the size of the
/// dimension. Cuts of the same dimension must be in major-to-minor order.
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

static SmallVector<Cut> getCuts(ArrayRef<AxisList> dimAxes) {
  SmallVector<Cut> cuts;
  for (auto [dim, axes] : llvm::enumerate(dimAxes))
    if (getSize(axes) > 1)
      cuts.push_back({axes, unsigned(dim), getSize(axes)});
  return cuts;
}

/// The shape of the tensor that `cuts` split into pieces.
static SmallVector<int64_t> getWhole(ArrayRef<int64_t> piece,
                                     ArrayRef<Cut> cuts) {
  SmallVector<int64_t> whole(piece);
  for (const Cut &cut : cuts)
    whole[cut.dim] *= cut.pieces;
  return whole;
}

/// The numbers of pieces, followed by the shape of a piece.
static SmallVector<int64_t> getChunks(ArrayRef<int64_t> piece,
                                      ArrayRef<Cut> cuts) {
  SmallVector<int64_t> sizes;
  for (const Cut &cut : cuts)
    sizes.push_back(cut.pieces);
  sizes.append(piece.begin(), piece.end());
  return sizes;
}

namespace {
/// One tensor of a launch. Every piece that is sent or received has the shape
/// `piece`. `out` cuts the operand into sent pieces, and `in` cuts the result
/// into received pieces.
struct Transfer {
  SmallVector<int64_t> piece;
  SmallVector<Cut> out, in;
  /// Only set for an all-to-all. Its received pieces are numbered in the order
  /// of `out`; this permutation brings them into the order of `in`.
  SmallVector<int64_t> order;
};
} // namespace

static Transfer getTransfer(const LocalInfo &info, ArrayRef<int64_t> input,
                            ArrayRef<int64_t> result) {
  Transfer transfer;
  transfer.piece.assign(input.begin(), input.end());
  switch (info.step.kind) {
  case CollectiveKind::AllGather:
    transfer.in = getCuts(info.step.dimAxes);
    break;
  case CollectiveKind::ReduceScatter:
    transfer.piece.assign(result.begin(), result.end());
    transfer.out = getCuts(info.step.dimAxes);
    break;
  case CollectiveKind::AllToAll: {
    // A move takes an axis from dimension `from` to dimension `to`: cuts the
    // operand along `to`, and the result along `from`. Along `from`, pieces are
    // in the order of the axes in the operand's sharding.
    SmallVector<Cut> in;
    for (const AxisMove &move : info.step.moves) {
      transfer.out.push_back({{move.axis}, move.to, move.axis.size});
      in.push_back({{move.axis}, move.from, move.axis.size});
    }
    for (const Cut &cut : transfer.out)
      transfer.piece[cut.dim] = result[cut.dim];
    auto getPlace = [&](const Cut &cut) {
      const AxisList &axes = info.sharding.dims[cut.dim].axes;
      for (auto [i, axis] : llvm::enumerate(axes))
        if (axis.contains(cut.axes[0]))
          return std::pair<size_t, int64_t>(i, cut.axes[0].pre);
      return std::pair<size_t, int64_t>(axes.size(), 0);
    };
    // splitCuts expects the cuts of a dimension in major-to-minor order.
    transfer.order = llvm::to_vector(llvm::seq<int64_t>(0, in.size()));
    llvm::sort(transfer.order, [&](int64_t a, int64_t b) {
      return getPlace(in[a]) < getPlace(in[b]);
    });
    for (int64_t i : transfer.order)
      transfer.in.push_back(in[i]);
    break;
  }
  case CollectiveKind::AllReduce:
  case CollectiveKind::CollectivePermute:
  case CollectiveKind::AllSlice:
  case CollectiveKind::ToPartial:
    break;
  }
  return transfer;
}

/// The view of one tensor's chunks in a buffer that several tensors share.
/// Consecutive chunks in the buffer are `stride` elements apart. The first
/// `chunks` dimensions of `shape` number the chunks.
static View getTenant(const View &buffer, int64_t offset, int64_t stride,
                      ArrayRef<int64_t> shape, size_t chunks) {
  View part = buffer;
  part.offset = offset;
  part.shape.assign(shape.begin(), shape.end());
  part.strides = step::getDenseStrides(shape);
  int64_t size = 1;
  for (size_t i = chunks; i-- > 0;) {
    part.strides[i] = stride * size;
    size *= shape[i];
  }
  return part;
}

static step::CollectiveKind toStep(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return step::CollectiveKind::AllReduce;
  case CollectiveKind::AllGather:
    return step::CollectiveKind::AllGather;
  case CollectiveKind::ReduceScatter:
    return step::CollectiveKind::ReduceScatter;
  case CollectiveKind::AllToAll:
    return step::CollectiveKind::AllToAll;
  case CollectiveKind::CollectivePermute:
    return step::CollectiveKind::CollectivePermute;
  case CollectiveKind::AllSlice:
  case CollectiveKind::ToPartial:
    break;
  }
  llvm_unreachable("these collectives are lowered to row programs");
}

/// Lowers one launch, which sends one tensor or several. Tensors that differ
/// only in shape are packed into one buffer.
class ProgramLowering::CollectiveBuilder {
public:
  CollectiveBuilder(ProgramLowering &lowering, CollectiveOpInterface op,
                    ArrayRef<LocalInfo> parts)
      : lowering(lowering), op(op), infos(parts) {
    for (auto [part, operand, result] :
         llvm::zip_equal(parts, op->getOperands(), op->getResults()))
      transfers.push_back(getTransfer(
          part, cast<RankedTensorType>(operand.getType()).getShape(),
          cast<RankedTensorType>(result.getType()).getShape()));
  }

  void run();

private:
  /// The tensors of one buffer.
  struct Pack {
    SmallVector<unsigned> parts;
    SmallVector<int64_t> offsets; ///< In a chunk, by part.
    int64_t length = 0;           ///< Of a chunk.
  };

  View split(unsigned i);
  View join(unsigned i, View chunks);
  bool mayShare(unsigned a, unsigned b);
  LaunchPart describe(unsigned part) const;
  LaunchPart fillOne(unsigned part);
  LaunchPart fill(Pack &pack);
  void empty(const Pack &pack, const View &received);

  ProgramLowering &lowering;
  CollectiveOpInterface op;
  ArrayRef<LocalInfo> infos;       ///< One per tensor.
  std::vector<Transfer> transfers; ///< One per tensor.
};

/// Splits operand `i` into the chunks to send.
View ProgramLowering::CollectiveBuilder::split(unsigned i) {
  const Transfer &transfer = transfers[i];
  View input = lowering.getView(op->getOperand(i));
  return splitCuts(
      lowering.padTo(input, getWhole(transfer.piece, transfer.out), op),
      transfer.out);
}

/// Joins the received `chunks` into result `i`.
View ProgramLowering::CollectiveBuilder::join(unsigned i, View chunks) {
  const Transfer &transfer = transfers[i];
  Value result = op->getResult(i);
  auto type = cast<RankedTensorType>(result.getType());
  ArrayRef<Cut> cuts = transfer.in;
  if (cuts.empty())
    return chunks;
  if (!transfer.order.empty()) {
    SmallVector<int64_t> permutation(transfer.order);
    for (size_t d = cuts.size(); d < chunks.shape.size(); ++d)
      permutation.push_back(d);
    chunks = chunks.transpose(permutation);
  }
  // Pieces of a dimension are already in place if all dimensions before it have
  // size 1.
  SmallVector<int64_t> whole = getWhole(transfer.piece, cuts);
  bool inPlace = chunks.isDense() && cuts.size() == 1 &&
                 llvm::all_of(ArrayRef(transfer.piece).take_front(cuts[0].dim),
                              [](int64_t size) { return size == 1; });
  View joined;
  if (inPlace) {
    joined = *chunks.reshape(whole);
  } else {
    joined = ArrayRef<int64_t>(whole) == type.getShape()
                 ? lowering.allocateFor(result)
                 : lowering.allocate(whole, type.getElementType());
    lowering.copy(chunks, splitCuts(joined, cuts), op);
  }
  return joined.takeFront(type.getShape());
}

/// Returns true if two tensors may be packed into one buffer.
bool ProgramLowering::CollectiveBuilder::mayShare(unsigned a, unsigned b) {
  auto elementOf = [&](unsigned part) {
    return cast<RankedTensorType>(op->getOperand(part).getType())
        .getElementType();
  };
  CollectiveKind kind = infos[a].step.kind;
  if (kind != infos[b].step.kind || elementOf(a) != elementOf(b))
    return false;
  if (kind == CollectiveKind::CollectivePermute)
    return op.getPartInSharding(a) == op.getPartInSharding(b) &&
           op.getPartOutSharding(a) == op.getPartOutSharding(b);
  return !isReduction(kind) || infos[a].sharding.kind == infos[b].sharding.kind;
}

/// Returns what the exchange of a tensor does, without its buffers.
LaunchPart ProgramLowering::CollectiveBuilder::describe(unsigned part) const {
  const LocalInfo &info = infos[part];
  LaunchPart exchange = {toStep(info.step.kind)};
  if (isReduction(info.step.kind))
    exchange.reduction = toStep(info.sharding.kind);
  if (info.step.kind != CollectiveKind::CollectivePermute)
    return exchange;
  const Mesh &mesh = *lowering.mesh;
  SmallVector<int64_t> sources =
      getPermuteSources(mesh, info.sharding, info.step.result);
  SmallVector<int64_t> group = getGroups(mesh, info.step.axes).front();
  for (int64_t device : group)
    exchange.permutation.push_back(llvm::find(group, sources[device]) -
                                   group.begin());
  return exchange;
}

/// Prepares the exchange of a tensor that is sent from its own memory.
LaunchPart ProgramLowering::CollectiveBuilder::fillOne(unsigned part) {
  const Transfer &transfer = transfers[part];
  LaunchPart exchange = describe(part);
  Value result = op->getResult(part);
  exchange.from = lowering.getDense(split(part), op);
  bool inPlace = exchange.kind == step::CollectiveKind::AllReduce &&
                 !lowering.outputStorage.count(result) &&
                 lowering.mayOverwrite(op->getOperand(part), op);
  exchange.to =
      inPlace ? exchange.from
      : transfer.in.empty()
          ? lowering.allocateFor(result)
          : lowering.allocate(getChunks(transfer.piece, transfer.order.empty()
                                                            ? transfer.in
                                                            : transfer.out),
                              exchange.from.element);
  return exchange;
}

/// Packs the tensors into a buffer. Each chunk that is sent contains a chunk of
/// every tensor.
LaunchPart ProgramLowering::CollectiveBuilder::fill(Pack &pack) {
  int64_t out = 1, in = 1;
  for (unsigned part : pack.parts) {
    pack.offsets.push_back(pack.length);
    pack.length += ShapedType::getNumElements(transfers[part].piece);
  }
  unsigned first = pack.parts.front();
  for (const Cut &cut : transfers[first].out)
    out *= cut.pieces;
  for (const Cut &cut : transfers[first].in)
    in *= cut.pieces;
  Type element = lowering.getView(op->getOperand(first)).element;
  LaunchPart exchange = describe(first);
  exchange.from = lowering.allocate({out * pack.length}, element);
  for (auto [part, offset] : llvm::zip_equal(pack.parts, pack.offsets)) {
    const Transfer &transfer = transfers[part];
    lowering.copy(split(part),
                  getTenant(exchange.from, offset, pack.length,
                            getChunks(transfer.piece, transfer.out),
                            transfer.out.size()),
                  op);
  }
  exchange.to = exchange.kind == step::CollectiveKind::AllReduce
                    ? exchange.from
                    : lowering.allocate({in * pack.length}, element);
  return exchange;
}

void ProgramLowering::CollectiveBuilder::empty(const Pack &pack,
                                               const View &received) {
  for (auto [part, offset] : llvm::zip_equal(pack.parts, pack.offsets)) {
    const Transfer &transfer = transfers[part];
    // Received chunks are numbered in the same order as the sent ones, which
    // for an all-to-all is the order of `out`.
    ArrayRef<Cut> cuts = transfer.order.empty() ? transfer.in : transfer.out;
    lowering.views[op->getResult(part)] =
        join(part, getTenant(received, offset, pack.length,
                             getChunks(transfer.piece, cuts), cuts.size()));
  }
}

void ProgramLowering::CollectiveBuilder::run() {
  SmallVector<Pack> packs;
  for (unsigned part = 0; part < transfers.size(); ++part) {
    auto pack = llvm::find_if(packs, [&](const Pack &pack) {
      return mayShare(pack.parts.front(), part);
    });
    (pack == packs.end() ? packs.emplace_back() : *pack).parts.push_back(part);
  }
  std::vector<LaunchPart> exchanges;
  for (Pack &pack : packs)
    exchanges.push_back(pack.parts.size() == 1 ? fillOne(pack.parts.front())
                                               : fill(pack));
  lowering.exchange(exchanges, getGroupAxes(infos.front().step));
  for (auto [pack, exchange] : llvm::zip_equal(packs, exchanges)) {
    unsigned first = pack.parts.front();
    if (pack.parts.size() == 1)
      lowering.views[op->getResult(first)] = join(first, exchange.to);
    else
      empty(pack, exchange.to);
  }
}

void ProgramLowering::lowerCollective(CollectiveOpInterface op) {
  ArrayRef<LocalInfo> parts = infos.find(op)->second;
  if (!isFree(parts.front().step.kind)) // free ones are row programs
    CollectiveBuilder(*this, op, parts).run();
}

void ProgramLowering::lowerShift(ShiftOp op) {
  if (!mesh || op.getMesh() != mesh->name)
    return void(
        fail(op, ErrorCode::UnknownMesh)
        << "the mesh of the collective differs from the mesh of the program: @"
        << op.getMesh());
  AxisList axes = resolveAxes(op.getAxes().getAxes(), *mesh);
  int64_t size = getSize(axes);
  SmallVector<int64_t> permutation;
  for (int64_t place = 0; place < size; ++place)
    permutation.push_back(op.getSender(place, size).value_or(-1));
  View from = getDense(getView(op.getInput()), op);
  View to = allocatePart(op.getResult());
  if (!to.isDense())
    to = allocateFor(op.getResult());
  to.strides = step::getDenseStrides(to.shape);
  exchange({{step::CollectiveKind::CollectivePermute,
             /*reduction=*/std::nullopt, permutation, from, to}},
           axes);
  views[op.getResult()] = to;
}
