// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// E4: in an element-wise op the more sharded factor wins.
//
// PROPAGATED: y [(b,a)?,?]

spmd.mesh @mesh <["a"=2, "b"=4]>

func.func @main(%x: tensor<16x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"a"}]>},
                %z: tensor<16x32xf32> {tp.name = "z", spmd.sharding = #spmd.sharding<@mesh, [{"b", "a"}, {}]>})
    -> (tensor<16x32xf32>) {
  %y = tp.add %x, %z : tensor<16x32xf32>
  return %y : tensor<16x32xf32>
}
