// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Written by make.py: what XLA's partitioner makes of it.
module @jit_layers attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.spmd_output_sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}", mhlo.spmd_parameters_shardings = ["{devices=[2,1,2]<=[4] last_tile_dim_replicate}", "{devices=[1,2,2]<=[2,2]T(1,0)}"], mhlo.use_auto_spmd_partitioning = false} {
  sdy.mesh @mesh = <["axis_0"=2, "axis_1"=2]>
  func.func private @add.clone(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @region_0.1_spmd(%arg0: tensor<i32>, %arg1: tensor<4x2xf32>, %arg2: tensor<3x2x2xf32>) -> (tensor<i32>, tensor<4x2xf32>, tensor<3x2x2xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg0, %c : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_slice %arg2, %arg0, %c_0, %c_0, sizes = [1, 2, 2] : (tensor<3x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x2xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
    %3 = "stablehlo.all_gather"(%2) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
    %4 = stablehlo.dot %arg1, %3, precision = [DEFAULT, DEFAULT] : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %5 = "stablehlo.all_reduce"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %13 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %13 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %c_1 = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
    %c_2 = stablehlo.constant dense<[0, 1, 0, 1]> : tensor<4xui32>
    %6 = stablehlo.partition_id : tensor<ui32>
    %7 = stablehlo.dynamic_slice %c_2, %6, sizes = [1] : (tensor<4xui32>, tensor<ui32>) -> tensor<1xui32>
    %8 = stablehlo.reshape %7 : (tensor<1xui32>) -> tensor<ui32>
    %9 = stablehlo.dynamic_slice %c_1, %8, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
    %10 = stablehlo.reshape %9 : (tensor<1xi32>) -> tensor<i32>
    %11 = stablehlo.dynamic_slice %5, %c_0, %10, sizes = [4, 2] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>
    %12 = stablehlo.tanh %11 : tensor<4x2xf32>
    return %0, %12, %arg2 : tensor<i32>, tensor<4x2xf32>, tensor<3x2x2xf32>
  }
  func.func private @region_1.2_spmd(%arg0: tensor<i32>, %arg1: tensor<4x2xf32>, %arg2: tensor<3x2x2xf32>) -> tensor<i1> {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %0 = stablehlo.compare LT, %arg0, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    return %0 : tensor<i1>
  }
  func.func @main(%arg0: tensor<4x4xf32> {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"}, %arg1: tensor<3x2x2xf32> {mhlo.sharding = "{devices=[1,2,2]<=[2,2]T(1,0)}"}) -> tensor<4x4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<[0, 0, 4, 4]> : tensor<4xi32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.dynamic_slice %c_0, %0, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
    %3 = stablehlo.subtract %2, %2 : tensor<i32>
    %c_1 = stablehlo.constant dense<[0, 2, 0, 2]> : tensor<4xi32>
    %4 = stablehlo.dynamic_slice %c_1, %0, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
    %5 = stablehlo.reshape %4 : (tensor<1xi32>) -> tensor<i32>
    %6 = stablehlo.subtract %5, %c : tensor<i32>
    %7 = stablehlo.dynamic_slice %arg0, %3, %6, sizes = [4, 2] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>
    %8 = mhlo.copy %arg1 : tensor<3x2x2xf32>
    %9:3 = stablehlo.while(%iterArg = %c, %iterArg_2 = %7, %iterArg_3 = %8) : tensor<i32>, tensor<4x2xf32>, tensor<3x2x2xf32>
    cond {
      %c_4 = stablehlo.constant dense<3> : tensor<i32>
      %11 = stablehlo.compare LT, %iterArg, %c_4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    } do {
      %c_4 = stablehlo.constant dense<1> : tensor<i32>
      %11 = stablehlo.add %iterArg, %c_4 : tensor<i32>
      %c_5 = stablehlo.constant dense<0> : tensor<i32>
      %12 = stablehlo.dynamic_slice %iterArg_3, %iterArg, %c_5, %c_5, sizes = [1, 2, 2] : (tensor<3x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x2xf32>
      %13 = stablehlo.reshape %12 : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
      %14 = "stablehlo.all_gather"(%13) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2x2xf32>) -> tensor<2x4xf32>
      %15 = stablehlo.dot %iterArg_2, %14, precision = [DEFAULT, DEFAULT] : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
      %16 = "stablehlo.all_reduce"(%15) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
        %24 = stablehlo.add %arg2, %arg3 : tensor<f32>
        stablehlo.return %24 : tensor<f32>
      }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      %c_6 = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
      %c_7 = stablehlo.constant dense<[0, 1, 0, 1]> : tensor<4xui32>
      %17 = stablehlo.partition_id : tensor<ui32>
      %18 = stablehlo.dynamic_slice %c_7, %17, sizes = [1] : (tensor<4xui32>, tensor<ui32>) -> tensor<1xui32>
      %19 = stablehlo.reshape %18 : (tensor<1xui32>) -> tensor<ui32>
      %20 = stablehlo.dynamic_slice %c_6, %19, sizes = [1] : (tensor<2xi32>, tensor<ui32>) -> tensor<1xi32>
      %21 = stablehlo.reshape %20 : (tensor<1xi32>) -> tensor<i32>
      %22 = stablehlo.dynamic_slice %16, %c_5, %21, sizes = [4, 2] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>
      %23 = stablehlo.tanh %22 : tensor<4x2xf32>
      stablehlo.return %11, %23, %iterArg_3 : tensor<i32>, tensor<4x2xf32>, tensor<3x2x2xf32>
    }
    %10 = "stablehlo.all_gather"(%9#1) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 3, type = 0>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "axis_1">]>, use_global_device_ids}> : (tensor<4x2xf32>) -> tensor<4x4xf32>
    return %10 : tensor<4x4xf32>
  }
}

