// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gives row programs fewer and longer dimensions, but splits a single long row.

#include "Lowering.h"

using namespace mlir;
using namespace tp;

/// Returns true if all operands can treat dimension `dim` of the domain and the
/// next one as a single dimension.
static bool canMerge(step::RowsOp rows, unsigned dim) {
  bool joinsRows = dim + 2 == rows.getDomain().size();
  for (Operation &op : rows.getBody().front()) {
    if (joinsRows && isa<step::ReduceOp>(op))
      return false;
    if (auto index = dyn_cast<step::IndexOp>(op))
      if (index.getDim() == dim || index.getDim() == dim + 1)
        return false;
  }
  for (BlockArgument argument : rows.getBody().getArguments()) {
    // Accesses at explicit indices do not use the domain's dimensions.
    bool atPoint = llvm::any_of(argument.getUsers(), [](Operation *user) {
      auto load = dyn_cast<step::LoadOp>(user);
      auto store = dyn_cast<step::StoreOp>(user);
      return (load && load.getIndices().empty()) ||
             (store && store.getIndices().empty());
    });
    if (!atPoint)
      continue;
    auto type = cast<MemRefType>(argument.getType());
    step::Strides layout(type);
    int64_t size = type.getDimSize(dim + 1);
    if (size != rows.getDomain()[dim + 1])
      return false; // one value per row
    if (layout.strides[dim] != layout.strides[dim + 1] * size)
      return false;
  }
  return true;
}

/// Returns true if an operand is accessed by index somewhere, so that its type
/// must not change.
static bool isIndexed(BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), [](Operation *user) {
    auto load = dyn_cast<step::LoadOp>(user);
    auto store = dyn_cast<step::StoreOp>(user);
    return (load && !load.getIndices().empty()) ||
           (store && !store.getIndices().empty());
  });
}

/// Gives the operands of `rows` the sizes and strides that `reshape` computes
/// from their current ones.
static void setDomain(step::RowsOp rows, ArrayRef<int64_t> domain,
                      function_ref<void(SmallVectorImpl<int64_t> &shape,
                                        SmallVectorImpl<int64_t> &strides)>
                          reshape) {
  OpBuilder builder(rows);
  rows.setDomain(domain);
  for (BlockArgument argument : rows.getBody().getArguments()) {
    if (isIndexed(argument))
      continue;
    auto type = cast<MemRefType>(argument.getType());
    step::Strides layout(type);
    SmallVector<int64_t> shape(type.getShape()), strides(layout.strides);
    reshape(shape, strides);
    MemRefType changed = step::getBufferType(shape, type.getElementType(),
                                             strides, layout.offset);
    OpOperand &operand = rows->getOpOperand(argument.getArgNumber());
    auto view = operand.get().getDefiningOp<step::ViewOp>();
    Value root = step::getRoot(operand.get());
    bool moves = view && view.getBy();
    if (moves || root.getType() != changed) {
      auto made = step::ViewOp::create(builder, rows.getLoc(), changed, root);
      if (moves)
        made.getProperties() = view.getProperties();
      root = made;
    }
    operand.set(root);
    argument.setType(changed);
  }
}

static void merge(step::RowsOp rows, unsigned dim) {
  SmallVector<int64_t> domain(rows.getDomain());
  domain[dim] *= domain[dim + 1];
  domain.erase(domain.begin() + dim + 1);
  rows.walk([&](step::IndexOp index) {
    if (index.getDim() > dim)
      index.setDim(index.getDim() - 1);
  });
  setDomain(
      rows, domain,
      [&](SmallVectorImpl<int64_t> &shape, SmallVectorImpl<int64_t> &strides) {
        shape[dim] *= shape[dim + 1];
        strides[dim] = strides[dim + 1];
        shape.erase(shape.begin() + dim + 1);
        strides.erase(strides.begin() + dim + 1);
      });
}

/// Splits a single long row, so that several threads can share it.
static void cutRow(step::RowsOp rows) {
  constexpr int64_t longest = 4096, shortest = 256, unit = 16;
  int64_t size = rows.getNumColumns();
  if (rows.getDomain().size() != 1 || size < 2 * longest)
    return;
  for (Operation &op : rows.getBody().front())
    if (isa<step::ReduceOp, step::IndexOp>(op))
      return;
  for (BlockArgument argument : rows.getBody().getArguments())
    if (isIndexed(argument) ||
        cast<MemRefType>(argument.getType()).getDimSize(0) != size)
      return;
  int64_t columns = longest;
  while (columns >= shortest && size % columns != 0)
    columns -= unit;
  if (columns < shortest)
    return;
  setDomain(
      rows, {size / columns, columns},
      [&](SmallVectorImpl<int64_t> &shape, SmallVectorImpl<int64_t> &strides) {
        shape.assign({size / columns, columns});
        strides.assign({strides[0] * columns, strides[0]});
      });
}

void tp::collapseDomain(step::RowsOp rows) {
  // An operand that is read both by index and at the current point would need
  // two types.
  for (BlockArgument argument : rows.getBody().getArguments())
    if (isIndexed(argument) &&
        llvm::any_of(argument.getUsers(), [](Operation *user) {
          auto load = dyn_cast<step::LoadOp>(user);
          return load && load.getIndices().empty();
        }))
      return;
  for (size_t dim = rows.getDomain().size() - 1; dim-- > 0;)
    if (canMerge(rows, dim))
      merge(rows, dim);
  cutRow(rows);
}
