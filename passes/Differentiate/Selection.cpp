// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Selection.h"

#include "dialects/TP/Interface.h"
#include "tpopt/Support/ErrorCodes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;

func::FuncOp tp::findEntry(ModuleOp module, StringRef name) {
  SmallVector<func::FuncOp> entries;
  SmallVector<StringRef> names;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!isEntry(function) || (!name.empty() && function.getName() != name))
      continue;
    entries.push_back(function);
    names.push_back(function.getName());
  }
  if (entries.size() == 1)
    return entries.front();
  InFlightDiagnostic error = module.emitError();
  error << prefix(ErrorCode::UnknownEntry);
  if (!name.empty())
    error << "the module has no public function '" << name << "'";
  else if (entries.empty())
    error << "the module has no public function";
  else
    error << "the module has several public functions, "
          << llvm::join(names, ", ") << ": name one by entry=NAME";
  return {};
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

FailureOr<unsigned> tp::findResult(func::FuncOp function, StringRef name,
                                   StringRef option) {
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    names.push_back(getOutputName(function, i).getValue());
    if (names.back() == name)
      return i;
  }
  return function.emitError()
         << prefix(ErrorCode::BadLoss) << option << "=" << name << ": @"
         << function.getName() << " has no result of this name: write one of "
         << llvm::join(names, ", ");
}

FailureOr<unsigned> tp::findLoss(func::FuncOp function, StringRef name) {
  FailureOr<unsigned> loss = findResult(function, name, "loss");
  if (failed(loss))
    return failure();
  auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[*loss]);
  if (type && type.getRank() == 0 &&
      (type.getElementType().isF32() || type.getElementType().isF64()))
    return loss;
  return function.emitError()
         << prefix(ErrorCode::BadLoss) << "loss=" << name << " is of type "
         << function.getResultTypes()[*loss]
         << ", but a loss must be a scalar of f32 or f64; take its mean or "
            "sum, and convert it";
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static StringRef getName(func::FuncOp function, unsigned argument) {
  return getInputName(function, argument).getValue();
}

LogicalResult tp::checkPatterns(func::FuncOp function,
                                ArrayRef<NamePattern> patterns,
                                ArrayRef<unsigned> arguments, StringRef option,
                                StringRef what) {
  SmallVector<StringRef> names = llvm::map_to_vector(
      arguments, [&](unsigned i) { return getName(function, i); });
  for (const NamePattern &pattern : patterns) {
    if (llvm::any_of(names,
                     [&](StringRef name) { return pattern.matches(name); }))
      continue;
    InFlightDiagnostic error = function.emitError();
    error << prefix(ErrorCode::NotTrainable) << option << "="
          << pattern.getText() << " matches no " << what;
    if (!names.empty())
      error.attachNote() << "near names are "
                         << getNearNames(pattern.getText(), names);
    return error;
  }
  return success();
}

bool tp::matchesAny(ArrayRef<NamePattern> patterns, func::FuncOp function,
                    unsigned argument) {
  return llvm::any_of(patterns, [&](const NamePattern &pattern) {
    return pattern.matches(getName(function, argument));
  });
}

bool tp::isUndeclared(func::FuncOp function, unsigned argument) {
  return !function.getArgAttr(argument, kRoleAttr) &&
         !function.getArgAttr(argument, kSourceAttr) &&
         !function.getArgAttr(argument, kDonatedAttr);
}

LogicalResult tp::emitNoParameter(func::FuncOp function) {
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (isUndeclared(function, i) &&
        isFloatTensor(function.getArgument(i).getType()))
      names.push_back(getName(function, i));
  InFlightDiagnostic error = function.emitError();
  error << prefix(ErrorCode::NotTrainable) << "no argument of @"
        << function.getName()
        << " is a floating-point parameter, so there is nothing to train: "
           "write the names of the arguments to train in train=, or give them "
           "tp.role = \"parameter\"";
  if (!names.empty())
    error.attachNote() << "floating-point arguments without a role are "
                       << llvm::join(names, ", ");
  return error;
}
