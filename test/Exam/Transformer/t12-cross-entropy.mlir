// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T12: output head and cross entropy with the vocabulary cut.
// Only per-token numbers cross devices.
//
// EXPECT: AR{tp} V=12, AR{tp} V=12, AR{tp} V=12
// WIRE: 54
// MESHES: dp=1,tp=1; dp=1,tp=2; dp=2,tp=2; dp=1,tp=3; dp=2,tp=3; dp=1,tp=5; dp=1,tp=8

spmd.mesh @mesh <["dp"=2, "tp"=4]>

func.func @main(%x: tensor<24x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}]>},
                %w: tensor<64x256xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %labels: tensor<24xi32> {tp.name = "labels", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}]>})
    -> (tensor<24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}]>}) {
  %0 = tp.einsum "ti,iv->tv" %x, %w : (tensor<24x64xf32>, tensor<64x256xf32>) -> tensor<24x256xf32>
  %1 = tp.cross_entropy %0, %labels : (tensor<24x256xf32>, tensor<24xi32>) -> tensor<24xf32>
  return %1 : tensor<24xf32>
}
