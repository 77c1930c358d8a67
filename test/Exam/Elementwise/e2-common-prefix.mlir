// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// E2: only the common prefix is agreed.
//
// PROPAGATED: y [b?]

spmd.mesh @mesh <["a"=2, "b"=2, "c"=2]>

func.func @main(%x: tensor<16xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"b", "a"}]>},
                %z: tensor<16xf32> {tp.name = "z", spmd.sharding = #spmd.sharding<@mesh, [{"b", "c"}]>})
    -> (tensor<16xf32>) {
  %y = tp.add %x, %z : tensor<16xf32>
  return %y : tensor<16xf32>
}
