// RUN: %python %S/evaluate.py %s

// Functions that are written for one device, as a partitioner leaves them: each
// device computes from its number, and the results are put together as the
// module says
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32, mhlo.spmd_output_sharding = "{{devices=[2,2]<=[4] last_tile_dim_replicate}, {devices=[2,2]<=[2,2]T(1,0)}, {replicated}}", mhlo.spmd_parameters_shardings = []} {
  sdy.mesh @mesh_2 = <["axis_0"=2, "axis_1"=2]>
  func.func @main() -> (tensor<1xui32>, tensor<1x1xui32>, tensor<2xui32>) {
    // EXPECT: [1, 5]
    // EXPECT: [0, 2, 1, 3]
    // EXPECT: [0 + 1 + 2 + 3] * 2
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.reshape %0 : (tensor<ui32>) -> tensor<1xui32>
    %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh_2, axes = [#stablehlo.axis_ref<name = "axis_1">]>, use_global_device_ids}> ({
    ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
      %s = stablehlo.add %a, %b : tensor<ui32>
      stablehlo.return %s : tensor<ui32>
    }) : (tensor<1xui32>) -> tensor<1xui32>
    %3 = mhlo.copy %1 : tensor<1xui32>
    %4 = stablehlo.reshape %3 : (tensor<1xui32>) -> tensor<1x1xui32>
    %5 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
      %s = stablehlo.add %a, %b : tensor<ui32>
      stablehlo.return %s : tensor<ui32>
    }) : (tensor<1xui32>) -> tensor<1xui32>
    %6 = stablehlo.concatenate %5, %5, dim = 0 : (tensor<1xui32>, tensor<1xui32>) -> tensor<2xui32>
    return %2, %4, %6 : tensor<1xui32>, tensor<1x1xui32>, tensor<2xui32>
  }
}

// -----

// Replicas in place of partitions, and both
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
  func.func @main() -> (tensor<1xui32> {mhlo.sharding = "{devices=[4]<=[4]}"}, tensor<1xui32> {mhlo.sharding = "{devices=[4]<=[4]}"}, tensor<1xui32> {mhlo.sharding = "{devices=[4]<=[4]}"}) {
    // EXPECT: [0, 0, 10, 10]
    // EXPECT: [0 + 10, 1 + 11] * 2
    // EXPECT: [0 + 1 + 10 + 11] * 4
    %ten = stablehlo.constant dense<10> : tensor<ui32>
    %0 = stablehlo.replica_id : tensor<ui32>
    %1 = stablehlo.multiply %0, %ten : tensor<ui32>
    %2 = stablehlo.reshape %1 : (tensor<ui32>) -> tensor<1xui32>
    %3 = stablehlo.partition_id : tensor<ui32>
    %4 = stablehlo.add %1, %3 : tensor<ui32>
    %5 = stablehlo.reshape %4 : (tensor<ui32>) -> tensor<1xui32>
    %6 = "stablehlo.all_reduce"(%5) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
      %s = stablehlo.add %a, %b : tensor<ui32>
      stablehlo.return %s : tensor<ui32>
    }) : (tensor<1xui32>) -> tensor<1xui32>
    %7 = "stablehlo.all_reduce"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
      %s = stablehlo.add %a, %b : tensor<ui32>
      stablehlo.return %s : tensor<ui32>
    }) : (tensor<1xui32>) -> tensor<1xui32>
    return %2, %6, %7 : tensor<1xui32>, tensor<1xui32>, tensor<1xui32>
  }
}

// -----

// Replicas of jax.pmap have one of the first dimension each, or the same
module @pmap_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main() -> (tensor<1x2xi32>, tensor<i32>) {
    // EXPECT: [0, 10, 1, 11, 2, 12, 3, 13]
    // EXPECT: 0 + 1 + 2 + 3
    %ten = stablehlo.constant dense<[0, 10]> : tensor<2xi32>
    %0 = stablehlo.replica_id : tensor<ui32>
    %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %3 = stablehlo.add %2, %ten : tensor<2xi32>
    %4 = stablehlo.reshape %3 : (tensor<2xi32>) -> tensor<1x2xi32>
    %5 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    return %4, %5 : tensor<1x2xi32>, tensor<i32>
  }
}
