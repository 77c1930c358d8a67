// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/TP/Interface.h"
#include "tpopt/Passes/Lower/Passes.h"

#include "llvm/ADT/StringMap.h"

namespace tp {
#define GEN_PASS_DEF_NAMEINPUTSPASS
#include "tpopt/Passes/Lower/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

struct NameInputs : tp::impl::NameInputsPassBase<NameInputs> {
  using NameInputsPassBase::NameInputsPassBase;

  void runOnOperation() override {
    SmallVector<std::pair<BlockArgument, StringAttr>> named;
    llvm::StringMap<unsigned> uses;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!isEntry(function))
        continue;
      for (BlockArgument argument : function.getArguments()) {
        unsigned index = argument.getArgNumber();
        StringAttr name = getTextName(argument);
        if (function.getArgAttr(index, kNameAttr) || !name)
          ++uses[getInputName(function, index)];
        else if (++uses[name] == 1)
          named.push_back({argument, name});
      }
    }
    for (auto [argument, name] : named)
      if (uses[name] == 1)
        cast<func::FuncOp>(argument.getOwner()->getParentOp())
            .setArgAttr(argument.getArgNumber(), kNameAttr, name);
  }
};

} // namespace
