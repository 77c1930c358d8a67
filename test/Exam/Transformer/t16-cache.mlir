// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T16: one new token per sequence: cache update and attention stay within the heads.
// Heads never mix before the output product.
//
// EXPECT: AR{tp} V=128

spmd.mesh @mesh <["dp"=2, "tp"=4]>

func.func @main(%x: tensor<4x1x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>},
                %wq: tensor<64x8x1x8xf32> {tp.name = "wq", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}, {}]>},
                %wk: tensor<64x8x8xf32> {tp.name = "wk", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}]>},
                %wv: tensor<64x8x8xf32> {tp.name = "wv", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}, {}]>},
                %wo: tensor<8x1x8x64xf32> {tp.name = "wo", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}, {}, {}]>},
                %keys: tensor<4x32x8x8xf32> {tp.name = "keys", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {"tp"}, {}]>},
                %values: tensor<4x32x8x8xf32> {tp.name = "values", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {"tp"}, {}]>},
                %position: tensor<i32> {tp.name = "position"})
    -> (tensor<4x1x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>}, tensor<4x32x8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {"tp"}, {}]>}, tensor<4x32x8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {"tp"}, {}]>}) {
  %zero = tp.constant dense<0> : tensor<i32>
  %q = tp.einsum "bsh,hkgd->bskgd" %x, %wq : (tensor<4x1x64xf32>, tensor<64x8x1x8xf32>) -> tensor<4x1x8x1x8xf32>
  %k = tp.einsum "bsh,hkd->bskd" %x, %wk : (tensor<4x1x64xf32>, tensor<64x8x8xf32>) -> tensor<4x1x8x8xf32>
  %v = tp.einsum "bsh,hkd->bskd" %x, %wv : (tensor<4x1x64xf32>, tensor<64x8x8xf32>) -> tensor<4x1x8x8xf32>
  %ks = tp.dynamic_update_slice %keys, %k [%zero, %position, %zero, %zero] : (tensor<4x32x8x8xf32>, tensor<4x1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x32x8x8xf32>
  %vs = tp.dynamic_update_slice %values, %v [%zero, %position, %zero, %zero] : (tensor<4x32x8x8xf32>, tensor<4x1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x32x8x8xf32>
  %a = tp.attention %q, %ks, %vs offset(%position : tensor<i32>) {causal, scale = 0.125 : f64} : (tensor<4x1x8x1x8xf32>, tensor<4x32x8x8xf32>, tensor<4x32x8x8xf32>) -> tensor<4x1x8x1x8xf32>
  %y = tp.einsum "bskgd,kgdh->bsh" %a, %wo : (tensor<4x1x8x1x8xf32>, tensor<8x1x8x64xf32>) -> tensor<4x1x64xf32>
  return %y, %ks, %vs : tensor<4x1x64xf32>, tensor<4x32x8x8xf32>, tensor<4x32x8x8xf32>
}
