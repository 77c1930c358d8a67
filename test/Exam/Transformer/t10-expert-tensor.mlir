// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T10: experts that are cut as well: the sum comes after the combine, which shrinks it.
//
// EXPECT: A2A{e} V=1024 x2, AR{t} V=512

spmd.mesh @mesh <["e"=4, "t"=2]>

func.func @main(%x: tensor<4x16x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"e"}, {}, {}]>},
                %dispatch: tensor<4x16x8x4xf32> {tp.name = "dispatch", spmd.sharding = #spmd.sharding<@mesh, [{"e"}, {}, {}, {}]>},
                %combine: tensor<4x16x8x4xf32> {tp.name = "combine", spmd.sharding = #spmd.sharding<@mesh, [{"e"}, {}, {}, {}]>},
                %w1: tensor<8x32x64xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{"e"}, {}, {"t"}]>},
                %w2: tensor<8x64x32xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{"e"}, {"t"}, {}]>})
    -> (tensor<4x16x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"e"}, {}, {}]>}) {
  %t = tp.einsum "gsec,gsm->egcm" %dispatch, %x : (tensor<4x16x8x4xf32>, tensor<4x16x32xf32>) -> tensor<8x4x4x32xf32>
  %h = tp.einsum "egcm,emf->egcf" %t, %w1 : (tensor<8x4x4x32xf32>, tensor<8x32x64xf32>) -> tensor<8x4x4x64xf32>
  %a = tp.relu %h : tensor<8x4x4x64xf32>
  %o = tp.einsum "egcf,efm->egcm" %a, %w2 : (tensor<8x4x4x64xf32>, tensor<8x64x32xf32>) -> tensor<8x4x4x32xf32>
  %y = tp.einsum "gsec,egcm->gsm" %combine, %o : (tensor<4x16x8x4xf32>, tensor<8x4x4x32xf32>) -> tensor<4x16x32xf32>
  return %y : tensor<4x16x32xf32>
}
