// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// M5: a closed result blocks b on the rows; the batch factor still flows back.
//
// PROPAGATED: w [(a,b)?,?,?]

spmd.mesh @mesh <["a"=2, "b"=2]>

func.func @main(%x: tensor<2x8x4xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a"}, {"b"}, {}]>},
                %w: tensor<2x4x16xf32> {tp.name = "w"})
    -> (tensor<2x8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"a", "b"}, {}, {}]>}) {
  %y = tp.einsum "bik,bkj->bij" %x, %w : (tensor<2x8x4xf32>, tensor<2x4x16xf32>) -> tensor<2x8x16xf32>
  return %y : tensor<2x8x16xf32>
}
