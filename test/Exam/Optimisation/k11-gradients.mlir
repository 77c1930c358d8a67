// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K11: independent gradients over the same axes share a launch.
// The payload must not grow.
//
// EXPECT: AR{d} V=6144

spmd.mesh @mesh <["d"=4]>

func.func @main(%x: tensor<512x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"d"}, {}]>},
                %u: tensor<512x64xf32> {tp.name = "u", spmd.sharding = #spmd.sharding<@mesh, [{"d"}, {}]>},
                %v: tensor<512x32xf32> {tp.name = "v", spmd.sharding = #spmd.sharding<@mesh, [{"d"}, {}]>})
    -> (tensor<64x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}, tensor<64x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %a = tp.einsum "bi,bo->io" %x, %u : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %b = tp.einsum "bi,bo->io" %x, %v : (tensor<512x64xf32>, tensor<512x32xf32>) -> tensor<64x32xf32>
  return %a, %b : tensor<64x64xf32>, tensor<64x32xf32>
}
