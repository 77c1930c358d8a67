// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Activations are smaller than weights, so that the fewest bytes are sent if
// activations are gathered for each product, and its result is scattered. But
// every product waits for that. If collectives will overlap with computation,
// weights are gathered and gradients are scattered instead: that takes longer,
// but nothing waits for most of it. `--tp-shard` has no schedule, so that all
// collectives wait.
//
// RUN: tp-opt %s --tp-compile="machine=h100 verify=off chunk=false" --tp-report -o /dev/null 2>&1 \
// RUN:     | FileCheck %s --check-prefix=WEIGHTS
// RUN: tp-opt %s --tp-compile="machine=h100 verify=off overlap=false" --tp-report -o /dev/null 2>&1 \
// RUN:     | FileCheck %s --check-prefix=WEIGHTS
// RUN: tp-opt %s --tp-shard="machine=h100 verify=off" --tp-report -o /dev/null 2>&1 \
// RUN:     | FileCheck %s --check-prefix=ACTIVATIONS
//
// Behind a slow link, there is too little computation to hide the weights.
//
// RUN: tp-opt %s --tp-compile="machine=%S/Inputs/slow-link.json verify=off chunk=false" --tp-report \
// RUN:     -o /dev/null 2>&1 | FileCheck %s --check-prefix=ACTIVATIONS

// Neither plan is made for so little memory that the gathered weights of all layers cannot be
// kept. Both are changed until they fit, and then compared.
//
// RUN: tp-opt %s --tp-compile="machine=%S/Inputs/fast-link.json verify=off chunk=false memory=2000MB" \
// RUN:     --tp-report -o /dev/null 2>&1 | FileCheck %s --check-prefix=AGAIN

// WEIGHTS: @fsdp: 4 all_gather, 4 reduce_scatter; 1.0 GiB sent
// AGAIN: @fsdp: 5 all_gather, 1 all_to_all, 3 reduce_scatter; 992.0 MiB sent
// ACTIVATIONS: @fsdp: {{.*}}all_to_all{{.*}}; 544.0 MiB sent

spmd.mesh @mesh <["data"=2]>
#batch = #spmd.sharding<@mesh, [{"data"}, {}]>
!x = tensor<4096x8192xf32>
!w = tensor<8192x8192xf32>

func.func @fsdp(
    %x: !x {spmd.sharding = #batch},
    %w0: !w {spmd.sharding = #batch},
    %w1: !w {spmd.sharding = #batch},
    %w2: !w {spmd.sharding = #batch},
    %w3: !w {spmd.sharding = #batch})
    -> (!w {spmd.sharding = #batch},
        !w {spmd.sharding = #batch},
        !w {spmd.sharding = #batch},
        !w {spmd.sharding = #batch}) {
  %h0 = tp.einsum "bi,ij->bj" %x, %w0 : (!x, !w) -> !x
  %h1 = tp.einsum "bi,ij->bj" %h0, %w1 : (!x, !w) -> !x
  %h2 = tp.einsum "bi,ij->bj" %h1, %w2 : (!x, !w) -> !x
  %h3 = tp.einsum "bi,ij->bj" %h2, %w3 : (!x, !w) -> !x
  %d3 = tp.einsum "bi,bj->ij" %h2, %h3 : (!x, !x) -> !w
  %n3 = tp.sub %w3, %d3 : !w
  %g3 = tp.einsum "bj,ij->bi" %h3, %w3 : (!x, !w) -> !x
  %d2 = tp.einsum "bi,bj->ij" %h1, %g3 : (!x, !x) -> !w
  %n2 = tp.sub %w2, %d2 : !w
  %g2 = tp.einsum "bj,ij->bi" %g3, %w2 : (!x, !w) -> !x
  %d1 = tp.einsum "bi,bj->ij" %h0, %g2 : (!x, !x) -> !w
  %n1 = tp.sub %w1, %d1 : !w
  %g1 = tp.einsum "bj,ij->bi" %g2, %w1 : (!x, !w) -> !x
  %d0 = tp.einsum "bi,bj->ij" %x, %g1 : (!x, !x) -> !w
  %n0 = tp.sub %w0, %d0 : !w
  return %n0, %n1, %n2, %n3 : !w, !w, !w, !w
}
