// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// R1: merge: the minor dimension stays where the major one is not full.
//
// PROPAGATED: y [a?]

spmd.mesh @mesh <["a"=2, "b"=2]>

func.func @main(%x: tensor<4x4xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a"}, {"b"}]>})
    -> (tensor<16xf32>) {
  %y = tp.reshape %x : tensor<4x4xf32> -> tensor<16xf32>
  return %y : tensor<16xf32>
}
