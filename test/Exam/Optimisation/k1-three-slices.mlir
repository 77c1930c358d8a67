// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K1: a sum whose three users keep the same slice is scattered once.
//
// EXPECT: RS{x} V=256

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<16x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %w: tensor<32x16xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}, tensor<16x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}, tensor<16x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %s = tp.einsum "ik,kj->ij" %x, %w : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  %a = tp.exp %s : tensor<16x16xf32>
  %b = tp.tanh %s : tensor<16x16xf32>
  %c = tp.abs %s : tensor<16x16xf32>
  return %a, %b, %c : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}
