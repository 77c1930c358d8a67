// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K9: a sum is scattered through reshape and transpose.
// All-reduce and slice would send twice as much.
//
// EXPECT: RS{tp} V=512

spmd.mesh @mesh <["tp"=4]>

func.func @main(%a: tensor<16x256xf32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %b: tensor<256x32xf32> {tp.name = "b", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<8x16x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}, {}]>}) {
  %0 = tp.einsum "ik,kj->ij" %a, %b : (tensor<16x256xf32>, tensor<256x32xf32>) -> tensor<16x32xf32>
  %1 = tp.reshape %0 : tensor<16x32xf32> -> tensor<16x8x4xf32>
  %2 = tp.transpose %1 [1, 0, 2] : tensor<16x8x4xf32> -> tensor<8x16x4xf32>
  return %2 : tensor<8x16x4xf32>
}
