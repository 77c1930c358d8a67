// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lowers scatters and sorts: ops in which values determine where elements go.
// The steps support tensors of fixed rank, to which all tensors are reshaped.

#include "Lowering.h"

#include "lib/Codegen/Sort.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// The product of sizes.
static int64_t getProduct(ArrayRef<int64_t> sizes) {
  return ShapedType::getNumElements(sizes);
}

/// Reshapes the tensors to four dimensions: batches, dimensions before the
/// axis, the axis, and dimensions after the axis.
void ProgramLowering::lowerScatter(ScatterOp op) {
  View to = getOwn(op.getInput(), op.getResult(), op);
  View updates = getView(op.getUpdates()), indices = getView(op.getIndices());
  int64_t axis = op.getAxis(), batch = op.getBatchDims();
  ArrayRef<int64_t> shape = to.shape;
  int64_t batches = getProduct(shape.take_front(batch));
  int64_t outer = getProduct(shape.slice(batch, axis - batch));
  int64_t inner = getProduct(shape.drop_front(axis + 1));
  int64_t count = getProduct(ArrayRef(indices.shape).drop_front(batch));
  View flat = getReshaped(to, {batches, outer, shape[axis], inner}, op);
  updates = getReshaped(updates, {batches, outer, count, inner}, op);
  indices = getReshaped(indices, {batches, count}, op);
  step::ScatterOp::create(builder, loc, step::ScatterKind(op.getKind()),
                          getBuffer(updates), getBuffer(indices),
                          getBuffer(flat));
  views[op.getResult()] = to;
}

/// Usually, one step sorts whole rows. If the rows are long and the target
/// sorts with kernels, one step sorts parts of the rows, and further steps
/// merge the sorted parts.
std::pair<Value, Value>
ProgramLowering::sortRows(const View &source, int64_t kept, bool descending) {
  int64_t rows = source.shape[0], columns = source.shape[1];
  auto allocateRows = [&](int64_t length) {
    return std::pair(getBuffer(allocate({rows, length}, source.element)),
                     getBuffer(allocate({rows, length}, builder.getI32Type())));
  };
  Value from = getBuffer(source);
  SortPlan plan = {columns, kept, 1};
  if (target.sortsByKernels())
    plan = getSortPlan(rows, columns, kept,
                       8 * step::getElementBytes(source.element));
  if (plan.part >= columns) {
    auto [values, indices] = allocateRows(kept);
    step::SortOp::create(builder, loc, from, values, indices, descending);
    return {values, indices};
  }
  int64_t total = columns / plan.part * plan.kept +
                  std::min(columns % plan.part, plan.kept);
  auto [values, indices] = allocateRows(total);
  step::SortPartsOp::create(builder, loc, from, values, indices, plan.part,
                            plan.kept, descending);
  for (int64_t run = plan.kept; run < total; run *= plan.ways) {
    bool isLast = run * plan.ways >= total;
    auto [merged, places] = allocateRows(isLast ? kept : total);
    step::MergeOp::create(builder, loc, values, indices, merged, places, run,
                          plan.ways, descending);
    values = merged;
    indices = places;
  }
  return {values, indices};
}

void ProgramLowering::lowerSort(Value input, int64_t dim, bool descending,
                                Value values, Value indices) {
  View view = getView(input);
  int64_t rank = view.shape.size();
  SmallVector<int64_t> toLast, back(rank);
  for (int64_t i = 0; i < rank; ++i)
    if (i != dim)
      toLast.push_back(i);
  toLast.push_back(dim);
  for (auto [to, from] : llvm::enumerate(toLast))
    back[from] = to;
  Operation *op = values.getDefiningOp();
  View rows = view.transpose(toLast);
  int64_t columns = rows.shape.back();
  int64_t count = getProduct(ArrayRef(rows.shape).drop_back());
  int64_t kept = cast<RankedTensorType>(values.getType()).getDimSize(dim);
  rows.shape.back() = kept; // the shape of the results
  View source = getReshaped(view.transpose(toLast), {count, columns}, op);
  auto [sorted, places] = sortRows(source, kept, descending);
  for (auto [result, buffer] :
       {std::pair(values, sorted), std::pair(indices, places)})
    views[result] = View(buffer).reshape(rows.shape)->transpose(back);
}
