// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/TP/Interface.h"

using namespace mlir;
using namespace tp;

bool tp::isEntry(func::FuncOp function) {
  return function.isPublic() && !function.isExternal();
}

/// The role in `tp.role`, which is verified.
static std::optional<Role> toRole(StringAttr given) {
  return given ? symbolizeRole(given.getValue()) : std::nullopt;
}

Role tp::getRole(FunctionOpInterface function, unsigned argument) {
  if (auto given =
          toRole(function.getArgAttrOfType<StringAttr>(argument, kRoleAttr)))
    return *given;
  // An argument with `tp.source` was loaded, so it is a parameter even if a
  // training step overwrites it.
  if (function.getArgAttr(argument, kSourceAttr))
    return Role::Parameter;
  if (function.getArgAttr(argument, kDonatedAttr))
    return Role::State;
  return Role::Input;
}

std::optional<Role> tp::getResultRole(FunctionOpInterface function,
                                      unsigned result) {
  if (auto given =
          toRole(function.getResultAttrOfType<StringAttr>(result, kRoleAttr)))
    return given;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto donated = function.getArgAttrOfType<IntegerAttr>(i, kDonatedAttr);
        donated && donated.getInt() == result)
      return getRole(function, i);
  return std::nullopt;
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

/// Marks names from the source text, as opposed to names that exporters and
/// passes set.
static constexpr StringLiteral kTextName = "name in the text";

StringAttr tp::getTextName(BlockArgument argument) {
  StringAttr name;
  argument.getLoc()->walk([&](Location part) {
    auto marked = dyn_cast<FusedLocWith<StringAttr>>(part);
    if (!marked || marked.getMetadata().getValue() != kTextName)
      return WalkResult::advance();
    name = cast<NameLoc>(marked.getLocations().front()).getName();
    return WalkResult::interrupt();
  });
  return name;
}

Location tp::withTextName(Location location, StringRef name) {
  MLIRContext *context = location.getContext();
  Location named = NameLoc::get(StringAttr::get(context, name), location);
  return FusedLoc::get(context, named, StringAttr::get(context, kTextName));
}
