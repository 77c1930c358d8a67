// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Writes programs as bytecode that an artifact carries.

#include "lib/Codegen/Artifact.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Bytecode/BytecodeWriter.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// The names in a location, without file positions.
static Location getNameOnly(Location loc) {
  Location only = UnknownLoc::get(loc.getContext());
  loc->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (!named)
      return WalkResult::advance();
    only = NameLoc::get(named.getName());
    return WalkResult::interrupt();
  });
  return only;
}

std::string tp::codegen::getProgramBytes(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  copy->getOperation()->removeAttr(kProgramsAttr);
  copy->walk([](Operation *op) {
    // These attributes depend on whether a report was requested.
    op->removeAttr(kAllocatedAttr);
    op->removeAttr(kOverlapAttr);
    op->setLoc(getNameOnly(op->getLoc()));
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setLoc(getNameOnly(argument.getLoc()));
  });
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  // Writing can only fail if an old version of the format is requested.
  (void)writeBytecodeToFile(*copy, os);
  return bytes;
}
