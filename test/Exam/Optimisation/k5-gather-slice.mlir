// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K5: a gather followed by the same slice is nothing.
//
// EXPECT: none

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<16x16xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %c = spmd.constraint %x <@mesh, [{}, {}]> : tensor<16x16xf32>
  return %c : tensor<16x16xf32>
}
