// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// R7: tp divides the head factor.
//
// EXPECT: none
// PROPAGATED: h [dp?,?,tp?,?]; y [dp?,tp?,?,?]

spmd.mesh @mesh <["dp"=2, "tp"=4]>

func.func @main(%x: tensor<2x128x1024xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {}, {"tp"}]>})
    -> (tensor<2x16x128x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}]>}) {
  %h = tp.reshape %x : tensor<2x128x1024xf32> -> tensor<2x128x16x64xf32>
  %y = tp.transpose %h [0, 2, 1, 3] : tensor<2x128x16x64xf32> -> tensor<2x16x128x64xf32>
  return %y : tensor<2x16x128x64xf32>
}
