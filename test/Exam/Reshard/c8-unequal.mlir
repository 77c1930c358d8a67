// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// C8: sizes 4 and 2 differ, so half of x also changes dimension.
// Never through the replicated tensor.
//
// EXPECT: CP{x:(1)2,y} V=16, A2A{x:(2)2} V=16

spmd.mesh @mesh <["x"=4, "y"=2]>

func.func @main(%x: tensor<16x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<16x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {"x"}]>}) {
  return %x : tensor<16x8xf32>
}
