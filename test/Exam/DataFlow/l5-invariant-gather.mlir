// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// L5: the gather of a weight that every turn reads comes before the loop.
//
// EXPECT: AG{d} V=1024
// MESHES: d=3

spmd.mesh @mesh <["d"=4]>

func.func @main(%x: tensor<64x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"d"}, {}]>},
                %w: tensor<32x32xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"d"}, {}]>})
    -> (tensor<64x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"d"}, {}]>}) {
  %y = tp.for 8 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<64x32xf32>):
    %p = tp.einsum "ik,kj->ij" %h, %w : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
    %t = tp.tanh %p : tensor<64x32xf32>
    tp.yield %t : tensor<64x32xf32>
  } : (tensor<64x32xf32>) -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}
