// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// N4: a vocabulary that does not divide.
// -inf in the padding for the maximum, 0 for the sums.
//
// EXPECT: AR{t} V=16, AR{t} V=16, AR{t} V=16
// WIRE: 84
// MESHES: t=1; t=2; t=3; t=5

spmd.mesh @mesh <["t"=8]>

func.func @main(%x: tensor<16x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
                %w: tensor<64x323xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"t"}]>},
                %labels: tensor<16xi32> {tp.name = "labels", spmd.sharding = #spmd.sharding<@mesh, [{}]>})
    -> (tensor<16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>}) {
  %0 = tp.einsum "ti,iv->tv" %x, %w : (tensor<16x64xf32>, tensor<64x323xf32>) -> tensor<16x323xf32>
  %1 = tp.cross_entropy %0, %labels : (tensor<16x323xf32>, tensor<16xi32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
