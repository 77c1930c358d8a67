// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// L3: twelve layers in a loop, weights stacked along a dimension that is not cut.
// Two row-parallel outputs per layer; slicing a whole dimension is local.
//
// EXPECT: AR{tp} V=2048 x24

spmd.mesh @mesh <["dp"=2, "tp"=4]>

func.func @main(%x: tensor<4x16x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>},
                %n1: tensor<12x64xf32> {tp.name = "n1", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
                %n2: tensor<12x64xf32> {tp.name = "n2", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
                %wq: tensor<12x64x8x1x8xf32> {tp.name = "wq", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"tp"}, {}, {}]>},
                %wk: tensor<12x64x8x8xf32> {tp.name = "wk", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"tp"}, {}]>},
                %wv: tensor<12x64x8x8xf32> {tp.name = "wv", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"tp"}, {}]>},
                %wo: tensor<12x8x1x8x64xf32> {tp.name = "wo", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}, {}, {}]>},
                %w1: tensor<12x64x256xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"tp"}]>},
                %w2: tensor<12x256x64xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}]>})
    -> (tensor<4x16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>}) {
  %zero = tp.constant dense<0> : tensor<i32>
  %y = tp.for 12 (%x) {
  ^bb0(%i: tensor<i32>, %v: tensor<4x16x64xf32>):
    %n1s = tp.dynamic_slice %n1 [%i, %zero] : (tensor<12x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>
    %n1l = tp.reshape %n1s : tensor<1x64xf32> -> tensor<64xf32>
    %n2s = tp.dynamic_slice %n2 [%i, %zero] : (tensor<12x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>
    %n2l = tp.reshape %n2s : tensor<1x64xf32> -> tensor<64xf32>
    %wqs = tp.dynamic_slice %wq [%i, %zero, %zero, %zero, %zero] : (tensor<12x64x8x1x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x8x1x8xf32>
    %wql = tp.reshape %wqs : tensor<1x64x8x1x8xf32> -> tensor<64x8x1x8xf32>
    %wks = tp.dynamic_slice %wk [%i, %zero, %zero, %zero] : (tensor<12x64x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x8x8xf32>
    %wkl = tp.reshape %wks : tensor<1x64x8x8xf32> -> tensor<64x8x8xf32>
    %wvs = tp.dynamic_slice %wv [%i, %zero, %zero, %zero] : (tensor<12x64x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x8x8xf32>
    %wvl = tp.reshape %wvs : tensor<1x64x8x8xf32> -> tensor<64x8x8xf32>
    %wos = tp.dynamic_slice %wo [%i, %zero, %zero, %zero, %zero] : (tensor<12x8x1x8x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x1x8x64xf32>
    %wol = tp.reshape %wos : tensor<1x8x1x8x64xf32> -> tensor<8x1x8x64xf32>
    %w1s = tp.dynamic_slice %w1 [%i, %zero, %zero] : (tensor<12x64x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x256xf32>
    %w1l = tp.reshape %w1s : tensor<1x64x256xf32> -> tensor<64x256xf32>
    %w2s = tp.dynamic_slice %w2 [%i, %zero, %zero] : (tensor<12x256x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x256x64xf32>
    %w2l = tp.reshape %w2s : tensor<1x256x64xf32> -> tensor<256x64xf32>
    %h = tp.rms_norm %v, %n1l epsilon = 1.0e-5 : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>
    %q = tp.einsum "bsh,hkgd->bskgd" %h, %wql : (tensor<4x16x64xf32>, tensor<64x8x1x8xf32>) -> tensor<4x16x8x1x8xf32>
    %k = tp.einsum "bsh,hkd->bskd" %h, %wkl : (tensor<4x16x64xf32>, tensor<64x8x8xf32>) -> tensor<4x16x8x8xf32>
    %u = tp.einsum "bsh,hkd->bskd" %h, %wvl : (tensor<4x16x64xf32>, tensor<64x8x8xf32>) -> tensor<4x16x8x8xf32>
    %a = tp.attention %q, %k, %u {causal, scale = 0.001 : f64} : (tensor<4x16x8x1x8xf32>, tensor<4x16x8x8xf32>, tensor<4x16x8x8xf32>) -> tensor<4x16x8x1x8xf32>
    %o = tp.einsum "bskgd,kgdh->bsh" %a, %wol : (tensor<4x16x8x1x8xf32>, tensor<8x1x8x64xf32>) -> tensor<4x16x64xf32>
    %r = tp.add %v, %o : tensor<4x16x64xf32>
    %g = tp.rms_norm %r, %n2l epsilon = 1.0e-5 : (tensor<4x16x64xf32>, tensor<64xf32>) -> tensor<4x16x64xf32>
    %f = tp.einsum "bsi,io->bso" %g, %w1l : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
    %e = tp.silu %f : tensor<4x16x256xf32>
    %d = tp.einsum "bso,oi->bsi" %e, %w2l : (tensor<4x16x256xf32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
    %next = tp.add %r, %d : tensor<4x16x64xf32>
    tp.yield %next : tensor<4x16x64xf32>
  } : (tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
  return %y : tensor<4x16x64xf32>
}
