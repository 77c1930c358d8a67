// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// R3: an axis may be cut into three sub-axes.
//
// EXPECT: none
// PROPAGATED: y [a:(1)2?,a:(2)4?,a:(8)2?]

spmd.mesh @mesh <["a"=16]>

func.func @main(%x: tensor<32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a"}]>})
    -> (tensor<2x4x4xf32>) {
  %y = tp.reshape %x : tensor<32xf32> -> tensor<2x4x4xf32>
  return %y : tensor<2x4x4xf32>
}
