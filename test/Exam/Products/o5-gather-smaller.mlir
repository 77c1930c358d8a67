// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// O5: rows and columns want the same axis.
// One operand has to give way: the smaller one.
//
// EXPECT: AG{x} V=1536
// MESHES: x=3

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<64x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %w: tensor<32x48xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<64x48xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %y : tensor<64x48xf32>
}
