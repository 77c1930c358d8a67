// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// C10: 2 and 3 share no factor: slice, permute, gather.
//
// EXPECT: CP{x,y} V=24, AG{x} V=48

spmd.mesh @mesh <["x"=2, "y"=3]>

func.func @main(%x: tensor<12x12xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<12x12xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {}]>}) {
  return %x : tensor<12x12xf32>
}
