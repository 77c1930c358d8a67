// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// O6: FSDP, a weight cut along the rows of the activations.
// Activations are larger than the weight.
//
// EXPECT: AG{x} V=2048
// MESHES: x=3

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<256x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %w: tensor<32x64xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<256x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<256x32xf32>, tensor<32x64xf32>) -> tensor<256x64xf32>
  return %y : tensor<256x64xf32>
}
