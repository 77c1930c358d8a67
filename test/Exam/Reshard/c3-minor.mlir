// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// C3: the minor axis changes dimension.
//
// EXPECT: A2A{z} V=16

spmd.mesh @mesh <["x"=2, "y"=2, "z"=2]>

func.func @main(%x: tensor<16x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x", "z"}, {"y"}]>})
    -> (tensor<16x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y", "z"}]>}) {
  return %x : tensor<16x8xf32>
}
