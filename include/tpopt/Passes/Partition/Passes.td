// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that decides what every op computes on every device.

#ifndef TPOPT_PASSES_PARTITION_PASSES
#define TPOPT_PASSES_PARTITION_PASSES

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"tp-partition", "::mlir::ModuleOp"> {
  let summary = "Choose the sharding each op computes in";
  let description = [{
    For all ops of a function at once, chooses how the mesh cuts their factors so that
    the predicted communication and compute are smallest, keeps partial sums unreduced
    through linear ops, and inserts a `spmd.reshard` wherever a value is needed in
    another layout than the one it is computed in. An op that needs a sharded factor
    whole is replaced by its decomposition where that is cheaper. Where values with
    equal constraints are only added, the constraint is moved to their sum.

    If the memory of a device is known, from `memory` or from the machine, and
    the plan needs more, then choices that only save bytes or launches are undone,
    cheapest first, until the plan fits: a value is gathered again for a later use
    instead of being kept, an op is computed on smaller blocks, an op is not decomposed.
    If this does not suffice, a warning says how much memory the plan needs.

    With `overlap`, gathers of weights and sums of gradients cost half, since they can run
    during computation, and activations that are gathered for a product cannot. The
    result is kept if it makes the predicted step shorter. It may send more bytes.

    **Requires:** every value has a sharding (`tp-propagate`).

    **Guarantees:** every op's `spmd.shardings` say what it computes, operands
    arrive in the layout the op's rule asks for, only `spmd.reshard` changes layouts;
    constraints, barriers and groups are gone; splat constants and iotas with equal
    shardings are one. Types are still global.

    **Example:** `test/Partition/megatron-mlp.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"machine", "machine", "std::string", "\"\"",
           "Device to predict times for: h100, h200, cpu, or a JSON file">,
    Option<"memory", "memory", "std::string", "\"\"",
           "Memory that a device may use, as in 72GiB; by default all memory of the "
           "machine">,
    Option<"freeArguments", "free-arguments", "bool", "false",
           "Also choose the layouts of arguments and results, unless an annotation has "
           "closed them">,
    Option<"allAxes", "all-axes", "bool", "false",
           "Use every axis of the mesh, not only those that an annotation names">,
    Option<"overlap", "overlap", "bool", "false",
           "Choose the shortest step of a program whose collectives will run during "
           "computation, if the machine is known">,
    Option<"prices", "prices", "bool", "false",
           "Attach to every function the cost of its plan, for tp-report">,
    Option<"warn", "warn", "bool", "true",
           "Warn about what tp-strict rejects: idle axes, too little memory">
  ];
}

#endif // TPOPT_PASSES_PARTITION_PASSES
