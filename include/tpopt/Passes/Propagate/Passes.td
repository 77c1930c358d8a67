// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that gives every value a sharding.

#ifndef TPOPT_PASSES_PROPAGATE_PASSES
#define TPOPT_PASSES_PROPAGATE_PASSES

include "mlir/Pass/PassBase.td"

def PropagatePass : Pass<"tp-propagate", "::mlir::ModuleOp"> {
  let summary = "Give every value a sharding";
  let description = [{
    Spreads the shardings of arguments, results, constraints and ops along the
    factors of every op until nothing changes (see
    `tpopt/Sharding/Propagation.h` for the order of authority). Functions that
    use one mesh are propagated together, and arguments of equal `tp.name` get
    one sharding. Every use of a splat constant or an iota gets a copy of its own:
    that two users share a zero is no reason to shard them alike.

    **Requires:** every op has a sharding rule or known data flow; private calls
    are inlined.

    **Guarantees:** every ranked value has a sharding: arguments and results in
    `spmd.sharding`, the others in the `spmd.shardings` of their op. Dimensions
    that nothing closed stay open.

    **Example:** `test/Propagate/basic.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"explain", "explain", "bool", "false",
           "Record in every function why its values are sharded as they are, for "
           "tp-explain">
  ];
}

#endif // TPOPT_PASSES_PROPAGATE_PASSES
