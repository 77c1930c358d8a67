// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Passes that prepare a module for the stages.

#ifndef TPOPT_PASSES_PIPELINES_PASSES
#define TPOPT_PASSES_PIPELINES_PASSES

include "mlir/Pass/PassBase.td"

def SetMeshPass : Pass<"tp-set-mesh", "::mlir::ModuleOp"> {
  let summary = "Define or override the module's mesh";
  let description = [{
    If the module has a mesh, replaces its axes and removes its links and `device_ids`;
    otherwise adds `@mesh`. Shardings that name axes the new mesh lacks are errors.

    **Requires:** the module has at most one mesh.

    **Guarantees:** the module has one mesh, with the axes given.

    **Example:** `test/Pipelines/set-mesh.mlir`
  }];
  let dependentDialects = ["::tp::spmd::SPMDDialect"];
  let options = [
    Option<"axes", "axes", "std::string", "\"\"",
           "Axes and sizes: data=2,model=4">,
    Option<"ifMissing", "if-missing", "bool", "false",
           "Only add a mesh to a module that has none">
  ];
}

#endif // TPOPT_PASSES_PIPELINES_PASSES
