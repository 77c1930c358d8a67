// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T9: a mixture of experts: tokens go to the experts and come back.
// No expert weight and no mask moves.
//
// EXPECT: A2A{e} V=1024 x2

spmd.mesh @mesh <["e"=8]>

func.func @main(%x: tensor<8x16x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"e"}, {}, {}]>},
                %dispatch: tensor<8x16x8x4xf32> {tp.name = "dispatch", spmd.sharding = #spmd.sharding<@mesh, [{"e"}, {}, {}, {}]>},
                %combine: tensor<8x16x8x4xf32> {tp.name = "combine", spmd.sharding = #spmd.sharding<@mesh, [{"e"}, {}, {}, {}]>},
                %w1: tensor<8x32x64xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{"e"}, {}, {}]>},
                %w2: tensor<8x64x32xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{"e"}, {}, {}]>})
    -> (tensor<8x16x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"e"}, {}, {}]>}) {
  %t = tp.einsum "gsec,gsm->egcm" %dispatch, %x : (tensor<8x16x8x4xf32>, tensor<8x16x32xf32>) -> tensor<8x8x4x32xf32>
  %h = tp.einsum "egcm,emf->egcf" %t, %w1 : (tensor<8x8x4x32xf32>, tensor<8x32x64xf32>) -> tensor<8x8x4x64xf32>
  %a = tp.relu %h : tensor<8x8x4x64xf32>
  %o = tp.einsum "egcf,efm->egcm" %a, %w2 : (tensor<8x8x4x64xf32>, tensor<8x64x32xf32>) -> tensor<8x8x4x32xf32>
  %y = tp.einsum "gsec,egcm->gsm" %combine, %o : (tensor<8x16x8x4xf32>, tensor<8x8x4x32xf32>) -> tensor<8x16x32xf32>
  return %y : tensor<8x16x32xf32>
}
