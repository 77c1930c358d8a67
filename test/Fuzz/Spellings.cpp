// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One program written in two ways.

#include "Spellings.h"

#include "lib/Support/Random.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tp;
using namespace tp::fuzz;
using namespace tp::spmd;

namespace {

using Shape = SmallVector<int64_t>;

/// A chain of ops on activations of three dimensions.
class Speller {
public:
  Speller(MLIRContext &context, uint64_t seed, Spelling spelling)
      : random(scramble(seed)), ways(scramble(seed + 1)),
        isVaried(spelling == Spelling::Varied), builder(&context),
        loc(builder.getUnknownLoc()) {}

  OwningOpRef<ModuleOp> write();

private:
  /// Which of several ways to write the next op; the first in a plain program.
  int64_t drawWay(int64_t count) {
    int64_t way = ways.draw(0, count - 1);
    return isVaried ? way : 0;
  }
  RankedTensorType type(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }
  Shape shapeOf(Value value) {
    return Shape(cast<RankedTensorType>(value.getType()).getShape());
  }
  Value create(StringRef name, ValueRange operands, Type result) {
    OperationState state(loc, name);
    state.addOperands(operands);
    state.addTypes(result);
    return builder.create(state)->getResult(0);
  }
  Value transpose(Value x, ArrayRef<int64_t> order) {
    Shape shape;
    for (int64_t dim : order)
      shape.push_back(shapeOf(x)[dim]);
    return TransposeOp::create(builder, loc, type(shape), x, order);
  }
  Value einsum(StringRef equation, Value x, Value y, ArrayRef<int64_t> shape) {
    return EinsumOp::create(builder, loc, type(shape), equation, x, y);
  }
  Value reduce(Value x, ArrayRef<int64_t> dims);

  void drawMesh(ModuleOp module);
  Value addArgument(ArrayRef<int64_t> shape);
  Value multiply(Value x);
  Value slice(Value x);
  Value activate(Value x);
  Value addBias(Value x);
  Value center(Value x);

  /// What is computed, and how it is written.
  Random random, ways;
  bool isVaried;
  OpBuilder builder;
  Location loc;
  Mesh mesh;
  func::FuncOp function;
};

} // namespace

void Speller::drawMesh(ModuleOp module) {
  mesh.name = "mesh";
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (int64_t i = 0, e = random.draw(1, 2); i < e; ++i) {
    sizes.push_back(random.draw(2, 4));
    mesh.axes.push_back({std::string(1, char('x' + i)), sizes.back(), {}});
    names.push_back(builder.getStringAttr(mesh.axes.back().name));
  }
  builder.setInsertionPointToEnd(module.getBody());
  MeshOp::create(builder, loc, mesh.name,
                 MeshAttr::get(builder.getContext(), names, sizes, {}),
                 ArrayAttr());
}

/// With axes on some of its dimensions.
Value Speller::addArgument(ArrayRef<int64_t> shape) {
  TensorSharding sharding = TensorSharding::replicate(shape.size());
  SmallVector<int64_t> order = random.permutation(shape.size());
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis)
    if (random.percent(50) && axis < order.size())
      sharding.dims[order[axis]].axes = {AxisRef::full(mesh, axis)};
  unsigned index = function.getNumArguments();
  if (failed(function.insertArgument(index, type(shape), {}, loc)))
    return {};
  function.setArgAttr(index, kShardingAttr,
                      ShardingAttr::get(builder.getContext(), mesh, sharding));
  return function.getArgument(index);
}

Value Speller::multiply(Value x) {
  Shape shape = shapeOf(x);
  int64_t in = shape[2], out = 12 * random.draw(1, 4);
  Value w = addArgument({in, out});
  Shape result{shape[0], shape[1], out};
  switch (drawWay(5)) {
  case 0:
    return einsum("bsi,io->bso", x, w, result);
  case 1:
    return einsum("io,bsi->bso", w, x, result);
  case 2:
    return einsum("bsi,oi->bso", x, transpose(w, {1, 0}), result);
  case 3:
    return transpose(einsum("io,bsi->obs", w, x, {out, shape[0], shape[1]}),
                     {1, 2, 0});
  default:
    return einsum("ibs,io->bso", transpose(x, {2, 0, 1}), w, result);
  }
}

Value Speller::slice(Value x) {
  Shape shape = shapeOf(x), starts(3, 0), sizes = shape;
  int64_t dim = random.draw(0, 2);
  sizes[dim] = (shape[dim] + 1) / 2;
  starts[dim] = random.percent(50) ? 0 : shape[dim] - sizes[dim];
  if (drawWay(2) == 0)
    return SliceOp::create(builder, loc, type(sizes), x, starts, Shape(3, 1));
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  SmallVector<Value> places;
  for (int64_t start : starts)
    places.push_back(ConstantOp::create(
        builder, loc, scalar,
        DenseElementsAttr::get(scalar, builder.getI32IntegerAttr(start))));
  return DynamicSliceOp::create(builder, loc, type(sizes), x, places);
}

Value Speller::activate(Value x) {
  if (drawWay(2) == 0)
    return create("tp.relu", x, x.getType());
  auto all = cast<RankedTensorType>(x.getType());
  Value zero = ConstantOp::create(
      builder, loc, all,
      DenseElementsAttr::get(all, builder.getF32FloatAttr(0)));
  return create("tp.max", {x, zero}, all);
}

Value Speller::addBias(Value x) {
  Value bias = addArgument(shapeOf(x).back());
  Value wide = BroadcastOp::create(builder, loc, x.getType(), bias,
                                   ArrayRef<int64_t>{2});
  if (drawWay(2) == 0)
    return create("tp.add", {x, wide}, x.getType());
  return create("tp.add", {wide, x}, x.getType());
}

Value Speller::reduce(Value x, ArrayRef<int64_t> dims) {
  Shape kept;
  for (auto [dim, size] : llvm::enumerate(shapeOf(x)))
    if (!llvm::is_contained(dims, int64_t(dim)))
      kept.push_back(size);
  return ReduceOp::create(builder, loc, type(kept), ReductionKind::Sum, x,
                          dims);
}

/// Adds the sum over the last two dimensions.
Value Speller::center(Value x) {
  Value sum = drawWay(2) == 0 ? reduce(x, {1, 2}) : reduce(reduce(x, 2), 1);
  Value wide =
      BroadcastOp::create(builder, loc, x.getType(), sum, ArrayRef<int64_t>{0});
  return create("tp.sub", {x, wide}, x.getType());
}

OwningOpRef<ModuleOp> Speller::write() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  drawMesh(*module);
  function = func::FuncOp::create(builder, loc, "main",
                                  builder.getFunctionType({}, {}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  Value x = addArgument({12 * random.draw(1, 2), 12 * random.draw(1, 3), 24});
  for (int64_t i = random.draw(2, 6); i > 0; --i)
    switch (random.draw(0, 5)) {
    case 0:
      x = slice(x);
      break;
    case 1:
      x = activate(x);
      break;
    case 2:
      x = addBias(x);
      break;
    case 3:
      x = center(x);
      break;
    default:
      x = multiply(x);
    }
  func::ReturnOp::create(builder, loc, x);
  function.setType(
      builder.getFunctionType(entry->getArgumentTypes(), x.getType()));
  return module;
}

OwningOpRef<ModuleOp> tp::fuzz::spell(MLIRContext &context, uint64_t seed,
                                      Spelling spelling) {
  return Speller(context, seed, spelling).write();
}
