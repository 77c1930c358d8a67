// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// C1: a sub-axis can be the dropped suffix.
//
// EXPECT: AG{y:(4)2} V=16

spmd.mesh @mesh <["y"=8, "x"=2]>

func.func @main(%x: tensor<16x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<16x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y":(1)4}, {"x"}]>}) {
  return %x : tensor<16x8xf32>
}
