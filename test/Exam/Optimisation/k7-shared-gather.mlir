// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K7: three products read the same gathered value.
//
// EXPECT: AG{x} V=512

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<16x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %wa: tensor<32x64xf32> {tp.name = "wa", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %wb: tensor<32x64xf32> {tp.name = "wb", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %wc: tensor<32x64xf32> {tp.name = "wc", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}, tensor<16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}, tensor<16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) {
  %a = tp.einsum "ik,kj->ij" %x, %wa : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %b = tp.einsum "ik,kj->ij" %x, %wb : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %c = tp.einsum "ik,kj->ij" %x, %wc : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  return %a, %b, %c : tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x64xf32>
}
