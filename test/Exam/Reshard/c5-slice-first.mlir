// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// C5: slicing first shrinks the buffers four times.
//
// EXPECT: A2A{z} V=32, A2A{y} V=32
// WIRE: 40

spmd.mesh @mesh <["x"=4, "y"=2, "z"=4]>

func.func @main(%x: tensor<16x8x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"y", "z"}, {}]>})
    -> (tensor<16x8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x", "z"}, {}, {"y"}]>}) {
  return %x : tensor<16x8x8xf32>
}
