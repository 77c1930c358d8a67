// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Written by make.py: what XLA's partitioner makes of it.
module @jit__lambda attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.spmd_output_sharding = "{devices=[4,1]<=[4]}", mhlo.spmd_parameters_shardings = ["{devices=[4,1]<=[4]}"], mhlo.use_auto_spmd_partitioning = false} {
  sdy.mesh @mesh = <["axis_0"=4, "axis_1"=1]>
  func.func @main(%arg0: tensor<2x8xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}) -> tensor<2x8xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[8,2]{0,1}"} : (tensor<2x8xf32>) -> tensor<8x2xf32>
    %1 = stablehlo.reshape %0 : (tensor<8x2xf32>) -> tensor<4x2x2xf32>
    %2 = "stablehlo.all_to_all"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, concat_dimension = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "axis_0">]>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<4x2x2xf32>) -> tensor<4x2x2xf32>
    %3 = stablehlo.transpose %2, dims = [1, 0, 2] {result_layout = dense<[2, 0, 1]> : tensor<3xindex>, xla_shape = "f32[2,4,2]{2,0,1}"} : (tensor<4x2x2xf32>) -> tensor<2x4x2xf32>
    %4 = stablehlo.reshape %3 : (tensor<2x4x2xf32>) -> tensor<2x8xf32>
    %cst = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %6 = stablehlo.multiply %4, %5 {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[2,8]{0,1}"} : tensor<2x8xf32>
    return %6 : tensor<2x8xf32>
  }
}

