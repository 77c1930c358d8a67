// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// E1: a compatible prefix is extended.
//
// PROPAGATED: z [(b,a)?,-]

spmd.mesh @mesh <["a"=2, "b"=2]>

func.func @main(%x: tensor<8x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"b", "a"}, {}]>},
                %z: tensor<8x8xf32> {tp.name = "z", spmd.sharding = #spmd.sharding<@mesh, [{"b", ?}, {}]>})
    -> (tensor<8x8xf32>) {
  %y = tp.add %x, %z : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
