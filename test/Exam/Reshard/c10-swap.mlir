// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// C10: three moves over both axes beat a permute in the middle.
//
// EXPECT: A2A{x} V=24, A2A{x,y} V=24, A2A{x} V=24

spmd.mesh @mesh <["x"=2, "y"=3]>

func.func @main(%x: tensor<12x12xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<12x12xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {"x"}]>}) {
  return %x : tensor<12x12xf32>
}
