// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K5: two exchanges on disjoint dimensions of one value are one launch.
//
// EXPECT: A2A{x,y} V=2048

spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @main(%x: tensor<16x8x8x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}, {"y"}, {}]>})
    -> (tensor<16x8x8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}, {}, {"y"}]>}) {
  return %x : tensor<16x8x8x8xf32>
}
