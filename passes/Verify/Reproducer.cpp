// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShrunkModule.h"

#include "dialects/TP/Interface.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/IR/Builders.h"

#include <numeric>

using namespace mlir;
using namespace tp;

/// Inserts an identity transpose after an argument, so that the value becomes
/// the result of an op. An op's result may have any padding, while an entry's
/// argument is padded with zeros.
static Operation *hideArgument(BlockArgument argument) {
  OpBuilder builder(argument.getContext());
  builder.setInsertionPointToStart(argument.getOwner());
  auto type = cast<RankedTensorType>(argument.getType());
  SmallVector<int64_t> dims(type.getRank());
  std::iota(dims.begin(), dims.end(), 0);
  auto moved = TransposeOp::create(builder, argument.getLoc(), type, argument,
                                   builder.getDenseI64ArrayAttr(dims));
  argument.replaceAllUsesExcept(moved, moved);
  return moved;
}

std::string tp::printReproducer(ModuleOp scratch, const Segment &segment) {
  auto whole = scratch.lookupSymbol<func::FuncOp>("whole");
  auto local = scratch.lookupSymbol<func::FuncOp>("local");
  auto mark = [&](Operation *op) {
    op->setAttr(kGlobalOpAttr, UnitAttr::get(scratch.getContext()));
  };
  Block &block = local.getBody().front();
  mark(block.getTerminator()->getPrevNode());
  // Each transpose is inserted at the start, so the last one ends up first.
  for (auto [index, zero] : llvm::enumerate(segment.zeroPadded))
    if (!zero) {
      hideArgument(whole.getArgument(index));
      mark(hideArgument(local.getArgument(index)));
    }
  local.setName("main");
  whole.setName("main.global");
  whole.setPrivate();
  whole->setAttr(kLocalFormAttr, FlatSymbolRefAttr::get(local));
  std::string text;
  llvm::raw_string_ostream(text) << scratch << "\n";
  return text;
}
