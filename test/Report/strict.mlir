// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Strict mode takes sums, which inner-dimension sharding means, and results that
// are wanted so; a gather that no annotation asks for is an error.
//
// RUN: tp-opt %s --tp-shard -o %t.mlir
// RUN: not tp-opt %s --tp-shard --tp-strict -o %t.mlir 2>&1 | FileCheck %s
// CHECK: [TP0410]

spmd.mesh @mesh <["x"=4]>

func.func @main(%a: tensor<256x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %w: tensor<32x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<256x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %y = tp.einsum "ik,kj->ij" %a, %w : (tensor<256x32xf32>, tensor<32x64xf32>) -> tensor<256x64xf32>
  return %y : tensor<256x64xf32>
}
