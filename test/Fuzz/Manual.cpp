// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Regions written for one device. What the user computes there is up to them,
// so that these are regions in which every device computes its own part of a
// value that has a meaning: element by element, with rings and collectives
// where blocks are full.

#include "Author.h"

using namespace mlir;
using namespace tp;
using namespace tp::fuzz;
using namespace tp::spmd;

/// The device's number along `axes`, as many times as `like` has elements.
static Value makePlace(Author &author, Value like, ArrayRef<AxisRef> axes) {
  OpBuilder &builder = author.builder;
  Value place = AxisIndexOp::create(
      builder, author.loc, author.type({}, builder.getI32Type()),
      FlatSymbolRefAttr::get(builder.getContext(), author.mesh.name),
      toAttr(builder.getContext(), author.mesh, axes));
  if (!Author::elementOf(like).isSignlessInteger(32))
    place = ConvertOp::create(builder, author.loc,
                              author.type({}, Author::elementOf(like)), place);
  return BroadcastOp::create(builder, author.loc, like.getType(), place,
                             ArrayRef<int64_t>());
}

/// The collective that leads `x` from one sharding of its dimensions along
/// manual axes to another; null if there is none.
static Value send(Author &author, CollectiveKind kind, Value x,
                  const TensorSharding &from, const TensorSharding &to) {
  SmallVector<int64_t> global(Author::typeOf(x).getShape());
  for (auto [size, dim] : llvm::zip_equal(global, from.dims))
    size *= getSize(dim.axes);
  llvm::Expected<ReshardStep> step =
      makeStep(author.mesh, kind, from, to, global);
  if (!step) {
    llvm::consumeError(step.takeError());
    return {};
  }
  for (auto [size, dim] : llvm::zip_equal(global, to.dims))
    if (size % getSize(dim.axes))
      return {};
    else
      size /= getSize(dim.axes);
  return createCollective(author.builder, author.loc, x, author.mesh, from,
                          *step, author.type(global, Author::elementOf(x)));
}

/// Sends `x` somewhere, and back to its shape; `x` itself if that does not work
/// out.
static Value exchange(Author &author, Value x, const AxisRef &axis) {
  int64_t rank = Author::typeOf(x).getRank();
  unsigned dim = author.random.draw(0, rank - 1);
  unsigned other = author.random.draw(0, rank - 1);
  TensorSharding whole = TensorSharding::replicate(rank), cut = whole,
                 elsewhere = whole, partial = whole;
  cut.dims[dim].axes = {axis};
  elsewhere.dims[other].axes = {axis};
  partial.unreduced = {axis};
  partial.kind =
      author.random.pick({ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min});
  Value there, back;
  switch (author.random.draw(0, 3)) {
  case 0:
    back = send(author, CollectiveKind::AllReduce, x, partial, whole);
    break;
  case 1:
    if ((there = send(author, CollectiveKind::AllGather, x, cut, whole)))
      back = send(author, CollectiveKind::ReduceScatter, there, partial, cut);
    break;
  case 2:
    if ((there = send(author, CollectiveKind::AllGather, x, cut, whole)))
      back = send(author, CollectiveKind::AllSlice, there, whole, cut);
    break;
  case 3:
    if (dim != other &&
        (there = send(author, CollectiveKind::AllToAll, x, cut, elsewhere))) {
      there = author.create("tp.neg", there, there.getType())->getResult(0);
      back = send(author, CollectiveKind::AllToAll, there, elsewhere, cut);
    }
    break;
  }
  return back ? back : x;
}

static void addManual(Author &author) {
  if (author.isIsolated())
    return;
  Value x = author.pick(Elements::Number, /*minRank=*/1);
  RankedTensorType type = Author::typeOf(x);
  // Whole axes, all of them manual.
  TensorSharding layout = TensorSharding::replicate(type.getRank());
  AxisList used;
  for (DimSharding &dim : layout.dims)
    if (std::optional<AxisRef> axis = author.drawAxis(used);
        axis && axis->isFull(author.mesh) && axis->size > 1 &&
        author.random.percent(70)) {
      dim.axes.push_back(*axis);
      used.push_back(*axis);
    }
  if (used.empty())
    return;
  OpBuilder &builder = author.builder;
  ShardingAttr attribute = author.toAttr(layout);
  auto manual = ManualOp::create(
      builder, author.loc, type, x, builder.getArrayAttr({attribute}),
      builder.getArrayAttr({attribute}),
      toAttr(builder.getContext(), author.mesh, used));
  Block *body = new Block();
  manual.getBody().push_back(body);
  auto local = RankedTensorType::get(getLocalShape(layout, type.getShape()),
                                     type.getElementType());
  Value value = body->addArgument(local, author.loc);
  author.inIsolation(body, [&] {
    for (int64_t i = author.random.draw(0, 3); i > 0; --i) {
      AxisRef axis = author.random.pick(ArrayRef<AxisRef>(used));
      bool isEven = true;
      for (auto [dim, size] : llvm::zip_equal(layout.dims, type.getShape()))
        isEven &= !BlockLayout{size, getSize(dim.axes)}.isUneven();
      if (author.random.percent(40))
        value = author
                    .create("tp.add", {value, makePlace(author, value, axis)},
                            local)
                    ->getResult(0);
      else if (isEven && author.random.percent(50))
        value = exchange(author, value, axis);
      else if (isEven)
        value =
            ShiftOp::create(builder, author.loc, local, value, author.mesh.name,
                            toAttr(builder.getContext(), author.mesh, axis),
                            author.random.draw(-3, 3),
                            author.random.pick<StringRef>({"wrap", "fill"}));
      else
        value = author.create("tp.neg", value, local)->getResult(0);
    }
    ReturnOp::create(builder, author.loc, value);
  });
  author.add(manual);
}

void tp::fuzz::addManualRegions(Generators &generators) {
  generators["spmd.manual"] = addManual;
}
