// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T4: attention and MLP read one norm and add up.
// One sum for both branches.
//
// EXPECT: AR{tp} V=2048

spmd.mesh @mesh <["dp"=2, "tp"=4]>

func.func @main(%x: tensor<4x16x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>},
                %n: tensor<64xf32> {tp.name = "n", spmd.sharding = #spmd.sharding<@mesh, [{}]>},
                %wq: tensor<64x8x1x8xf32> {tp.name = "wq", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}, {}]>},
                %wk: tensor<64x8x8xf32> {tp.name = "wk", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}]>},
                %wv: tensor<64x8x8xf32> {tp.name = "wv", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}]>},
                %wo: tensor<8x1x8x64xf32> {tp.name = "wo", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}, {}, {}]>},
                %w1: tensor<64x256xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %w2: tensor<256x64xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>}) {
  %h = tp.rms_norm %x, %n epsilon = 1.0e-5 : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>
  %q = tp.einsum "bsh,hkgd->bskgd" %h, %wq : (tensor<4x16x64xf32>, tensor<64x8x1x8xf32>) -> tensor<4x16x8x1x8xf32>
  %k = tp.einsum "bsh,hkd->bskd" %h, %wk : (tensor<4x16x64xf32>, tensor<64x8x8xf32>) -> tensor<4x16x8x8xf32>
  %v = tp.einsum "bsh,hkd->bskd" %h, %wv : (tensor<4x16x64xf32>, tensor<64x8x8xf32>) -> tensor<4x16x8x8xf32>
  %a = tp.attention %q, %k, %v {causal, scale = 0.125 : f64} : (tensor<4x16x8x1x8xf32>, tensor<4x16x8x8xf32>, tensor<4x16x8x8xf32>) -> tensor<4x16x8x1x8xf32>
  %o = tp.einsum "bskgd,kgdh->bsh" %a, %wo : (tensor<4x16x8x1x8xf32>, tensor<8x1x8x64xf32>) -> tensor<4x16x64xf32>
  %u = tp.einsum "bsi,io->bso" %h, %w1 : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %g = tp.silu %u : tensor<4x16x256xf32>
  %d = tp.einsum "bso,oi->bsi" %g, %w2 : (tensor<4x16x256xf32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
  %r = tp.add %x, %o : tensor<4x16x64xf32>
  %y = tp.add %r, %d : tensor<4x16x64xf32>
  return %y : tensor<4x16x64xf32>
}
