// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K10: a replicated bias is added once, not on every device.
//
// EXPECT: AR{x} V=256
// MESHES: x=2; x=3

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<16x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %w: tensor<32x16xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %bias: tensor<16xf32> {tp.name = "bias", spmd.sharding = #spmd.sharding<@mesh, [{}]>})
    -> (tensor<16x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %s = tp.einsum "ik,kj->ij" %x, %w : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  %b = tp.broadcast %bias dims = [1] : tensor<16xf32> -> tensor<16x16xf32>
  %y = tp.add %s, %b : tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}
