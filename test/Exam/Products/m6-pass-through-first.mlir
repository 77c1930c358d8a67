// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// M6: pass-through factors before reductions.
//
// PROPAGATED: x [a?,?]

spmd.mesh @mesh <["a"=4, "b"=2]>

func.func @main(%x: tensor<32x1024xf32> {tp.name = "x"},
                %w: tensor<1024x16xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"a", ?}, {"b", ?}]>})
    -> (tensor<32x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"a", ?}, {"b", ?}]>}) {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<32x1024xf32>, tensor<1024x16xf32>) -> tensor<32x16xf32>
  return %y : tensor<32x16xf32>
}
