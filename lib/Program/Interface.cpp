// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Program/Interface.h"

#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;

bool tp::isEntry(func::FuncOp function) {
  return function.isPublic() && !function.isExternal();
}

StringRef tp::stringify(ArgumentRole role) {
  switch (role) {
  case ArgumentRole::Input:
    return "input";
  case ArgumentRole::Parameter:
    return "parameter";
  case ArgumentRole::State:
    return "kv_cache";
  }
  llvm_unreachable("covered switch");
}

ArgumentRole tp::getRole(FunctionOpInterface function, unsigned argument) {
  // A weight that a step of training overwrites is one that was loaded.
  if (function.getArgAttr(argument, kSourceAttr))
    return ArgumentRole::Parameter;
  if (function.getArgAttr(argument, kDonatedAttr))
    return ArgumentRole::State;
  return ArgumentRole::Input;
}

StringAttr tp::getInputName(func::FuncOp function, unsigned index) {
  if (auto name = function.getArgAttrOfType<StringAttr>(index, kNameAttr))
    return name;
  return StringAttr::get(function.getContext(), "arg" + Twine(index));
}

StringAttr tp::getOutputName(func::FuncOp function, unsigned index) {
  if (auto name = function.getResultAttrOfType<StringAttr>(index, kNameAttr))
    return name;
  return StringAttr::get(function.getContext(), "result" + Twine(index));
}
