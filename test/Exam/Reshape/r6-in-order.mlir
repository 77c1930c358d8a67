// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// R6: x fills the rows, y follows.
//
// EXPECT: none

spmd.mesh @mesh <["x"=4, "y"=2]>

func.func @main(%x: tensor<4x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x", "y"}]>}) {
  %y = tp.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  return %y : tensor<32xf32>
}
