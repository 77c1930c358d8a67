// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// T17: a cache cut along its length: softmax is a pair of reductions.
// The cache is never gathered.
//
// EXPECT: AR{s} V=16 x2, AR{s} V=512

spmd.mesh @mesh <["s"=8]>

func.func @main(%q: tensor<2x1x8x1x32xf32> {tp.name = "q", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}, {}, {}]>},
                %keys: tensor<2x512x8x32xf32> {tp.name = "keys", spmd.sharding = #spmd.sharding<@mesh, [{}, {"s"}, {}, {}]>},
                %values: tensor<2x512x8x32xf32> {tp.name = "values", spmd.sharding = #spmd.sharding<@mesh, [{}, {"s"}, {}, {}]>})
    -> (tensor<2x1x8x1x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}, {}, {}]>}) {
  %y = tp.attention %q, %keys, %values {scale = 0.125 : f64} : (tensor<2x1x8x1x32xf32>, tensor<2x512x8x32xf32>, tensor<2x512x8x32xf32>) -> tensor<2x1x8x1x32xf32>
  return %y : tensor<2x1x8x1x32xf32>
}
