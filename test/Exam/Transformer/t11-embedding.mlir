// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T11: an embedding with the vocabulary cut.
// Masked local lookup, then a sum; the table stays.
//
// EXPECT: AR{tp} V=1024
// MESHES: tp=1; tp=2; tp=3; tp=5; tp=8

spmd.mesh @mesh <["tp"=4]>

func.func @main(%table: tensor<512x32xf32> {tp.name = "table", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>},
                %ids: tensor<4x8xi32> {tp.name = "ids", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>})
    -> (tensor<4x8x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %y = tp.embedding %table, %ids : (tensor<512x32xf32>, tensor<4x8xi32>) -> tensor<4x8x32xf32>
  return %y : tensor<4x8x32xf32>
}
