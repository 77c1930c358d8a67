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
           "Device whose links the mesh has where it names none: h100, h200, "
           "cpu, or a JSON file">
  ];
}

def CombineCollectivesPass : Pass<"tp-combine-collectives", "::mlir::ModuleOp"> {
  let summary = "Issue independent collectives as one";
  let description = [{
    Collectives of one block that have kind, axes, combination and element type
    in common, and of which none needs another, become one `spmd.combined`: the
    same bytes in one launch. It stands behind the last of its operands and
    before the first use of any of its results. Gradients that are all wanted at
    the end are summed together; sums that a layer waits for stay where they are.

    A collective is put off to its first use, and what is ready by then and goes
    with it is sent along, in program order, as long as the payloads together
    stay within the bucket: so much more memory may be in use at a time, and no
    more. A reduce-scatter that alone needs its operand frees memory, and so does
    what a loop only writes into the stack of its iterations: they wait only
    until their kind fills a bucket. Where the mesh has links, a collective
    goes alone if sending it takes more than 16 starts: a start saved is less
    than 6 % of that then.

    An op that takes such a result waits with it, so that a gradient is not
    summed alone only because it is transposed at once: an elementwise op, a
    transpose, reshape, slice, reduction or an update of a stack in its place,
    whose other operands are held anyway (arguments, constants, single numbers,
    and what is computed of them for this op alone).

    Operands that take at most 64 ops more, none of which waits for a collective,
    are made first, if what these keep is at most twice what the collective moves:
    q, k and v of a layer are gathered as one, also where the program computes k
    behind the product that q is gathered for.

    The default is the bucket of PyTorch's DistributedDataParallel, 25 MiB: an
    all-reduce of it over 8 devices, at 370 GB/s and 10 us, sends 92 % of its
    time. If the memory of a device is known and the program then needs more, the
    bucket is a fourth of that, or a fourth of a fourth, until it fits; if none
    does, and less is held where collectives are, they stay there.

    **Requires:** collectives are planned (`tp-plan-collectives`).

    **Guarantees:** every value has the sharding that it had; payloads stay.

    **Example:** `test/Collectives/combine.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", "25 << 20",
           "The largest payload of a combined launch; 0 combines nothing">,
    Option<"machine", "machine", "std::string", "\"\"",
           "Device whose links the mesh has where it names none: h100, h200, "
           "cpu, or a JSON file">
  ];
}

def ChunkProductsPass : Pass<"tp-chunk-products", "::mlir::ModuleOp"> {
  let summary = "Let blocks travel while others are multiplied";
  let description = [{
    An all-gather and the products that use it become `tp.gather_einsum`; a
    product and the reduce-scatter or all-reduce of its result become
    `tp.einsum_scatter`. This is done where the machine's times say that it is
    faster: they compare the collective and the products one after the other with
    blocks that travel while others are multiplied. Blocks are sent in 1, 2 or 4
    pieces, whichever is fastest; if in several, each has at least 64 KiB.

    A remark says for each such collective what it takes either way, or why it
    stays as it is.

    **Requires:** collectives are planned (`tp-plan-collectives`), and a machine;
    without one nothing changes.

    **Guarantees:** every value has the sharding that it had.

    **Example:** `test/Collectives/chunk-products.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"machine", "machine", "std::string", "\"\"",
           "Device whose times decide, and whose links the mesh has where it names "
           "none: h100, h200, cpu, or a JSON file">,
    Option<"force", "force", "bool", "false",
           "Chunk every product that can be, in two pieces where rows allow, "
           "whatever it costs; for tests">
  ];
}

#endif // TPOPT_PASSES_COLLECTIVES_PASSES
