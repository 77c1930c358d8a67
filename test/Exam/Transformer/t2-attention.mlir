// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T2: attention by heads, queries, keys and values column parallel, output row parallel.
// Heads are independent; rotation, mask and softmax act within a head.
//
// EXPECT: AR{tp} V=2048
// MESHES: dp=1,tp=1; dp=1,tp=2; dp=2,tp=2; dp=1,tp=3; dp=2,tp=3; dp=1,tp=5; dp=1,tp=8

spmd.mesh @mesh <["dp"=2, "tp"=4]>

func.func @main(%x: tensor<4x16x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>},
                %wq: tensor<64x8x1x8xf32> {tp.name = "wq", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}, {}]>},
                %wk: tensor<64x8x8xf32> {tp.name = "wk", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}]>},
                %wv: tensor<64x8x8xf32> {tp.name = "wv", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}]>},
                %wo: tensor<8x1x8x64xf32> {tp.name = "wo", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}, {}, {}]>},
                %cos: tensor<16x4xf32> {tp.name = "cos", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
                %sin: tensor<16x4xf32> {tp.name = "sin", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>})
    -> (tensor<4x16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>}) {
  %q0 = tp.einsum "bsh,hkgd->bskgd" %x, %wq : (tensor<4x16x64xf32>, tensor<64x8x1x8xf32>) -> tensor<4x16x8x1x8xf32>
  %k0 = tp.einsum "bsh,hkd->bskd" %x, %wk : (tensor<4x16x64xf32>, tensor<64x8x8xf32>) -> tensor<4x16x8x8xf32>
  %v = tp.einsum "bsh,hkd->bskd" %x, %wv : (tensor<4x16x64xf32>, tensor<64x8x8xf32>) -> tensor<4x16x8x8xf32>
  %q = tp.rotary %q0, %cos, %sin : (tensor<4x16x8x1x8xf32>, tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<4x16x8x1x8xf32>
  %k = tp.rotary %k0, %cos, %sin : (tensor<4x16x8x8xf32>, tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<4x16x8x8xf32>
  %a = tp.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<4x16x8x1x8xf32>, tensor<4x16x8x8xf32>, tensor<4x16x8x8xf32>) -> tensor<4x16x8x1x8xf32>
  %o = tp.einsum "bskgd,kgdh->bsh" %a, %wo : (tensor<4x16x8x1x8xf32>, tensor<8x1x8x64xf32>) -> tensor<4x16x64xf32>
  return %o : tensor<4x16x64xf32>
}
