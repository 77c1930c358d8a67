// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T13: a softmax over a cut dimension.
// Statistics, not tensors, cross devices.
//
// EXPECT: AR{t} V=16 x2

spmd.mesh @mesh <["t"=4]>

func.func @main(%x: tensor<16x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"t"}]>})
    -> (tensor<16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"t"}]>}) {
  %y = tp.softmax %x dim = 1 : tensor<16x64xf32>
  return %y : tensor<16x64xf32>
}
