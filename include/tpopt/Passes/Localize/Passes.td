// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that turns a program into the program of one device.

#ifndef TPOPT_PASSES_LOCALIZE_PASSES
#define TPOPT_PASSES_LOCALIZE_PASSES

include "mlir/Pass/PassBase.td"

def LocalizePass : Pass<"tp-localize", "::mlir::ModuleOp"> {
  let summary = "Cut every tensor to what one device holds";
  let description = [{
    Every type becomes the device's part, with a `#spmd.local` encoding that keeps
    the sharding and the global sizes. Ops that depend on where their part lies
    (iota, constants, lookups, causal attention) are adjusted, and padding of
    uneven blocks is masked with the consumer's identity where, and only where,
    it could reach a result.

    **Requires:** collectives are planned (`tp-plan-collectives`).

    **Guarantees:** no global types are left; the function is what every device
    runs. With `keep-global` the module is a partition with its certificate: see
    `tp-verify-partition`.

    **Example:** `test/Localize/uneven.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"keepGlobal", "keep-global", "bool", "false",
           "Keep the global functions, and record which op each local value corresponds "
           "to, for tp-verify-partition">,
  ];
}

#endif // TPOPT_PASSES_LOCALIZE_PASSES
