// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T13: a layer norm over a cut hidden dimension.
// Statistics, not tensors, cross devices.
//
// EXPECT: AR{t} V=32 x2

spmd.mesh @mesh <["t"=4]>

func.func @main(%x: tensor<4x8x16xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"t"}]>},
                %scale: tensor<16xf32> {tp.name = "scale", spmd.sharding = #spmd.sharding<@mesh, [{"t"}]>},
                %bias: tensor<16xf32> {tp.name = "bias", spmd.sharding = #spmd.sharding<@mesh, [{"t"}]>})
    -> (tensor<4x8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"t"}]>}) {
  %y = tp.layer_norm %x, %scale, %bias epsilon = 1.0e-5 : (tensor<4x8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}
