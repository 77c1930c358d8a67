// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// O8: both operands cut both ways.
// Cheaper than summing here.
//
// EXPECT: AG{y} V=64, AG{x} V=128
// WIRE: 128

spmd.mesh @mesh <["x"=4, "y"=2]>

func.func @main(%x: tensor<16x16xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>},
                %w: tensor<16x16xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<16x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}
