// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// R6: y fills half of the rows, so half of x has to move over.
// A gather would send 12.
//
// EXPECT: CP{x:(1)2,x:(2)2} V=4, A2A{x:(1)2} V=4
// WIRE: 6

spmd.mesh @mesh <["x"=4, "y"=2]>

func.func @main(%x: tensor<4x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {"x"}]>})
    -> (tensor<32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y", "x"}]>}) {
  %y = tp.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  return %y : tensor<32xf32>
}
