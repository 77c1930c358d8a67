// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T1: the same with the sequence cut along tp outside the block.
// The same bytes as gather and scatter.
//
// EXPECT: AG{tp} V=2048, RS{tp} V=2048
// MESHES: dp=1,tp=1; dp=1,tp=2; dp=2,tp=2; dp=1,tp=3; dp=2,tp=3; dp=1,tp=5; dp=1,tp=8

spmd.mesh @mesh <["dp"=2, "tp"=4]>

func.func @main(%x: tensor<4x16x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {"tp"}, {}]>},
                %w1: tensor<64x256xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %w2: tensor<256x64xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {"tp"}, {}]>}) {
  %h = tp.einsum "bsi,io->bso" %x, %w1 : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>
  %g = tp.gelu %h : tensor<4x16x256xf32>
  %y = tp.einsum "bso,oi->bsi" %g, %w2 : (tensor<4x16x256xf32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
  return %y : tensor<4x16x64xf32>
}
