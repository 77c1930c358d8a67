// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T20: GSPMD feed-forward, the batch cut outside, the features inside.
// Gathering both weights would send 24576.
//
// EXPECT: AG{t} V=8192, RS{t} V=8192
// MESHES: t=1; t=2; t=3; t=5; t=8

spmd.mesh @mesh <["t"=4]>

func.func @main(%x: tensor<16x8x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"t"}, {}, {}]>},
                %w1: tensor<64x256xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{}, {"t"}]>},
                %w2: tensor<256x64xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{"t"}, {}]>})
    -> (tensor<16x8x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"t"}, {}, {}]>}) {
  %h = tp.einsum "bsi,io->bso" %x, %w1 : (tensor<16x8x64xf32>, tensor<64x256xf32>) -> tensor<16x8x256xf32>
  %g = tp.gelu %h : tensor<16x8x256xf32>
  %y = tp.einsum "bso,oi->bsi" %g, %w2 : (tensor<16x8x256xf32>, tensor<256x64xf32>) -> tensor<16x8x64xf32>
  return %y : tensor<16x8x64xf32>
}
