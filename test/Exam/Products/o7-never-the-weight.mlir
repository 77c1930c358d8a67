// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// O7: as O6, with a weight that is far larger than the activations.
// Move the activations, scatter the sum.
//
// EXPECT: A2A{x} V=4096, RS{x} V=16384
// WIRE: 15360

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<4x4096xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %w: tensor<4096x4096xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x4096xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<4x4096xf32>, tensor<4096x4096xf32>) -> tensor<4x4096xf32>
  return %y : tensor<4x4096xf32>
}
