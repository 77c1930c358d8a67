// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Replaces spmd.block and spmd.assemble by dynamic slices if not all blocks
// begin at addresses with the alignment that buffers need. A dynamic slice
// copies its block.

#include "LegalizeForStep.h"

#include "dialects/TP/Emitter.h"
#include "tpopt/Dialect/Step/Step.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

namespace {

/// Rewrites a BlockOp or an AssembleOp as a dynamic slice.
class BlockCopier {
public:
  /// `block` is one of `places` blocks along `dim`.
  template <typename OpT>
  BlockCopier(OpT op, Value block, int64_t places)
      : builder(op), emit(builder, op.getLoc()), op(op), mesh(op.getMeshAttr()),
        axes(op.getAxes()), dim(op.getDim()), places(places),
        size(typeOf(block).getDimSize(dim)) {}

  Value take(BlockOp block) {
    Value index = emit.binary<AddOp>(getPlace(), number(block.getPlus()));
    return sliceAt(block.getInput(), index);
  }

  /// Concatenates all blocks twice, so that a slice that begins at any of them
  /// contains all of them in order.
  Value assemble(AssembleOp assemble) {
    SmallVector<Value> twice(assemble.getInputs());
    llvm::append_range(twice, assemble.getInputs());
    return sliceAt(emit.concat(twice, dim),
                   emit.binary<SubOp>(number(places), getPlace()));
  }

private:
  Value number(int64_t value) {
    return emit.constant(value,
                         RankedTensorType::get({}, builder.getI32Type()));
  }

  Value getPlace() {
    return AxisIndexOp::create(builder, op->getLoc(),
                               RankedTensorType::get({}, builder.getI32Type()),
                               mesh, axes);
  }

  /// The op's result: a slice of `input` that begins with block `index`, modulo
  /// the number of blocks.
  Value sliceAt(Value input, Value index) {
    Value wrapped =
        emit.select(emit.compare(ComparePredicate::GE, index, number(places)),
                    emit.binary<SubOp>(index, number(places)), index);
    ArrayRef<int64_t> shape = typeOf(op->getResult(0)).getShape();
    SmallVector<Value> starts(shape.size(), number(0));
    starts[dim] = emit.binary<MulOp>(wrapped, number(size));
    return emit.dynamicSlice(input, starts, shape);
  }

  OpBuilder builder;
  Emitter emit;
  Operation *op;
  FlatSymbolRefAttr mesh;
  AxisListAttr axes;
  int64_t dim, places, size;
};

} // namespace

/// Returns true if each of the blocks along `dim` of a dense tensor begins at
/// an address with the alignment of buffers.
static bool areAligned(Value block, int64_t dim) {
  RankedTensorType type = typeOf(block);
  int64_t elements = 1;
  for (int64_t size : type.getShape().drop_front(dim))
    elements *= size;
  return elements * step::getElementBytes(type.getElementType()) %
             step::kArenaAlignment ==
         0;
}

void tp::copyUnalignedBlocks(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    Value copied;
    if (auto take = dyn_cast<BlockOp>(op)) {
      int64_t dim = take.getDim();
      if (areAligned(take.getResult(), dim))
        continue;
      copied = BlockCopier(take, take.getResult(),
                           typeOf(take.getInput()).getDimSize(dim) /
                               typeOf(take.getResult()).getDimSize(dim))
                   .take(take);
    } else if (auto assemble = dyn_cast<AssembleOp>(op)) {
      Value first = assemble.getInputs().front();
      if (areAligned(first, assemble.getDim()))
        continue;
      copied = BlockCopier(assemble, first, assemble.getInputs().size())
                   .assemble(assemble);
    } else {
      continue;
    }
    op.getResult(0).replaceAllUsesWith(copied);
    op.erase();
  }
}
