// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K10: a replicated residual is added once, also between two partial sums.
//
// EXPECT: AR{x} V=256
// MESHES: x=2; x=3

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<16x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %w: tensor<32x16xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %v: tensor<32x16xf32> {tp.name = "v", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %r: tensor<16x16xf32> {tp.name = "r", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>})
    -> (tensor<16x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %s = tp.einsum "ik,kj->ij" %x, %w : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  %t = tp.einsum "ik,kj->ij" %x, %v : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  %a = tp.add %s, %r : tensor<16x16xf32>
  %y = tp.add %a, %t : tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}
