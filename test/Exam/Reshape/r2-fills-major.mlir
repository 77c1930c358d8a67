// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// R2: split: major axes fill the major dimension first.
//
// EXPECT: none
// PROPAGATED: y [b?,a?]

spmd.mesh @mesh <["a"=2, "b"=2]>

func.func @main(%x: tensor<8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"b", "a"}]>})
    -> (tensor<2x4xf32>) {
  %y = tp.reshape %x : tensor<8xf32> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
