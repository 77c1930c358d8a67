// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// E5: two uses want a value otherwise: it is resharded once, not for each use.
//
// EXPECT: A2A{a} V=256
// PROPAGATED: p [?,a?]; q [?,a?]; s [a?,?]
// MESHES: a=3

spmd.mesh @mesh <["a"=4]>

func.func @main(%x: tensor<32x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a"}, {}]>},
                %u: tensor<32x32xf32> {tp.name = "u"},
                %v: tensor<32x32xf32> {tp.name = "v"})
    -> (tensor<32x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"a"}]>}, tensor<32x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"a"}]>}) {
  %s = tp.exp %x : tensor<32x32xf32>
  %p = tp.add %s, %u : tensor<32x32xf32>
  %q = tp.add %s, %v : tensor<32x32xf32>
  %y = tp.exp %p : tensor<32x32xf32>
  %z = tp.exp %q : tensor<32x32xf32>
  return %y, %z : tensor<32x32xf32>, tensor<32x32xf32>
}
