// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Tuples.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

/// Returns the number of the element that the operation takes from `tuple`;
/// nullopt if it does something else.
static std::optional<unsigned> getElement(Operation *op, TupleType tuple) {
  auto index = op->getName().getStringRef() == "stablehlo.get_tuple_element"
                   ? op->getAttrOfType<IntegerAttr>("index")
                   : IntegerAttr();
  if (!index || index.getValue().uge(tuple.size()) ||
      op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      op->getResult(0).getType() !=
          tuple.getType(index.getValue().getZExtValue()))
    return std::nullopt;
  return index.getValue().getZExtValue();
}

/// Creates the same operation with a result for each element of the tuple.
static Operation *withResults(Operation *op, TupleType tuple) {
  OpBuilder builder(op);
  Operation *other = Operation::create(
      op->getLoc(), op->getName(), tuple.getTypes(), op->getOperands(),
      op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
      op->getSuccessors(), op->getNumRegions());
  builder.insert(other);
  for (auto [to, from] : llvm::zip_equal(other->getRegions(), op->getRegions()))
    to.takeBody(from);
  return other;
}

static void unpack(Operation *op) {
  auto tuple = op->getNumResults() == 1
                   ? dyn_cast<TupleType>(op->getResult(0).getType())
                   : TupleType();
  if (!tuple || llvm::any_of(tuple, llvm::IsaPred<TupleType>) ||
      !op->getName().getStringRef().starts_with("stablehlo.") ||
      !llvm::all_of(op->getUsers(), [&](Operation *user) {
        return getElement(user, tuple).has_value();
      }))
    return;
  bool isMade = op->getName().getStringRef() == "stablehlo.tuple";
  if (isMade && op->getOperandTypes() != TypeRange(tuple.getTypes()))
    return;
  ValueRange elements = isMade ? ValueRange(op->getOperands())
                               : withResults(op, tuple)->getResults();
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    user->getResult(0).replaceAllUsesWith(elements[*getElement(user, tuple)]);
    user->erase();
  }
  op->erase();
}

void tp::stablehlo::unpackTuples(ModuleOp module) {
  // Collects the operations first, because unpacking an operation erases its
  // users, which come later.
  SmallVector<Operation *> tuples;
  module.walk([&](Operation *op) {
    if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<TupleType>))
      tuples.push_back(op);
  });
  for (Operation *op : tuples)
    unpack(op);
}
