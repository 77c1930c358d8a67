// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// O9: equal FLOPs, fewer bytes.
// Gathering the left operand and moving the result sends 108.
//
// EXPECT: A2A{x} V=32, RS{x} V=64
// WIRE: 72

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<8x16xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %w: tensor<16x8xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
