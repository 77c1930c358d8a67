// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K1: a minimum whose only user keeps a slice is scattered.
//
// EXPECT: RS{x} V=32
// MESHES: x=3

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<16x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  %y = tp.reduce min %x dims = [0] : tensor<16x32xf32> -> tensor<32xf32>
  return %y : tensor<32xf32>
}
