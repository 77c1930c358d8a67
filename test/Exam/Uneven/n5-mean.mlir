// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// N5: a mean counts the true size, not the padded one.
//
// EXPECT: AR{x} V=3
// LOCAL: x 3x3
// MESHES: x=2; x=3; x=8

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<10x3xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<3xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>}) {
  %s = tp.reduce sum %x dims = [0] : tensor<10x3xf32> -> tensor<3xf32>
  %ten = tp.constant dense<10.0> : tensor<3xf32>
  %y = tp.div %s, %ten : tensor<3xf32>
  return %y : tensor<3xf32>
}
