// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The passes that turn changes of layout into collectives.

#ifndef TPOPT_PASSES_COLLECTIVES_PASSES
#define TPOPT_PASSES_COLLECTIVES_PASSES

include "mlir/Pass/PassBase.td"

def PlanCollectivesPass : Pass<"tp-plan-collectives", "::mlir::ModuleOp"> {
  let summary = "Replace reshards by the cheapest collectives";
  let description = [{
    Every `spmd.reshard` becomes the sequence of collectives that a shortest-path
    search over shardings finds cheapest under the links of the mesh.

    **Requires:** every value has a sharding (`tp-partition`).

    **Guarantees:** no `spmd.reshard` is left; every collective's `in` is the
    sharding of its operand. Types are still global.

    **Example:** `test/Collectives/plan.mlir`
  }];
  let dependentDialects = ["::tp::spmd::SPMDDialect"];
  let options = [
    Option<"machine", "machine", "std::string", "\"\"",
           "Device whose links the mesh has where it names none: h100, h200, "
           "cpu, or a JSON file">
  ];
}

#endif // TPOPT_PASSES_COLLECTIVES_PASSES
