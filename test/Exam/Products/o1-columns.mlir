// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// O1: columns of the right operand are cut (column-parallel linear).
// Outer dimensions are independent.
//
// EXPECT: none
// MESHES: x=1; x=2; x=3; x=5; x=8

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<64x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
                %w: tensor<32x48xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<64x48xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %y : tensor<64x48xf32>
}
