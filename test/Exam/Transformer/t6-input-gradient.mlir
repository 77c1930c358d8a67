// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T6: the gradient of an input that three products read.
// Sums commute: add first, then one all-reduce.
//
// EXPECT: AR{tp} V=2048
// MESHES: dp=1,tp=1; dp=1,tp=2; dp=2,tp=2; dp=1,tp=3; dp=2,tp=3; dp=1,tp=5; dp=1,tp=8

spmd.mesh @mesh <["dp"=2, "tp"=4]>

func.func @main(%dq: tensor<4x16x64xf32> {tp.name = "dq", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {"tp"}]>},
                %dk: tensor<4x16x64xf32> {tp.name = "dk", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {"tp"}]>},
                %dv: tensor<4x16x64xf32> {tp.name = "dv", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {"tp"}]>},
                %wq: tensor<64x64xf32> {tp.name = "wq", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %wk: tensor<64x64xf32> {tp.name = "wk", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %wv: tensor<64x64xf32> {tp.name = "wv", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {}]>}) {
  %q = tp.einsum "bso,io->bsi" %dq, %wq : (tensor<4x16x64xf32>, tensor<64x64xf32>) -> tensor<4x16x64xf32>
  %k = tp.einsum "bso,io->bsi" %dk, %wk : (tensor<4x16x64xf32>, tensor<64x64xf32>) -> tensor<4x16x64xf32>
  %v = tp.einsum "bso,io->bsi" %dv, %wv : (tensor<4x16x64xf32>, tensor<64x64xf32>) -> tensor<4x16x64xf32>
  %0 = tp.add %q, %k : tensor<4x16x64xf32>
  %1 = tp.add %0, %v : tensor<4x16x64xf32>
  return %1 : tensor<4x16x64xf32>
}
