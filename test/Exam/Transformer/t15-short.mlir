// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T15: more devices than heads, a short sequence: the scores are summed.
//
// EXPECT: AR{tp:(2)2} V=512, AR{tp} V=2048
// WIRE: 3584

spmd.mesh @mesh <["tp"=4]>

func.func @main(%x: tensor<2x16x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>},
                %wq: tensor<64x64xf32> {tp.name = "wq", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %wk: tensor<64x64xf32> {tp.name = "wk", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %wv: tensor<64x64xf32> {tp.name = "wv", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %wo: tensor<64x64xf32> {tp.name = "wo", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<2x16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %qf = tp.einsum "bsh,hd->bsd" %x, %wq : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
  %kf = tp.einsum "bsh,hd->bsd" %x, %wk : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
  %vf = tp.einsum "bsh,hd->bsd" %x, %wv : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
  %q = tp.reshape %qf : tensor<2x16x64xf32> -> tensor<2x16x2x1x32xf32>
  %k = tp.reshape %kf : tensor<2x16x64xf32> -> tensor<2x16x2x32xf32>
  %v = tp.reshape %vf : tensor<2x16x64xf32> -> tensor<2x16x2x32xf32>
  %a = tp.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x16x2x1x32xf32>, tensor<2x16x2x32xf32>, tensor<2x16x2x32xf32>) -> tensor<2x16x2x1x32xf32>
  %o = tp.reshape %a : tensor<2x16x2x1x32xf32> -> tensor<2x16x64xf32>
  %y = tp.einsum "bsd,dh->bsh" %o, %wo : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
  return %y : tensor<2x16x64xf32>
}
