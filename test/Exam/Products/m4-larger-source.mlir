// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// M4: a is wanted twice; the larger source tensor wins.
//
// PROPAGATED: y [?,(a,c)?]

spmd.mesh @mesh <["a"=2, "b"=2, "c"=2]>

func.func @main(%x: tensor<8x4xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a", "b"}, {?}]>},
                %w: tensor<4x16xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{?}, {"a", "c"}]>})
    -> (tensor<8x16xf32>) {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
