// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Regions written for one device. What the user computes there is up to them,
// so that these are regions in which every device computes its own part of a
// value that has a meaning: element by element, with rings and collectives
// where blocks are full. Axes that are left free may cut what is inside, where
// any op may stand: sorts, and loops and branches that differ by device.

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

/// Puts blocks together from the device's place on, and takes one out again.
static Value turn(Author &author, Value x, const AxisRef &axis) {
  SmallVector<int64_t> shape(Author::shapeOf(x));
  if (shape.empty())
    return x;
  int64_t dim = author.random.draw(0, shape.size() - 1);
  shape[dim] *= axis.size;
  SmallVector<Value> blocks{x};
  while (int64_t(blocks.size()) < axis.size)
    blocks.push_back(
        author.create("tp.neg", blocks.back(), x.getType())->getResult(0));
  auto axes = toAttr(author.builder.getContext(), author.mesh, axis);
  Value whole = AssembleOp::create(author.builder, author.loc,
                                   author.type(shape, Author::elementOf(x)),
                                   blocks, dim, author.mesh.name, axes);
  return BlockOp::create(author.builder, author.loc, x.getType(), whole, dim,
                         author.mesh.name, axes,
                         author.random.draw(0, axis.size - 1));
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

/// Cuts a tensor of `shape`, which lies as `layout`, along axes that `manual`
/// leaves free, evenly, or leaves that to propagation.
static TensorSharding addFree(Author &author, TensorSharding layout,
                              ArrayRef<int64_t> shape,
                              ArrayRef<AxisRef> manual) {
  AxisList used(manual);
  for (auto [dim, size] : llvm::zip_equal(layout.dims, shape)) {
    dim.open = author.random.percent(60);
    std::optional<AxisRef> axis = author.drawAxis(used);
    if (!axis || !author.random.percent(40))
      continue;
    DimSharding longer = dim;
    longer.axes.push_back(*axis);
    if (BlockLayout{size, getSize(longer.axes)}.isUneven())
      continue;
    dim = longer;
    used.push_back(*axis);
  }
  return layout;
}

/// Sizes that are multiples of those of axes.
static Shape drawSmoothShape(Author &author) {
  Shape shape;
  for (int64_t rank = author.random.draw(1, 3); rank > 0; --rank) {
    int64_t size = author.random.draw(1, 2);
    for (const Axis &axis : author.mesh.axes)
      if (author.random.percent(60) && size * axis.size <= 12)
        size *= axis.size;
    shape.push_back(size);
  }
  return shape;
}

static void addManual(Author &author) {
  if (author.isIsolated())
    return;
  // Mostly what some axes cut evenly, by which more can be done.
  bool isSmooth = author.random.percent(60);
  Value x = isSmooth ? author.get(drawSmoothShape(author),
                                  author.element(Elements::Number))
                     : author.pick(Elements::Number, /*minRank=*/1);
  RankedTensorType type = Author::typeOf(x);
  // Whole axes, all of them manual.
  TensorSharding layout = TensorSharding::replicate(type.getRank());
  AxisList used;
  for (DimSharding &dim : layout.dims)
    if (std::optional<AxisRef> axis = author.drawAxis(used);
        axis && axis->isFull(author.mesh) &&
        author.random.percent(isSmooth && !used.empty() ? 20 : 70)) {
      dim.axes.push_back(*axis);
      used.push_back(*axis);
    }
  if (used.empty())
    return;
  OpBuilder &builder = author.builder;
  auto draw = [&]() -> ArrayAttr {
    return builder.getArrayAttr(
        author.toAttr(addFree(author, layout, type.getShape(), used)));
  };
  ArrayAttr in = draw(), out = draw();
  auto manual =
      ManualOp::create(builder, author.loc, type, x, in, out,
                       toAttr(builder.getContext(), author.mesh, used));
  bool isInexact = author.isInexact(x);
  Block *body = new Block();
  manual.getBody().push_back(body);
  auto local = RankedTensorType::get(getLocalShape(layout, type.getShape()),
                                     type.getElementType());
  Value value = body->addArgument(local, author.loc);
  bool isEven = !hasPadding(layout, type.getShape());
  author.inIsolation(body, [&] {
    for (int64_t i = author.random.draw(0, 4); i > 0; --i) {
      AxisRef axis = author.random.pick(ArrayRef<AxisRef>(used));
      if (isEven && author.random.percent(40)) {
        if (isInexact)
          author.markInexact(value);
        author.offer(value);
        author.writeOps(author.random.draw(1, 4));
        value = author.get(local);
        isInexact |= author.isInexact(value);
      } else if (isEven && author.random.percent(30))
        value = ConstraintOp::create(
            builder, author.loc, local, value,
            author.toAttr(addFree(author,
                                  TensorSharding::replicate(local.getRank()),
                                  local.getShape(), used)));
      else if (author.random.percent(40))
        value = author
                    .create("tp.add", {value, makePlace(author, value, axis)},
                            local)
                    ->getResult(0);
      else if (isEven && author.random.percent(50))
        value = exchange(author, value, axis);
      else if (isEven && author.random.percent(40))
        value = turn(author, value, axis);
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
  if (isInexact)
    author.markInexact(manual.getResult(0));
}

void tp::fuzz::addManualRegions(Generators &generators) {
  generators["spmd.manual"] = addManual;
}
