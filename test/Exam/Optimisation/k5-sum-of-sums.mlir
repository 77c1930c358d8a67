// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K5: a sum of sums is one sum.
//
// EXPECT: AR{x,y} V=16

spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @main(%x: tensor<16x8x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}, {"y"}]>})
    -> (tensor<16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>}) {
  %s = tp.reduce sum %x dims = [2] : tensor<16x8x8xf32> -> tensor<16x8xf32>
  %y = tp.reduce sum %s dims = [1] : tensor<16x8xf32> -> tensor<16xf32>
  return %y : tensor<16xf32>
}
