// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that orders steps and overlaps collectives with computing.

#ifndef TPOPT_PASSES_SCHEDULE_PASSES
#define TPOPT_PASSES_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def SchedulePass : Pass<"tp-schedule", "::mlir::ModuleOp"> {
  let summary = "Order steps and overlap collectives with computing";
  let description = [{
    A `step.collective_start` moves up, at most to the last step that writes its
    source or touches its destination, and its `step.collective_done` down, at most
    to the first that touches the destination or writes the source. By the times that the
    machine predicts, a collective starts no earlier than its link needs, the one that is
    needed soonest first. Gradients that are ready are summed during the rest of the
    backward pass, and weights are gathered ahead of their layer.

    A link carries one collective at a time. Axes of equal speed share a link; axes of
    different speeds (`links` of the mesh, or a machine with hosts) have links of their own,
    and a collective along both occupies both. On a CPU, different links carry collectives at
    the same time, so slow sums of gradients do not hold up fast tensor-parallel collectives.
    On a GPU, one collective is in flight.

    Independent steps change their order where that is predicted to be 0.5 % faster: a step
    that a transfer needs runs before one that can run during the transfer (list
    scheduling; Graham 1966). Buffers then take no more memory than before, or, in a
    program without loops, at most half of `in-flight` more, which is then missing for
    collectives. Each step computes what it did
    before, so the bits of all results stay the same, if an all-reduce adds in the same order
    for one layer as for all.

    A collective of a loop that sends what the loop never writes, as weights of a layer,
    may run during the iteration before, into a second buffer: the loop then runs over
    pairs of iterations, and the first gathers and the last iteration move out of it. A
    collective whose result is only stored, such as a layer's gradient, may run during
    the next iteration, from a second buffer. A gather of all layers before a loop that
    uses one layer per iteration may be split into one gather per iteration, and so may a
    sum, after the loop, of what each iteration computes for one layer. This is
    done only where the program is predicted to become at least 1 % faster, only for
    those collectives that an iteration needs first or starts last, and not in a
    `step.while`. No more bytes are sent.

    The longest gather may be split into 4 or 16 pieces, each with its own buffer, and others
    into pieces that take as long, so that a collective that is needed sooner need not wait
    for the end of a long one. The product with the longest gather may be split by columns
    into 4 pieces, together with the gather, if it sums over the gathered dimension: the
    device multiplies one piece while the next one travels. This, too, is done
    only where the program is predicted to become at least 1 % faster.

    Collectives in flight take memory: at most `in-flight` bytes beyond what the
    program takes as it is written, including second buffers, and at most `count`
    collectives at once. A program without a machine, or one that would not become
    faster, stays as it is.

    `overlap` of each program holds its predicted times: as it was written, as it is
    now, a lower bound over all orders of starts and waits, for the orders of steps and the
    forms of loops and gathers that were tried, and the time in which the device only waits
    for collectives.

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
           "Memory for running collectives, as in 512MiB; by default 1/32 of the "
           "machine's memory, or 256MiB if that is unknown">,
    Option<"count", "count", "unsigned", "8",
           "How many collectives may run at once">
  ];
}

#endif // TPOPT_PASSES_SCHEDULE_PASSES
