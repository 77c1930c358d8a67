// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Written by make.py: what JAX hands to XLA.
module @jit__lambda attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x4xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = call @_roll_static(%arg0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
  func.func private @_roll_static(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = stablehlo.slice %arg0 [6:8, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.slice %arg0 [0:6, 0:4] : (tensor<8x4xf32>) -> tensor<6x4xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}
