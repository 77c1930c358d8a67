// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// C7: equal blocks only change owner.
//
// EXPECT: CP{x,y} V=32

spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @main(%x: tensor<16x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<16x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {"x"}]>}) {
  return %x : tensor<16x8xf32>
}
