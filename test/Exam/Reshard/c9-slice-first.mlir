// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// C9: slice first, gather last.
//
// EXPECT: AG{x} V=64

spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @main(%x: tensor<16x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"y"}]>}) {
  return %x : tensor<16x8xf32>
}
