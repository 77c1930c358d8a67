// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// P1: the batch before the weights (ZeRO).
//
// EXPECT: AG{a} V=4096
// PROPAGATED: y [a?,?]; z [a?,?]; w [?,a]

spmd.mesh @mesh <["a"=4]>

func.func @main(%x: tensor<256x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a"}p0, {?}]>},
                %y: tensor<256x64xf32> {tp.name = "y"},
                %w: tensor<64x64xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{?}, {"a"}p1]>})
    -> (tensor<256x64xf32>) {
  %s = tp.add %x, %y : tensor<256x64xf32>
  %z = tp.einsum "ik,kj->ij" %s, %w : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  return %z : tensor<256x64xf32>
}
