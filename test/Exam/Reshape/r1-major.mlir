// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// R1: merge: the major dimension passes.
//
// EXPECT: none
// PROPAGATED: y [a?]

spmd.mesh @mesh <["a"=2, "b"=2]>

func.func @main(%x: tensor<2x4xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<8xf32>) {
  %y = tp.reshape %x : tensor<2x4xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}
