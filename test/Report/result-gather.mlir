// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The vocabulary of a head is cut, and its logits are asked for whole, as importers and plans
// do: the table and the explanation of the result, by its name, say what it saves to leave it
// cut, and with that written there is no gather.

// RUN: tp-opt %s --tp-shard --tp-report --tp-explain=logits -o /dev/null 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-shard=machine=h100 --tp-report=machine=h100 -o /dev/null 2>&1 | FileCheck %s --check-prefix=TIMED
// RUN: sed 's/sharding<@mesh, \[{}, {}\]>, tp.name = "logits"/sharding<@mesh, [{}, {"model"}]>, tp.name = "logits"/' %s > %t.mlir
// RUN: tp-opt %t.mlir --tp-shard --tp-report -o /dev/null 2>&1 | FileCheck %s --check-prefix=CUT

// CHECK:      1.0 MiB  all_gather {model} of head, {{.*}}
// CHECK-NEXT: outer dimension: func.return needs the whole of a dimension that is cut along {model}
// CHECK-NEXT: to avoid it: leave result 'logits' cut if the caller can use it that way: annotate it as
// CHECK-NEXT: [{}, {"model"}], or list its axes in a plan; every device then sends 1.0 MiB less and holds
// CHECK-NEXT: 1.0 MiB less
// CHECK:      'head' in @main, f32[64,8192]
// CHECK:      > all_gather {model}, 1.0 MiB sent by every device
// CHECK:      to avoid it: leave result 'logits' cut

// TIMED:      every device then sends 1.0 MiB ({{[0-9.]+}} us) less
// TIMED-NEXT: and holds 1.0 MiB less

// CUT: @main: no collectives

spmd.mesh @mesh <["model"=2]>

func.func @main(
    %x: tensor<64x512xf32> {tp.name = "x"},
    %w: tensor<8192x512xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<64x8192xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>, tp.name = "logits"}) {
  %y = tp.einsum "bi,vi->bv" %x, %w : (tensor<64x512xf32>, tensor<8192x512xf32>) -> tensor<64x8192xf32> loc("head")
  return %y : tensor<64x8192xf32>
}
