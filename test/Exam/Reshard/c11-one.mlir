// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// C11: an axis of size 1 carries no data.
//
// EXPECT: none

spmd.mesh @mesh <["x"=2, "u"=1]>

func.func @main(%x: tensor<16x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x", "u"}, {}]>})
    -> (tensor<16x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"u"}]>}) {
  return %x : tensor<16x8xf32>
}
