// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// E3: equal sizes: the first operand wins, the other moves once.
//
// EXPECT: A2A{a} V=256
// PROPAGATED: y [a?,?]
// MESHES: a=3

spmd.mesh @mesh <["a"=4]>

func.func @main(%x: tensor<32x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a"}, {?}]>},
                %z: tensor<32x32xf32> {tp.name = "z", spmd.sharding = #spmd.sharding<@mesh, [{?}, {"a"}]>})
    -> (tensor<32x32xf32>) {
  %y = tp.add %x, %z : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
