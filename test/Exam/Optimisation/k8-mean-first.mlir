// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// K8: the mean of a partial sum.
// A linear reduction may run before the sum over devices.
//
// EXPECT: AR{tp} V=32

spmd.mesh @mesh <["tp"=8]>

func.func @main(%a: tensor<32x512xf32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{}, {"tp"}]>},
                %b: tensor<512x64xf32> {tp.name = "b", spmd.sharding = #spmd.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>}) {
  %0 = tp.einsum "ik,kj->ij" %a, %b : (tensor<32x512xf32>, tensor<512x64xf32>) -> tensor<32x64xf32>
  %1 = tp.reduce sum %0 dims = [1] : tensor<32x64xf32> -> tensor<32xf32>
  %c = tp.constant dense<0.015625> : tensor<32xf32>
  %2 = tp.mul %1, %c : tensor<32xf32>
  return %2 : tensor<32xf32>
}
