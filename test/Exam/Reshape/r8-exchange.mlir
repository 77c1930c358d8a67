// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// R8: moving the axis to the major dimension is half as dear as a gather.
//
// EXPECT: A2A{y} V=24

spmd.mesh @mesh <["y"=2]>

func.func @main(%x: tensor<8x6xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<48xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y"}]>}) {
  %y = tp.reshape %x : tensor<8x6xf32> -> tensor<48xf32>
  return %y : tensor<48xf32>
}
