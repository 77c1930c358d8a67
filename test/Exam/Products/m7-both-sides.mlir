// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// M7: a value used on both sides keeps its first sharding.
// The two uses are not forced to agree.
//
// PROPAGATED: t [a?,?]; y [?,a?]

spmd.mesh @mesh <["a"=2]>

func.func @main(%x: tensor<8x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a", ?}, {?}]>},
                %w: tensor<8x8xf32> {tp.name = "w"})
    -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{?}, {"a", ?}]>}) {
  %t = tp.einsum "ik,kj->ij" %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = tp.einsum "ik,kj->ij" %t, %t : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
