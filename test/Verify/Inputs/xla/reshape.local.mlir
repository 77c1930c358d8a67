// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Written by make.py: what XLA's partitioner makes of it.
module @jit__lambda attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.spmd_output_sharding = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}", mhlo.spmd_parameters_shardings = ["{devices=[4,1]<=[4]}"], mhlo.use_auto_spmd_partitioning = false} {
  sdy.mesh @mesh_1 = <["axis_0"=2, "axis_1"=2]>
  sdy.mesh @mesh = <["axis_0"=2, "axis_1"=1, "axis_2"=2]>
  func.func @main(%arg0: tensor<2x6xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}) -> tensor<12x2xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<2x6xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<3x4xf32>) -> tensor<1x3x4xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x3x4xf32>) -> tensor<1x3x2x2xf32>
    %3 = "stablehlo.all_to_all"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, concat_dimension = 2 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "axis_2">]>, split_count = 2 : i64, split_dimension = 2 : i64}> : (tensor<1x3x2x2xf32>) -> tensor<1x3x2x2xf32>
    %4 = stablehlo.transpose %3, dims = [0, 2, 1, 3] {result_layout = dense<[3, 1, 2, 0]> : tensor<4xindex>, xla_shape = "f32[1,2,3,2]{3,1,2,0}"} : (tensor<1x3x2x2xf32>) -> tensor<1x2x3x2xf32>
    %5 = stablehlo.reshape %4 : (tensor<1x2x3x2xf32>) -> tensor<1x6x2xf32>
    %6 = stablehlo.reshape %5 : (tensor<1x6x2xf32>) -> tensor<6x2xf32>
    %7 = "stablehlo.all_gather"(%6) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh_1, axes = [#stablehlo.axis_ref<name = "axis_0">]>, use_global_device_ids}> : (tensor<6x2xf32>) -> tensor<12x2xf32>
    return %7 : tensor<12x2xf32>
  }
}

