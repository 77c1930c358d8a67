// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// O3: the sum is wanted cut.
// An all-reduce and a slice cost twice a reduce-scatter.
//
// EXPECT: RS{y} V=32
// MESHES: x=3,y=2

spmd.mesh @mesh <["x"=4, "y"=2]>

func.func @main(%x: tensor<8x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>},
                %w: tensor<32x16xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
