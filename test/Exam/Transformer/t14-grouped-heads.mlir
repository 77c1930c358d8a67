// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T14: fewer key-value heads than devices take a sub-axis.
// Repeating a head is a broadcast on a separate factor.
//
// EXPECT: AR{tp} V=1024
// PROPAGATED: wk [?,tp:(1)8?]; wv [?,tp:(1)8?]

spmd.mesh @mesh <["tp"=16]>

func.func @main(%x: tensor<1x16x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>},
                %wq: tensor<64x256xf32> {tp.name = "wq", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %wk: tensor<64x64xf32> {tp.name = "wk"},
                %wv: tensor<64x64xf32> {tp.name = "wv"},
                %wo: tensor<256x64xf32> {tp.name = "wo", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<1x16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %qf = tp.einsum "bsh,hd->bsd" %x, %wq : (tensor<1x16x64xf32>, tensor<64x256xf32>) -> tensor<1x16x256xf32>
  %kf = tp.einsum "bsh,hd->bsd" %x, %wk : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32>
  %vf = tp.einsum "bsh,hd->bsd" %x, %wv : (tensor<1x16x64xf32>, tensor<64x64xf32>) -> tensor<1x16x64xf32>
  %q = tp.reshape %qf : tensor<1x16x256xf32> -> tensor<1x16x8x4x8xf32>
  %k = tp.reshape %kf : tensor<1x16x64xf32> -> tensor<1x16x8x8xf32>
  %v = tp.reshape %vf : tensor<1x16x64xf32> -> tensor<1x16x8x8xf32>
  %a = tp.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<1x16x8x4x8xf32>, tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x4x8xf32>
  %o = tp.reshape %a : tensor<1x16x8x4x8xf32> -> tensor<1x16x256xf32>
  %y = tp.einsum "bsd,dh->bsh" %o, %wo : (tensor<1x16x256xf32>, tensor<256x64xf32>) -> tensor<1x16x64xf32>
  return %y : tensor<1x16x64xf32>
}
