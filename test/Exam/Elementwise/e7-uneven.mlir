// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// E7: the minor-most factor may be uneven.
//
// EXPECT: none
// PROPAGATED: y [?,a?]
// LOCAL: x 2x2; z 2x2

spmd.mesh @mesh <["a"=3]>

func.func @main(%x: tensor<2x4xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"a"}]>},
                %z: tensor<2x4xf32> {tp.name = "z"})
    -> (tensor<2x4xf32>) {
  %y = tp.add %x, %z : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
