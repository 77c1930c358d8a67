// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// L4: an accumulator may be a partial sum until the loop has ended.
//
// EXPECT: AR{d} V=4096
// MESHES: d=3

spmd.mesh @mesh <["d"=4]>

func.func @main(%x: tensor<4x32x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"d"}, {}]>},
                %dy: tensor<4x32x64xf32> {tp.name = "dy", spmd.sharding = #spmd.sharding<@mesh, [{}, {"d"}, {}]>})
    -> (tensor<64x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %none = tp.constant dense<0.0> : tensor<64x64xf32>
  %zero = tp.constant dense<0> : tensor<i32>
  %y = tp.for 4 (%none) {
  ^bb0(%i: tensor<i32>, %acc: tensor<64x64xf32>):
    %0 = tp.dynamic_slice %x [%i, %zero, %zero] : (tensor<4x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x64xf32>
    %1 = tp.dynamic_slice %dy [%i, %zero, %zero] : (tensor<4x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x64xf32>
    %2 = tp.einsum "bsi,bso->io" %0, %1 : (tensor<1x32x64xf32>, tensor<1x32x64xf32>) -> tensor<64x64xf32>
    %3 = tp.add %acc, %2 : tensor<64x64xf32>
    tp.yield %3 : tensor<64x64xf32>
  } : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
