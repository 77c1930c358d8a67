// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The passes that say when steps run.

#ifndef TPOPT_PASSES_SCHEDULE_PASSES
#define TPOPT_PASSES_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def SchedulePass : Pass<"tp-schedule", "::mlir::ModuleOp"> {
  let summary = "Order steps and collectives so that transfers travel while the device computes";
  let description = [{
    A `step.collective_start` moves up, at most to the last step that writes its
    source or touches its destination, and its `step.collective_done` down, at most
    to the first that touches the destination or writes the source. By the times
    that the machine predicts, a collective starts no earlier than its link needs,
    the one that is needed soonest first; sums of gradients that are ready travel
    behind the backward pass, and weights are gathered ahead of their layer.

    Independent steps change their order where their list is predicted to gain a hundredth
    and its buffers take no more memory: a step that a transfer needs runs before one that
    can run during the transfer (list scheduling; Graham 1966). Each step computes what
    it did before, so the bits of all results stay what they are.

    A collective of a loop that sends what the loop never writes, as weights of a layer,
    may travel in the iteration before, into a second buffer: the loop then runs over
    pairs of iterations, and the first gathers and the last iteration leave it. One whose
    result only the steps want that store it, as a layer's gradient, may travel in the
    iteration behind, from a second buffer. A gather of all layers in front of a loop that
    takes one in each iteration may be made layer by layer in it. That is done where the
    program is predicted to gain a hundredth or more, only for those collectives that an
    iteration needs first or starts last, and not in a `step.while`. No more bytes are
    sent.

    Collectives in flight take memory: at most `in-flight` bytes beyond what the
    program takes as it is written, second buffers among them, and at most `count`
    collectives at once. A
    program without a machine stays as it is, and so does one that would not become
    faster.

    `overlap` of each program is what it is predicted to take: as it was written, as
    it is now, the bound that no order of starts and waits goes below, in loops as they
    are or with collectives an iteration ahead or behind, and how long the device only waits for
    collectives.

    **Requires:** the steps of `tp-lower-to-step`, without places in the arena.

    **Guarantees:** no step between a start and its done writes the source or
    touches the destination.

    **Example:** `test/Schedule/schedule.mlir`, `test/Schedule/software-pipeline.mlir`
  }];
  let dependentDialects = ["::tp::spmd::SPMDDialect", "::tp::step::StepDialect"];
  let options = [
    Option<"machine", "machine", "std::string", "\"\"",
           "Device whose times are predicted: h100, h200, cpu, or a JSON file; if "
           "empty, the one that the module was planned for">,
    Option<"inFlight", "in-flight", "std::string", "\"\"",
           "Memory for what is under way, as in 512MiB; by default a 32nd of the "
           "machine's, or 256MiB if it does not say">,
    Option<"count", "count", "unsigned", "8",
           "How many collectives may be under way">
  ];
}

#endif // TPOPT_PASSES_SCHEDULE_PASSES
