// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T18: context parallel, as many key-value heads as heads.
//
// EXPECT: A2A{c} V=3072, A2A{c} V=1024
// WIRE: 3072

spmd.mesh @mesh <["c"=4]>

func.func @main(%x: tensor<1x64x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"c"}, {}]>},
                %wq: tensor<64x8x1x8xf32> {tp.name = "wq", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}, {}]>},
                %wk: tensor<64x8x8xf32> {tp.name = "wk", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>},
                %wv: tensor<64x8x8xf32> {tp.name = "wv", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>},
                %wo: tensor<8x1x8x64xf32> {tp.name = "wo", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}, {}]>})
    -> (tensor<1x64x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"c"}, {}]>}) {
  %q = tp.einsum "bsh,hkgd->bskgd" %x, %wq : (tensor<1x64x64xf32>, tensor<64x8x1x8xf32>) -> tensor<1x64x8x1x8xf32>
  %k = tp.einsum "bsh,hkd->bskd" %x, %wk : (tensor<1x64x64xf32>, tensor<64x8x8xf32>) -> tensor<1x64x8x8xf32>
  %v = tp.einsum "bsh,hkd->bskd" %x, %wv : (tensor<1x64x64xf32>, tensor<64x8x8xf32>) -> tensor<1x64x8x8xf32>
  %a = tp.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<1x64x8x1x8xf32>, tensor<1x64x8x8xf32>, tensor<1x64x8x8xf32>) -> tensor<1x64x8x1x8xf32>
  %y = tp.einsum "bskgd,kgdh->bsh" %a, %wo : (tensor<1x64x8x1x8xf32>, tensor<8x1x8x64xf32>) -> tensor<1x64x64xf32>
  return %y : tensor<1x64x64xf32>
}
