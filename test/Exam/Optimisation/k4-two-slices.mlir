// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K4: scatter once over both axes, move the difference.
//
// EXPECT: RS{x,y} V=256, A2A{y} V=64

spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @main(%x: tensor<16x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x", "y"}]>},
                %w: tensor<32x16xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<16x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x", "y"}, {}]>}, tensor<16x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %s = tp.einsum "ik,kj->ij" %x, %w : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  return %s, %s : tensor<16x16xf32>, tensor<16x16xf32>
}
