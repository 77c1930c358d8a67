// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// M8: four broadcast rows are not worth an axis; the large operand decides.
//
// PROPAGATED: t [?,a?]

spmd.mesh @mesh <["a"=2]>

func.func @main(%x: tensor<4xf32> {tp.name = "x"},
                %w: tensor<1024x1024xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"a", ?}, {?}]>})
    -> (tensor<4x1024xf32>) {
  %t = tp.broadcast %x dims = [0] : tensor<4xf32> -> tensor<4x1024xf32>
  %y = tp.einsum "ik,kj->ij" %t, %w : (tensor<4x1024xf32>, tensor<1024x1024xf32>) -> tensor<4x1024xf32>
  return %y : tensor<4x1024xf32>
}
