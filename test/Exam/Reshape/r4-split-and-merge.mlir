// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// R4: split and merge in one reshape.
//
// EXPECT: none
// PROPAGATED: y [c?,(a,b)?]

spmd.mesh @mesh <["a"=4, "b"=2, "c"=2]>

func.func @main(%x: tensor<8x4xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"c", "a"}, {"b"}]>})
    -> (tensor<2x16xf32>) {
  %y = tp.reshape %x : tensor<8x4xf32> -> tensor<2x16xf32>
  return %y : tensor<2x16xf32>
}
