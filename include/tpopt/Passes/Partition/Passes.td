// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that decides what every op computes on every device.

#ifndef TPOPT_PASSES_PARTITION_PASSES
#define TPOPT_PASSES_PARTITION_PASSES

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"tp-partition", "::mlir::ModuleOp"> {
  let summary = "Choose the sharding each op computes in";
  let description = [{
    For all ops of a function at once, chooses how the mesh cuts their factors so
    that predicted communication and compute are least, lets partial sums travel
    through linear ops, and writes a `spmd.reshard` wherever a value is needed in
    another layout than it is made in. An op that wants a sharded factor whole is
    replaced by its decomposition where that is cheaper. Where constraints of
    equal layouts are only added next, their sum is asked for instead.

    If the memory of a device is known, from `memory` or from the machine, and
    the plan needs more, then what only saves bytes or launches is undone,
    cheapest first, until the plan fits: a gathered copy that waits for a later
    use is made again for that, an op is computed on smaller blocks, an op that
    was decomposed stays whole. If nothing helps, a warning says how much is
    needed.

    **Requires:** every value has a sharding (`tp-propagate`).

    **Guarantees:** every op's `spmd.shardings` say what it computes, operands
    arrive in the layout the op's rule asks for, the only changes of layout are
    `spmd.reshard`; constraints, barriers and groups are gone; splat constants
    and iotas with equal shardings are one. Types are still global.

    **Example:** `test/Partition/megatron-mlp.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"machine", "machine", "std::string", "\"\"",
           "Device to predict times for: h100, h200, cpu, or a JSON file">,
    Option<"memory", "memory", "std::string", "\"\"",
           "Memory that a device may use, as in 72GiB; by default all that the "
           "machine has">,
    Option<"freeArguments", "free-arguments", "bool", "false",
           "Choose the layouts of arguments and results, too, as far as no "
           "annotation has closed them">,
    Option<"allAxes", "all-axes", "bool", "false",
           "Let every axis of the mesh shard something, not only those that an "
           "annotation names">,
    Option<"prices", "prices", "bool", "false",
           "Attach to every function what its plan costs, for tp-report">,
    Option<"warn", "warn", "bool", "true",
           "Warn of what tp-strict refuses: idle axes, too little memory">
  ];
}

#endif // TPOPT_PASSES_PARTITION_PASSES
