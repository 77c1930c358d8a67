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
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"machine", "machine", "std::string", "\"\"",
           "Device whose links are used if the mesh names none: h100, h200, "
           "cpu, or a JSON file">
  ];
}

def CombineCollectivesPass : Pass<"tp-combine-collectives", "::mlir::ModuleOp"> {
  let summary = "Issue independent collectives as one";
  let description = [{
    Independent collectives of one block with the same axes become one `spmd.combined`,
    whatever their kinds and element types: the same bytes in one launch. It comes after the
    last of its operands and before the first use of any of its results. Gradients that
    are all needed at the end are summed together; sums that a layer waits for stay
    where they are. If launches of sums and moves together would raise the peak of
    memory, each launch has either.

    A collective is delayed until its first use. Collectives along the same axes that are
    ready by then are sent with it, in program order, as long as all payloads together
    fit into the bucket; the bucket bounds the additional memory. A gather that is as much
    as all the rest only goes early with a gather of its element type, since its result is
    larger than its operand. A reduce-scatter that
    is the only user of its operand frees memory, and so does a value that a loop only
    stores into the stack of its iterations: these wait only until the collectives along
    their axes fill a bucket. If the mesh has links, a launch is also full when sending it
    takes 16 starts: one more start is then worth less than 6 %, and a longer launch would
    delay what is needed first. A collective that takes longer than that is sent alone.

    An op that uses such a result is delayed with it, so that a gradient can be combined
    even if it is transposed at once. This holds for an elementwise op, a transpose,
    reshape, slice, reduction, product or in-place update of a stack whose other operands
    stay in memory anyway (arguments, constants, single numbers, and values computed from
    them for this op only).

    Operands that need at most 64 more ops, none of which waits for a collective, are
    computed first, if this keeps at most twice the bytes in memory that the collective
    moves: q, k and v of a layer are gathered together even if the program computes k
    after the product that uses q.

    The default is the bucket of PyTorch's DistributedDataParallel, 25 MiB: an
    all-reduce of it over 8 devices, at 370 GB/s and 10 us, sends 92 % of its
    time. If the memory of a device is known and the program would need more, the bucket
    shrinks to a fourth, and again, until the program fits. If it never fits and needs
    less memory with the collectives where they are, they stay there.

    **Requires:** collectives are planned (`tp-plan-collectives`).

    **Guarantees:** every value has the sharding that it had; payloads stay.

    **Example:** `test/Collectives/combine.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", "25 << 20",
           "The largest payload of a combined launch; 0 combines nothing">,
    Option<"machine", "machine", "std::string", "\"\"",
           "Device whose links are used if the mesh names none: h100, h200, "
           "cpu, or a JSON file">
  ];
}

def ChunkProductsPass : Pass<"tp-chunk-products", "::mlir::ModuleOp"> {
  let summary = "Overlap products with their own collectives, block by block";
  let description = [{
    An all-gather and the products that use it become `tp.gather_einsum`; a
    product and the reduce-scatter or all-reduce of its result become
    `tp.einsum_scatter`. This is done where the machine's times predict that it is
    faster than running the collective and the products one after the other. Blocks are
    sent in 1, 2 or 4 pieces, whichever is fastest; with several pieces, each has at
    least 64 KiB.

    For each such collective a remark gives the predicted time of both forms, or the
    reason why it stays as it is.

    **Requires:** collectives are planned (`tp-plan-collectives`), and a machine;
    without one nothing changes.

    **Guarantees:** every value has the sharding that it had.

    **Example:** `test/Collectives/chunk-products.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"machine", "machine", "std::string", "\"\"",
           "Device whose times decide, and whose links are used if the mesh names "
           "none: h100, h200, cpu, or a JSON file">,
    Option<"force", "force", "bool", "false",
           "Chunk every product that can be chunked, in two pieces where rows allow, "
           "whatever it costs; for tests">
  ];
}

#endif // TPOPT_PASSES_COLLECTIVES_PASSES
