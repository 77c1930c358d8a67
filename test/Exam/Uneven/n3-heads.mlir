// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// N3: six heads over four devices: three have two, the padded ones add 0.
//
// EXPECT: AR{tp} V=384
// LOCAL: wq 48x2x1x8; wo 2x1x8x48

spmd.mesh @mesh <["tp"=4]>

func.func @main(%x: tensor<1x8x48xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>},
                %wq: tensor<48x6x1x8xf32> {tp.name = "wq", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}, {}]>},
                %wk: tensor<48x6x8xf32> {tp.name = "wk", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}]>},
                %wv: tensor<48x6x8xf32> {tp.name = "wv", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}]>},
                %wo: tensor<6x1x8x48xf32> {tp.name = "wo", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}, {}, {}]>})
    -> (tensor<1x8x48xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %q = tp.einsum "bsh,hkgd->bskgd" %x, %wq : (tensor<1x8x48xf32>, tensor<48x6x1x8xf32>) -> tensor<1x8x6x1x8xf32>
  %k = tp.einsum "bsh,hkd->bskd" %x, %wk : (tensor<1x8x48xf32>, tensor<48x6x8xf32>) -> tensor<1x8x6x8xf32>
  %v = tp.einsum "bsh,hkd->bskd" %x, %wv : (tensor<1x8x48xf32>, tensor<48x6x8xf32>) -> tensor<1x8x6x8xf32>
  %a = tp.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<1x8x6x1x8xf32>, tensor<1x8x6x8xf32>, tensor<1x8x6x8xf32>) -> tensor<1x8x6x1x8xf32>
  %y = tp.einsum "bskgd,kgdh->bsh" %a, %wo : (tensor<1x8x6x1x8xf32>, tensor<6x1x8x48xf32>) -> tensor<1x8x48xf32>
  return %y : tensor<1x8x48xf32>
}
