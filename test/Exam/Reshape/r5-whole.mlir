// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// R5: 3 does not divide: what is wanted whole is gathered.
//
// EXPECT: AG{a} V=9

spmd.mesh @mesh <["a"=3]>

func.func @main(%x: tensor<8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a"}]>})
    -> (tensor<2x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %y = tp.reshape %x : tensor<8xf32> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
