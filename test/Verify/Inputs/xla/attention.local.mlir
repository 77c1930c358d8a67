// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Written by make.py: what XLA's partitioner makes of it.
module @jit_attention attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.spmd_output_sharding = "{devices=[2,1,1,2]<=[4] last_tile_dim_replicate}", mhlo.spmd_parameters_shardings = ["{devices=[2,1,1,2]<=[4] last_tile_dim_replicate}", "{devices=[1,2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}", "{devices=[1,2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}", "{devices=[1,2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}", "{devices=[2,1,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"], mhlo.use_auto_spmd_partitioning = false} {
  func.func private @region_0.1(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.maximum %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @region_1.2(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @add.clone(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @main(%arg0: tensor<1x4x8xf32> {mhlo.sharding = "{devices=[2,1,1,2]<=[4] last_tile_dim_replicate}"}, %arg1: tensor<8x2x2xf32> {mhlo.sharding = "{devices=[1,2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"}, %arg2: tensor<8x2x2xf32> {mhlo.sharding = "{devices=[1,2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"}, %arg3: tensor<8x2x2xf32> {mhlo.sharding = "{devices=[1,2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"}, %arg4: tensor<2x2x8xf32> {mhlo.sharding = "{devices=[2,1,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"}) -> tensor<1x4x8xf32> {
    %0 = stablehlo.dot_general %arg0, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x4x8xf32>, tensor<8x2x2xf32>) -> tensor<1x4x2x2xf32>
    %1 = stablehlo.iota dim = 0 : tensor<4xi32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xi32>) -> tensor<4x4xi32>
    %3 = stablehlo.iota dim = 0 : tensor<4xi32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<4xi32>) -> tensor<4x4xi32>
    %5 = stablehlo.compare GE, %2, %4 : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<4x4xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<4x4xi1>
    %8 = stablehlo.select %5, %6, %7 : tensor<4x4xi1>, tensor<4x4xi1>
    %9 = stablehlo.broadcast_in_dim %8, dims = [2, 3] : (tensor<4x4xi1>) -> tensor<1x2x4x4xi1>
    %10 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x4x8xf32>, tensor<8x2x2xf32>) -> tensor<1x4x2x2xf32>
    %11 = stablehlo.dot_general %arg0, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1x4x8xf32>, tensor<8x2x2xf32>) -> tensor<1x4x2x2xf32>
    %12 = stablehlo.dot_general %10, %11, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) -> tensor<1x2x4x4xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x2x4x4xf32>
    %14 = stablehlo.divide %12, %13 : tensor<1x2x4x4xf32>
    %cst_1 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x2x4x4xf32>
    %16 = stablehlo.select %9, %14, %15 : tensor<1x2x4x4xi1>, tensor<1x2x4x4xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %17 = stablehlo.reduce(%16 init: %cst_2) applies stablehlo.maximum across dimensions = [3] : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
    %18 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x2x4xf32>
    %19 = stablehlo.maximum %17, %18 : tensor<1x2x4xf32>
    %20 = stablehlo.reshape %19 : (tensor<1x2x4xf32>) -> tensor<1x2x4x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3] : (tensor<1x2x4x1xf32>) -> tensor<1x2x4x1xf32>
    %22 = stablehlo.reshape %21 : (tensor<1x2x4x1xf32>) -> tensor<1x2x4xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<1x2x4xf32>) -> tensor<1x2x4x4xf32>
    %24 = stablehlo.subtract %16, %23 : tensor<1x2x4x4xf32>
    %25 = stablehlo.exponential %24 : tensor<1x2x4x4xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %26 = stablehlo.reduce(%25 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
    %27 = stablehlo.reshape %26 : (tensor<1x2x4xf32>) -> tensor<1x2x4x1xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2, 3] : (tensor<1x2x4x1xf32>) -> tensor<1x2x4x1xf32>
    %29 = stablehlo.reshape %28 : (tensor<1x2x4x1xf32>) -> tensor<1x2x4xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2] : (tensor<1x2x4xf32>) -> tensor<1x2x4x4xf32>
    %31 = stablehlo.divide %25, %30 : tensor<1x2x4x4xf32>
    %32 = stablehlo.dot_general %0, %31, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x4x2x2xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x2x4xf32>
    %33 = stablehlo.dot_general %32, %arg4, contracting_dims = [2, 1] x [1, 0], precision = [DEFAULT, DEFAULT] : (tensor<1x2x2x4xf32>, tensor<2x2x8xf32>) -> tensor<1x4x8xf32>
    %34 = "stablehlo.all_reduce"(%33) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %35 = stablehlo.add %arg5, %arg6 : tensor<f32>
      stablehlo.return %35 : tensor<f32>
    }) : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
    return %34 : tensor<1x4x8xf32>
  }
}

