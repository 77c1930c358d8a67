// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// N6: a dimension smaller than its axis: two of four devices hold padding.
//
// EXPECT: none
// LOCAL: x 1x6
// REMARK: padding
// MESHES: x=3; x=5

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<2x6xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<2x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %y = tp.exp %x : tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}
