// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// O11: x cuts the rows of one operand and the columns of the other.
// One of them must be gathered; what follows can be scattered.
//
// EXPECT: AG{x} V=128, AR{y} V=32
// WIRE: 128

spmd.mesh @mesh <["x"=4, "y"=2]>

func.func @main(%x: tensor<8x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>},
                %w: tensor<32x16xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
