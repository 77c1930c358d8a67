// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// N1: 14 rows over 4.
// Row-wise work does not see the padding.
//
// EXPECT: none
// MESHES: x=1; x=2; x=3; x=5; x=8

spmd.mesh @mesh <["x"=4]>

func.func @main(%a: tensor<14x6xf32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<14x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %y = tp.exp %a : tensor<14x6xf32>
  return %y : tensor<14x6xf32>
}
