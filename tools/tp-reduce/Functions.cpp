// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Functions.h"

#include "passes/Import/Calls.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tp;

bool tp::endsInReturn(func::FuncOp function) {
  Region &body = function.getBody();
  return body.hasOneBlock() && isa<func::ReturnOp>(body.front().back());
}

unsigned tp::countUsers(func::FuncOp function) {
  unsigned count = 0;
  function->getParentOfType<ModuleOp>().walk([&](Operation *op) {
    llvm::DenseSet<StringAttr> names;
    collectSymbols(op, names);
    count += names.contains(function.getNameAttr());
  });
  return count;
}

unsigned tp::countOps(func::FuncOp function) {
  return function.getBody().front().getOperations().size() - 1;
}

Operation *tp::getOp(func::FuncOp function, unsigned index) {
  return &*std::next(function.getBody().front().begin(), index);
}

Value tp::addArgument(func::FuncOp function, Type type, Location loc) {
  unsigned index = function.getNumArguments();
  LogicalResult inserted =
      function.insertArgument(index, type, DictionaryAttr(), loc);
  assert(succeeded(inserted) && "a function takes any type");
  (void)inserted;
  return function.getArgument(index);
}

void tp::setResults(func::FuncOp function, ValueRange values) {
  function.setType(FunctionType::get(
      function.getContext(), function.getArgumentTypes(), values.getTypes()));
  function.removeResAttrsAttr();
  function.getBody().front().getTerminator()->setOperands(values);
}

void tp::addResults(func::FuncOp function, ValueRange values) {
  Operation *end = function.getBody().front().getTerminator();
  for (Value value : values) {
    LogicalResult inserted = function.insertResult(
        function.getNumResults(), value.getType(), DictionaryAttr());
    assert(succeeded(inserted) && "a function returns any type");
    (void)inserted;
    end->insertOperands(end->getNumOperands(), value);
  }
}
