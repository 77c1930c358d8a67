// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// M3: an axis cannot be used twice in the result, and still reaches the other operand.
//
// PROPAGATED: w [a?,?]; result [?,a?]

spmd.mesh @mesh <["a"=2]>

func.func @main(%x: tensor<256x512xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a", ?}, {?}]>},
                %w: tensor<128x512xf32> {tp.name = "w"})
    -> (tensor<256x128xf32> {spmd.sharding = #spmd.sharding<@mesh, [{?}, {"a", ?}]>}) {
  %t = tp.transpose %w [1, 0] : tensor<128x512xf32> -> tensor<512x128xf32>
  %y = tp.einsum "ik,kj->ij" %x, %t : (tensor<256x512xf32>, tensor<512x128xf32>) -> tensor<256x128xf32>
  return %y : tensor<256x128xf32>
}
