// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// O12: long activations against small weights.
// Past 2f tokens per shard the weights are cheaper to move than a sum.
//
// EXPECT: AG{tp} V=16384, AG{tp} V=262144
// WIRE: 208896
// MESHES: tp=1; tp=2; tp=3; tp=5; tp=8

spmd.mesh @mesh <["tp"=4]>

func.func @main(%x: tensor<2x2048x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>},
                %w1: tensor<64x128xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %w2: tensor<128x64xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<2x2048x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %h = tp.einsum "bsi,io->bso" %x, %w1 : (tensor<2x2048x64xf32>, tensor<64x128xf32>) -> tensor<2x2048x128xf32>
  %g = tp.tanh %h : tensor<2x2048x128xf32>
  %y = tp.einsum "bso,oi->bsi" %g, %w2 : (tensor<2x2048x128xf32>, tensor<128x64xf32>) -> tensor<2x2048x64xf32>
  return %y : tensor<2x2048x64xf32>
}
