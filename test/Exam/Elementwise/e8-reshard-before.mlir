// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// E8: compute in the more sharded form.
//
// PARTITIONED: y [x,-]

spmd.mesh @mesh <["x"=4, "y"=2]>

func.func @main(%x: tensor<16x24xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<16x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %y = tp.neg %x : tensor<16x24xf32>
  return %y : tensor<16x24xf32>
}
