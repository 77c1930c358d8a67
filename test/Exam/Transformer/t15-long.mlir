// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T15: more devices than heads, a long sequence: halves of the heads are gathered.
//
// EXPECT: AG{tp:(2)2} V=32768 x3, AR{tp} V=65536
// WIRE: 147456

spmd.mesh @mesh <["tp"=4]>

func.func @main(%x: tensor<1x256x256xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>},
                %wq: tensor<256x256xf32> {tp.name = "wq", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %wk: tensor<256x256xf32> {tp.name = "wk", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %wv: tensor<256x256xf32> {tp.name = "wv", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %wo: tensor<256x256xf32> {tp.name = "wo", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<1x256x256xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %qf = tp.einsum "bsh,hd->bsd" %x, %wq : (tensor<1x256x256xf32>, tensor<256x256xf32>) -> tensor<1x256x256xf32>
  %kf = tp.einsum "bsh,hd->bsd" %x, %wk : (tensor<1x256x256xf32>, tensor<256x256xf32>) -> tensor<1x256x256xf32>
  %vf = tp.einsum "bsh,hd->bsd" %x, %wv : (tensor<1x256x256xf32>, tensor<256x256xf32>) -> tensor<1x256x256xf32>
  %q = tp.reshape %qf : tensor<1x256x256xf32> -> tensor<1x256x2x1x128xf32>
  %k = tp.reshape %kf : tensor<1x256x256xf32> -> tensor<1x256x2x128xf32>
  %v = tp.reshape %vf : tensor<1x256x256xf32> -> tensor<1x256x2x128xf32>
  %a = tp.attention %q, %k, %v {scale = 0.001 : f64} : (tensor<1x256x2x1x128xf32>, tensor<1x256x2x128xf32>, tensor<1x256x2x128xf32>) -> tensor<1x256x2x1x128xf32>
  %o = tp.reshape %a : tensor<1x256x2x1x128xf32> -> tensor<1x256x256xf32>
  %y = tp.einsum "bsd,dh->bsh" %o, %wo : (tensor<1x256x256xf32>, tensor<256x256xf32>) -> tensor<1x256x256xf32>
  return %y : tensor<1x256x256xf32>
}
