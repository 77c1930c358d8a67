// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Written by make.py: what XLA's partitioner makes of it.
module @jit__lambda attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.spmd_output_sharding = "{devices=[2,2]<=[4]}", mhlo.spmd_parameters_shardings = ["{devices=[2,2]<=[4]}"], mhlo.use_auto_spmd_partitioning = false} {
  sdy.mesh @mesh_1 = <["axis_0"=2, "axis_1"=1, "axis_2"=2]>
  sdy.mesh @mesh = <["axis_0"=2, "axis_1"=2, "axis_2"=1]>
  func.func private @region_0.0(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<i1> {
    %0 = stablehlo.compare NE, %arg0, %arg0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.compare EQ, %arg0, %cst_0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.select %1, %cst_0, %arg0 : tensor<i1>, tensor<f32>
    %3 = stablehlo.select %0, %cst, %2 : tensor<i1>, tensor<f32>
    %4 = stablehlo.compare NE, %arg1, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.compare EQ, %arg1, %cst_0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.select %5, %cst_0, %arg1 : tensor<i1>, tensor<f32>
    %7 = stablehlo.select %4, %cst, %6 : tensor<i1>, tensor<f32>
    %8 = stablehlo.compare LT, %3, %7, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %8 : tensor<i1>
  }
  func.func @main(%arg0: tensor<4x4xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"}) -> tensor<4x4xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x4x4xf32>) -> tensor<1x2x2x4xf32>
    %2 = "stablehlo.all_to_all"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, concat_dimension = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "axis_1">]>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
    %3 = stablehlo.transpose %2, dims = [0, 2, 1, 3] {result_layout = dense<[3, 1, 2, 0]> : tensor<4xindex>, xla_shape = "f32[1,2,2,4]{3,1,2,0}"} : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
    %4 = stablehlo.reshape %3 : (tensor<1x2x2x4xf32>) -> tensor<1x2x8xf32>
    %5 = stablehlo.reshape %4 : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %6 = "stablehlo.sort"(%5) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %13 = stablehlo.compare NE, %arg1, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %14 = stablehlo.compare EQ, %arg1, %cst_0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %15 = stablehlo.select %14, %cst_0, %arg1 : tensor<i1>, tensor<f32>
      %16 = stablehlo.select %13, %cst, %15 : tensor<i1>, tensor<f32>
      %17 = stablehlo.compare NE, %arg2, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %18 = stablehlo.compare EQ, %arg2, %cst_0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %19 = stablehlo.select %18, %cst_0, %arg2 : tensor<i1>, tensor<f32>
      %20 = stablehlo.select %17, %cst, %19 : tensor<i1>, tensor<f32>
      %21 = stablehlo.compare LT, %16, %20, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %21 : tensor<i1>
    }) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %7 = stablehlo.reshape %6 : (tensor<2x8xf32>) -> tensor<1x2x8xf32>
    %8 = stablehlo.reshape %7 : (tensor<1x2x8xf32>) -> tensor<1x2x2x4xf32>
    %9 = "stablehlo.all_to_all"(%8) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, concat_dimension = 2 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh_1, axes = [#stablehlo.axis_ref<name = "axis_2">]>, split_count = 2 : i64, split_dimension = 2 : i64}> : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
    %10 = stablehlo.transpose %9, dims = [0, 2, 1, 3] {result_layout = dense<[3, 1, 2, 0]> : tensor<4xindex>, xla_shape = "f32[1,2,2,4]{3,1,2,0}"} : (tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
    %11 = stablehlo.reshape %10 : (tensor<1x2x2x4xf32>) -> tensor<1x4x4xf32>
    %12 = stablehlo.reshape %11 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
    return %12 : tensor<4x4xf32>
  }
}

