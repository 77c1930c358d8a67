// RUN: %python %S/evaluate.py %s

// Exchanges in regions for one device: sums over groups that are one axis, the
// place of a device, parts gathered and scattered, exchanged and passed on
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main() -> (tensor<4xi32>, tensor<4xi32>, tensor<16xi32>, tensor<4xi32>, tensor<8xi32>, tensor<4xi32>, tensor<4xi32>) {
  // EXPECT: [1 + 2, 1 + 2, 3 + 4, 3 + 4]
  // EXPECT: [0, 1, 2, 3]
  // EXPECT: [1, 2, 3, 4] * 4
  // EXPECT: [10 + 30, 20 + 40, 50 + 70, 60 + 80]
  // EXPECT: [10, 30, 20, 40, 50, 70, 60, 80]
  // EXPECT: [3, 4, 1, 2]
  // EXPECT: [0, 3, 1, 0]
  %v = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %w = stablehlo.constant dense<[10, 20, 30, 40, 50, 60, 70, 80]> : tensor<8xi32>
  %0:7 = sdy.manual_computation(%v, %w) in_shardings=[<@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%a: tensor<1xi32>, %b: tensor<2xi32>) {
    %1 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%c: tensor<i32>, %d: tensor<i32>):
      %s = stablehlo.add %c, %d : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<1xi32>) -> tensor<1xi32>
    %2 = stablehlo.partition_id : tensor<ui32>
    %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i32>
    %4 = stablehlo.reshape %3 : (tensor<i32>) -> tensor<1xi32>
    %5 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<1xi32>) -> tensor<4xi32>
    %6 = "stablehlo.reduce_scatter"(%b) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%c: tensor<i32>, %d: tensor<i32>):
      %s = stablehlo.add %c, %d : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<1xi32>
    %7 = "stablehlo.all_to_all"(%b) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
    %8 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}> : (tensor<1xi32>) -> tensor<1xi32>
    // No shift along an axis; who gets nothing has zeros.
    %9 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 2], [2, 1]]> : tensor<2x2xi64>}> : (tensor<1xi32>) -> tensor<1xi32>
    sdy.return %1, %4, %5, %6, %7, %8, %9 : tensor<1xi32>, tensor<1xi32>, tensor<4xi32>, tensor<1xi32>, tensor<2xi32>, tensor<1xi32>, tensor<1xi32>
  } : (tensor<4xi32>, tensor<8xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<16xi32>, tensor<4xi32>, tensor<8xi32>, tensor<4xi32>, tensor<4xi32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6 : tensor<4xi32>, tensor<4xi32>, tensor<16xi32>, tensor<4xi32>, tensor<8xi32>, tensor<4xi32>, tensor<4xi32>
}

// -----

// A mesh with its devices in another order: numbers, groups and pairs name devices
sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[3, 1, 2, 0]>
func.func @main() -> (tensor<4xi32>, tensor<4xi32>, tensor<16xi32>, tensor<4xi32>) {
  // EXPECT: [3, 1, 2, 0]
  // EXPECT: [1 + 3, 2 + 4, 1 + 3, 2 + 4]
  // EXPECT: [1, 2, 3, 4] * 4
  // EXPECT: [0, 1, 0, 3]
  %v = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %0:4 = sdy.manual_computation(%v) in_shardings=[<@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%a: tensor<1xi32>) {
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
    %3 = stablehlo.reshape %2 : (tensor<i32>) -> tensor<1xi32>
    %4 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%c: tensor<i32>, %d: tensor<i32>):
      %s = stablehlo.add %c, %d : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<1xi32>) -> tensor<1xi32>
    %5 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[3, 1, 2, 0]]> : tensor<1x4xi64>}> : (tensor<1xi32>) -> tensor<4xi32>
    %6 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[3, 1], [2, 0]]> : tensor<2x2xi64>}> : (tensor<1xi32>) -> tensor<1xi32>
    sdy.return %3, %4, %5, %6 : tensor<1xi32>, tensor<1xi32>, tensor<4xi32>, tensor<1xi32>
  } : (tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<16xi32>, tensor<4xi32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<4xi32>, tensor<4xi32>, tensor<16xi32>, tensor<4xi32>
}

// -----

// The calls of GSPMD around what is written for one device: two tensors that are
// cut in their own ways, a constant from outside, and the body as it stands
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main() -> (tensor<4xi32>) {
    // EXPECT: [(1 + 2 + 3 + 4) * 10 + 100 * n for n in (1, 2, 3, 4)]
    %v = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %t = stablehlo.constant dense<10> : tensor<1xi32>
    %h = stablehlo.constant dense<100> : tensor<1xi32>
    %0 = stablehlo.custom_call @Sharding(%v) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<4xi32>) -> tensor<4xi32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<4xi32>) -> tensor<1xi32>
    %2 = stablehlo.custom_call @Sharding(%t) {mhlo.sharding = "{replicated}"} : (tensor<1xi32>) -> tensor<1xi32>
    %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {mhlo.sharding = "{manual}"} : (tensor<1xi32>) -> tensor<1xi32>
    %4 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
    ^bb0(%c: tensor<i32>, %d: tensor<i32>):
      %s = stablehlo.add %c, %d : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<1xi32>) -> tensor<1xi32>
    %5 = stablehlo.multiply %4, %3 : tensor<1xi32>
    %6 = stablehlo.multiply %1, %h : tensor<1xi32>
    %7 = stablehlo.add %5, %6 : tensor<1xi32>
    %8 = stablehlo.custom_call @Sharding(%7) {mhlo.sharding = "{manual}"} : (tensor<1xi32>) -> tensor<1xi32>
    %9 = stablehlo.custom_call @SPMDShardToFullShape(%8) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<1xi32>) -> tensor<4xi32>
    return %9 : tensor<4xi32>
  }
}

// -----

// Bodies are functions, as JAX writes them
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main() -> (tensor<4xi32>) {
    // EXPECT: [1, 2 + 10, 3 + 20, 4 + 30]
    %v = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %0 = stablehlo.custom_call @Sharding(%v) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<4xi32>) -> tensor<4xi32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<4xi32>) -> tensor<1xi32>
    %2 = call @body(%1) : (tensor<1xi32>) -> tensor<1xi32>
    %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<1xi32>) -> tensor<1xi32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<1xi32>) -> tensor<4xi32>
    return %4 : tensor<4xi32>
  }
  func.func private @body(%a: tensor<1xi32>) -> tensor<1xi32> {
    %ten = stablehlo.constant dense<10> : tensor<1xi32>
    %0 = call @place() : () -> tensor<i32>
    %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.multiply %1, %ten : tensor<1xi32>
    %3 = stablehlo.add %a, %2 : tensor<1xi32>
    return %3 : tensor<1xi32>
  }
  func.func private @place() -> tensor<i32> {
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<i32>
    return %1 : tensor<i32>
  }
}

// -----

// What a gradient keeps from a region over some axes is cut along all of them in
// JAX 0.4, and the parts along the others are copies, here behind and before the
// manual axis
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main() -> (tensor<4xi32>, tensor<2xi32>, tensor<4xi32>, tensor<2xi32>) {
    // EXPECT: [-1, -1, -2, -2]
    // EXPECT: [1, 2]
    // EXPECT: [-1, -2, -1, -2]
    // EXPECT: [1, 2]
    %v = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %0 = stablehlo.custom_call @Sharding(%v) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<2xi32>) -> tensor<2xi32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<2xi32>) -> tensor<1xi32>
    %2 = stablehlo.negate %1 : tensor<1xi32>
    %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<1xi32>) -> tensor<1xi32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<1xi32>) -> tensor<4xi32>
    %5 = stablehlo.custom_call @Sharding(%4) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<4xi32>) -> tensor<4xi32>
    %6 = stablehlo.custom_call @SPMDFullToShardShape(%5) {mhlo.sharding = "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<4xi32>) -> tensor<1xi32>
    %7 = stablehlo.negate %6 : tensor<1xi32>
    %8 = stablehlo.custom_call @Sharding(%7) {mhlo.sharding = "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<1xi32>) -> tensor<1xi32>
    %9 = stablehlo.custom_call @SPMDShardToFullShape(%8) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<1xi32>) -> tensor<2xi32>
    %10 = stablehlo.custom_call @Sharding(%v) {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<2xi32>) -> tensor<2xi32>
    %11 = stablehlo.custom_call @SPMDFullToShardShape(%10) {mhlo.sharding = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}"} : (tensor<2xi32>) -> tensor<1xi32>
    %12 = stablehlo.negate %11 : tensor<1xi32>
    %13 = stablehlo.custom_call @Sharding(%12) {mhlo.sharding = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}"} : (tensor<1xi32>) -> tensor<1xi32>
    %14 = stablehlo.custom_call @SPMDShardToFullShape(%13) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<1xi32>) -> tensor<4xi32>
    %15 = stablehlo.custom_call @Sharding(%14) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<4xi32>) -> tensor<4xi32>
    %16 = stablehlo.custom_call @SPMDFullToShardShape(%15) {mhlo.sharding = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}"} : (tensor<4xi32>) -> tensor<1xi32>
    %17 = stablehlo.negate %16 : tensor<1xi32>
    %18 = stablehlo.custom_call @Sharding(%17) {mhlo.sharding = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}"} : (tensor<1xi32>) -> tensor<1xi32>
    %19 = stablehlo.custom_call @SPMDShardToFullShape(%18) {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<1xi32>) -> tensor<2xi32>
    return %4, %9, %14, %19 : tensor<4xi32>, tensor<2xi32>, tensor<4xi32>, tensor<2xi32>
  }
}

// -----

// The place along an axis as JAX had it up to 0.4: a part of an iota
module attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main() -> (tensor<4xi32>) {
    // EXPECT: [1 + 0 * 1000 + 0, 2 + 1 * 1000 + 2, 3 + 2 * 1000 + 1, 4 + 3 * 1000 + 3]
    %v = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %0 = stablehlo.custom_call @Sharding(%v) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[4,2]<=[2,2,2]T(0,2,1) last_tile_dim_replicate}"} : (tensor<4xi32>) -> tensor<4xi32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[1,4,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}"} : (tensor<4xi32>) -> tensor<1xi32>
    %2 = call @body(%1) : (tensor<1xi32>) -> tensor<1xi32>
    %3 = stablehlo.custom_call @Sharding(%2) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[1,4,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}"} : (tensor<1xi32>) -> tensor<1xi32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[4,2]<=[2,2,2]T(0,2,1) last_tile_dim_replicate}"} : (tensor<1xi32>) -> tensor<4xi32>
    return %4 : tensor<4xi32>
  }
  func.func private @body(%a: tensor<1xi32>) -> tensor<1xi32> {
    %thousand = stablehlo.constant dense<1000> : tensor<1xi32>
    %0 = stablehlo.iota dim = 0 : tensor<4xi32>
    %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "", mhlo.sharding = "{devices=[4,2]<=[2,2,2]T(0,2,1) last_tile_dim_replicate}"} : (tensor<4xi32>) -> tensor<4xi32>
    %2 = stablehlo.custom_call @SPMDFullToShardShape(%1) {backend_config = "", mhlo.sharding = "{devices=[1,4,2]<=[2,2,2]T(0,2,1) last_tile_dims={manual, replicated}}"} : (tensor<4xi32>) -> tensor<1xi32>
    %3 = stablehlo.iota dim = 0 : tensor<4xi32>
    %4 = stablehlo.custom_call @Sharding(%3) {backend_config = "", mhlo.sharding = "{devices=[4,2]<=[2,2,2]T(2,0,1) last_tile_dim_replicate}"} : (tensor<4xi32>) -> tensor<4xi32>
    %5 = stablehlo.custom_call @SPMDFullToShardShape(%4) {backend_config = "", mhlo.sharding = "{devices=[1,4,2]<=[2,2,2]T(2,0,1) last_tile_dims={manual, replicated}}"} : (tensor<4xi32>) -> tensor<1xi32>
    %6 = stablehlo.multiply %2, %thousand : tensor<1xi32>
    %7 = stablehlo.add %6, %5 : tensor<1xi32>
    %8 = stablehlo.add %a, %7 : tensor<1xi32>
    return %8 : tensor<1xi32>
  }
}

// -----

// One of two axes is manual; the place along it is asked for where the other is,
// too. Constraints are about what is left, and may ask nothing
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main() -> (tensor<4x2xi32>) {
    // EXPECT: [[8, 10], [12, 14], [8 + 2, 10 + 2], [12 + 2, 14 + 2]]
    %v = stablehlo.constant dense<[[1, 2], [3, 4], [7, 8], [9, 10]]> : tensor<4x2xi32>
    %0 = stablehlo.custom_call @Sharding(%v) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<4x2xi32>) -> tensor<4x2xi32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[1,1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}"} : (tensor<4x2xi32>) -> tensor<2x2xi32>
    %2 = call @body(%1) : (tensor<2x2xi32>) -> tensor<2x2xi32>
    %3 = stablehlo.custom_call @Sharding(%2) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[1,1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}"} : (tensor<2x2xi32>) -> tensor<2x2xi32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<2x2xi32>) -> tensor<4x2xi32>
    return %4 : tensor<4x2xi32>
  }
  func.func private @body(%a: tensor<2x2xi32>) -> tensor<2x2xi32> {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %0 = call @place() : () -> tensor<i32>
    %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "", mhlo.sharding = "{manual}"} : (tensor<i32>) -> tensor<i32>
    %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) {backend_config = "", mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}"} : (tensor<i32>) -> tensor<i32>
    %3 = stablehlo.multiply %2, %two : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i32>) -> tensor<2x2xi32>
    %5 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[1,2,2]<=[2,2] last_tile_dims={manual}}"} : (tensor<2x2xi32>) -> tensor<2x2xi32>
    %6 = "stablehlo.all_reduce"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%c: tensor<i32>, %d: tensor<i32>):
      %s = stablehlo.add %c, %d : tensor<i32>
      %t = stablehlo.custom_call @Sharding(%s) {backend_config = "", mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}"} : (tensor<i32>) -> tensor<i32>
      stablehlo.return %t : tensor<i32>
    }) : (tensor<2x2xi32>) -> tensor<2x2xi32>
    %7 = stablehlo.add %6, %4 : tensor<2x2xi32>
    return %7 : tensor<2x2xi32>
  }
  func.func private @place() -> tensor<i32> {
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.remainder %0, %two : tensor<ui32>
    %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
    return %2 : tensor<i32>
  }
}

// -----

// Along an axis of one device JAX writes no region, but what is exchanged there
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main() -> (tensor<4xi32>) {
    // EXPECT: [1, 2, 3, 4]
    %v = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %0 = "stablehlo.collective_permute"(%v) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> : (tensor<4xi32>) -> tensor<4xi32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, use_global_device_ids}> ({
    ^bb0(%c: tensor<i32>, %d: tensor<i32>):
      %s = stablehlo.add %c, %d : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<4xi32>) -> tensor<4xi32>
    return %1 : tensor<4xi32>
  }
}

// -----

// The mesh has more devices than are named: those to whom nobody sends have zeros
sdy.mesh @mesh = <["x"=4]>
func.func @main() -> (tensor<4xi32>) {
  // EXPECT: [1, 0, 0, 0]
  %v = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %0 = sdy.manual_computation(%v) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<1xi32>) {
    %1 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<1xi32>) -> tensor<1xi32>
    sdy.return %1 : tensor<1xi32>
  } : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

// The calls of Shardy in strings
module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22a\22=2, \22b\22=2]>}"}} {
  func.func @main() -> (tensor<4xi32>) {
    // EXPECT: [-1, -2, -3, -4]
    %v = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %0 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%v) {mhlo.frontend_attributes = {xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22a\22}]>]>", xla.sdy.manual_axes = "#sdy<manual_axes{\22a\22}>"}} : (tensor<4xi32>) -> tensor<2xi32>
    %1 = func.call @xla.sdy.manual_computation_body(%0) : (tensor<2xi32>) -> tensor<2xi32>
    %2 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%1) {mhlo.frontend_attributes = {xla.sdy.manual_axes = "#sdy<manual_axes{\22a\22}>", xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22a\22}]>]>"}} : (tensor<2xi32>) -> tensor<4xi32>
    return %2 : tensor<4xi32>
  }
  func.func private @xla.sdy.manual_computation_body(%a: tensor<2xi32>) -> tensor<2xi32> {
    %0 = stablehlo.negate %a : tensor<2xi32>
    return %0 : tensor<2xi32>
  }
}

// -----

// The same of JAX before 0.6: the call of the body says what belongs to it, and the
// body, which exchanges something, is not private
module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\\\22a\\\22=2, \\\22b\\\22=2]>}"}} {
  func.func @main() -> (tensor<2xi32>) {
    // EXPECT: [1 + 3, 2 + 4]
    %v = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %0 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%v) : (tensor<4xi32>) -> tensor<2xi32>
    %1 = call @xla.sdy.manual_computation_body(%0) {mhlo.frontend_attributes = {xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\\\22a\\\22, ?}]>]>", xla.sdy.manual_axes = "#sdy<manual_axes{\\\22a\\\22}>", xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{?}]>]>"}} : (tensor<2xi32>) -> tensor<2xi32>
    %2 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%1) : (tensor<2xi32>) -> tensor<2xi32>
    return %2 : tensor<2xi32>
  }
  func.func @xla.sdy.manual_computation_body(%a: tensor<2xi32>) -> tensor<2xi32> {
    %0 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%b: tensor<i32>, %c: tensor<i32>):
      %s = stablehlo.add %b, %c : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<2xi32>
    return %0 : tensor<2xi32>
  }
}

// -----

// The same as they come back from HLO, where results of calls are tuples; the
// place along an axis is a body that takes nothing
module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22a\22=2, \22b\22=2]>}"}} {
  func.func private @xla.sdy.manual_computation_body.1() -> tensor<i32> {
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.divide %0, %two : tensor<ui32>
    %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
    return %2 : tensor<i32>
  }
  func.func private @xla.sdy.manual_computation_body.2(%a: tensor<2xi32>, %b: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
    %0 = call @xla.sdy.manual_computation_body.1() : () -> tensor<i32>
    %1 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%0) {mhlo.frontend_attributes = {xla.sdy.manual_axes = "#sdy<manual_axes{\22b\22}>", xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, []>]>"}} : (tensor<i32>) -> tensor<i32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %3 = stablehlo.add %a, %2 : tensor<2xi32>
    return %b, %3 : tensor<2xi32>, tensor<2xi32>
  }
  func.func @main() -> (tensor<4xi32>, tensor<4xi32>) {
    // EXPECT: [5, 6, 7, 8]
    // EXPECT: [1, 2, 3 + 1, 4 + 1]
    %v = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %w = stablehlo.constant dense<[5, 6, 7, 8]> : tensor<4xi32>
    %0 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%v, %w) {mhlo.frontend_attributes = {xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22a\22, ?}]>, <@mesh, [{\22a\22, ?}]>]>", xla.sdy.manual_axes = "#sdy<manual_axes{\22a\22}>"}} : (tensor<4xi32>, tensor<4xi32>) -> tuple<tensor<2xi32>, tensor<2xi32>>
    %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<2xi32>, tensor<2xi32>>) -> tensor<2xi32>
    %2 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xi32>, tensor<2xi32>>) -> tensor<2xi32>
    %3:2 = call @xla.sdy.manual_computation_body.2(%1, %2) : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
    %4 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%3#0, %3#1) {mhlo.frontend_attributes = {xla.sdy.manual_axes = "#sdy<manual_axes{\22a\22}>", xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22a\22, ?}]>, <@mesh, [{\22a\22, ?}]>]>"}} : (tensor<2xi32>, tensor<2xi32>) -> tuple<tensor<4xi32>, tensor<4xi32>>
    %5 = stablehlo.tuple %w, %v : tuple<tensor<4xi32>, tensor<4xi32>>
    %6 = stablehlo.get_tuple_element %4[0] : (tuple<tensor<4xi32>, tensor<4xi32>>) -> tensor<4xi32>
    %7 = stablehlo.get_tuple_element %4[1] : (tuple<tensor<4xi32>, tensor<4xi32>>) -> tensor<4xi32>
    return %6, %7 : tensor<4xi32>, tensor<4xi32>
  }
}

// -----

// Exchanges by permutations: axes that change places, a ring over two axes, a
// way to the neighbour that not all take, and what is no pattern at all; the
// pieces of all_to_all along two dimensions and over two axes, numbers and flags
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main() -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x4xi32>, tensor<16xi32>, tensor<4xi1>, tensor<4xi32>) {
  // EXPECT: [1, 3, 2, 4]
  // EXPECT: [4, 1, 2, 3]
  // EXPECT: [2, 0, 0, 0]
  // EXPECT: [3, 4, 2, 1]
  // EXPECT: [10, 20, 50, 60, 30, 40, 70, 80, 90, 100, 130, 140, 110, 120, 150, 160]
  // EXPECT: [10, 50, 90, 130, 20, 60, 100, 140, 30, 70, 110, 150, 40, 80, 120, 160]
  // EXPECT: [True, True, False, False]
  // EXPECT: [3, 3, 1, 1]
  %v = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %w = stablehlo.constant dense<[10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160]> : tensor<16xi32>
  %f = stablehlo.constant dense<[true, false, false, false]> : tensor<4xi1>
  %0:8 = sdy.manual_computation(%v, %w, %f) in_shardings=[<@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>] out_shardings=[<@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}, {}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>, <@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%a: tensor<1xi32>, %b: tensor<4xi32>, %c: tensor<1xi1>) {
    %1 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 0], [1, 2], [2, 1], [3, 3]]> : tensor<4x2xi64>}> : (tensor<1xi32>) -> tensor<1xi32>
    %2 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<1xi32>) -> tensor<1xi32>
    %3 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1xi32>) -> tensor<1xi32>
    %4 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 3], [1, 2], [2, 0], [3, 1]]> : tensor<4x2xi64>}> : (tensor<1xi32>) -> tensor<1xi32>
    %5 = stablehlo.reshape %b : (tensor<4xi32>) -> tensor<2x2xi32>
    %6 = "stablehlo.all_to_all"(%5) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<2x2xi32>) -> tensor<1x4xi32>
    %7 = "stablehlo.all_to_all"(%b) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<4xi32>) -> tensor<4xi32>
    %8 = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%l: tensor<i1>, %r: tensor<i1>):
      %o = stablehlo.or %l, %r : tensor<i1>
      stablehlo.return %o : tensor<i1>
    }) : (tensor<1xi1>) -> tensor<1xi1>
    // The parts of a group in another order than the devices are numbered.
    %9 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2, 1, 3]]> : tensor<1x4xi64>}> : (tensor<1xi32>) -> tensor<4xi32>
    %10 = func.call @second(%9) : (tensor<4xi32>) -> tensor<1xi32>
    sdy.return %1, %2, %3, %4, %6, %7, %8, %10 : tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x4xi32>, tensor<4xi32>, tensor<1xi1>, tensor<1xi32>
  } : (tensor<4xi32>, tensor<16xi32>, tensor<4xi1>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x4xi32>, tensor<16xi32>, tensor<4xi1>, tensor<4xi32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x4xi32>, tensor<16xi32>, tensor<4xi1>, tensor<4xi32>
}
// Devices exchange something in a function, too.
func.func private @second(%g: tensor<4xi32>) -> tensor<1xi32> {
  %0 = "stablehlo.collective_permute"(%g) <{source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}> : (tensor<4xi32>) -> tensor<4xi32>
  %1 = stablehlo.partition_id : tensor<ui32>
  %two = stablehlo.constant dense<2> : tensor<ui32>
  %2 = stablehlo.divide %1, %two : tensor<ui32>
  %one = stablehlo.constant dense<1> : tensor<ui32>
  %3 = stablehlo.subtract %one, %2 : tensor<ui32>
  %4 = stablehlo.dynamic_slice %0, %3, sizes = [1] : (tensor<4xi32>, tensor<ui32>) -> tensor<1xi32>
  return %4 : tensor<1xi32>
}

// -----

// A region over one of two axes, as JAX writes it: the place along the axis comes from a
// region over the others; who gives whom what is listed for all devices, by a ring, with
// gaps, and anyhow
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main() -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) {
  // EXPECT: [1, 2, 4, 5, 7, 8, 10, 11]
  // EXPECT: [7, 8, 1, 2, 3, 4, 5, 6]
  // EXPECT: [0, 0, 1, 2, 0, 0, 5, 6]
  // EXPECT: [3, 4, 7, 8, 1, 2, 5, 6]
  // EXPECT: [16, 20] * 4
  %v = stablehlo.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32>
  %0:5 = sdy.manual_computation(%v) in_shardings=[<@mesh, [{"x", ?}]>] out_shardings=[<@mesh, [{"x", ?}]>, <@mesh, [{"x", ?}]>, <@mesh, [{"x", ?}]>, <@mesh, [{"x", ?}]>, <@mesh, [{"x", ?}]>] manual_axes={"x"} (%a: tensor<2xi32>) {
    %1 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, []>] manual_axes={"y"} () {
      %two = stablehlo.constant dense<2> : tensor<ui32>
      %four = stablehlo.constant dense<4> : tensor<ui32>
      %8 = stablehlo.partition_id : tensor<ui32>
      %9 = stablehlo.divide %8, %two : tensor<ui32>
      %10 = stablehlo.remainder %9, %four : tensor<ui32>
      %11 = stablehlo.convert %10 : (tensor<ui32>) -> tensor<i32>
      sdy.return %11 : tensor<i32>
    } : () -> tensor<i32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %3 = stablehlo.add %a, %2 : tensor<2xi32>
    %4 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 2], [2, 4], [4, 6], [6, 0], [1, 3], [3, 5], [5, 7], [7, 1]]> : tensor<8x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
    %5 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<4x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
    %6 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 4], [1, 5], [2, 0], [3, 1], [4, 6], [5, 7], [6, 2], [7, 3]]> : tensor<8x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
    %7 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%c: tensor<i32>, %d: tensor<i32>):
      %s = stablehlo.add %c, %d : tensor<i32>
      %t = sdy.sharding_constraint %s <@mesh, []> : tensor<i32>
      stablehlo.return %t : tensor<i32>
    }) : (tensor<2xi32>) -> tensor<2xi32>
    sdy.return %3, %4, %5, %6, %7 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
  } : (tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>
}

// -----

// The gradient of a scan has a region that takes and gives nothing, JAX says
sdy.mesh @mesh = <["x"=2]>
func.func @main() -> tensor<2xi32> {
  // EXPECT: [1, 2]
  %v = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"x"} () {
    sdy.return
  } : () -> ()
  return %v : tensor<2xi32>
}

// -----

// In a region over some axes JAX constrains every value, in comparators and reducers,
// too
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main() -> (tensor<2x3xf32>, tensor<2xf32>) {
  // EXPECT: [1, 2, 3, 4, 5, 6]
  // EXPECT: [3, 6]
  %v = stablehlo.constant dense<[[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]> : tensor<2x3xf32>
  %0:2 = sdy.manual_computation(%v) in_shardings=[<@mesh, [{"x"}, {?}]>] out_shardings=[<@mesh, [{"x"}, {?}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<1x3xf32>) {
    %1 = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.compare EQ, %p, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.select %2, %zero, %p : tensor<i1>, tensor<f32>
      %4 = sdy.sharding_constraint %3 <@mesh, []> : tensor<f32>
      %5 = stablehlo.compare EQ, %q, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.select %5, %zero, %q : tensor<i1>, tensor<f32>
      %7 = sdy.sharding_constraint %6 <@mesh, [], replicated={"y"}> : tensor<f32>
      %8 = stablehlo.compare LT, %4, %7, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = stablehlo.optimization_barrier %8 : tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<1x3xf32>) -> tensor<1x3xf32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %m = stablehlo.reduce(%a init: %low) across dimensions = [1] : (tensor<1x3xf32>, tensor<f32>) -> tensor<1xf32>
     reducer(%p: tensor<f32>, %q: tensor<f32>)  {
      %2 = stablehlo.maximum %p, %q : tensor<f32>
      %3 = sdy.sharding_constraint %2 <@mesh, [], replicated={"y"}> : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }
    sdy.return %1, %m : tensor<1x3xf32>, tensor<1xf32>
  } : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2xf32>
}

// -----

// A region in another one: what "x" has cut "y" cuts further. Inside, the place along
// both, sums along each, and what "y" puts together again
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main() -> (tensor<2x2xi32>, tensor<2x1xi32>, tensor<2x2xi32>) {
  // EXPECT: [10 * 1 + 0, 10 * 2 + 1, 10 * 3 + 2, 10 * 4 + 3]
  // EXPECT: [3, 7]
  // EXPECT: [4, 6, 4, 6]
  %v = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %0:3 = sdy.manual_computation(%v) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>, <@mesh, [{"x", ?}, {?}]>, <@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%a: tensor<1x2xi32>) {
    %1:3 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{?}, {"y", ?}]>] out_shardings=[<@mesh, [{?}, {"y", ?}]>, <@mesh, [{?}, {?}]>, <@mesh, [{?}, {"y", ?}]>] manual_axes={"y"} (%b: tensor<1x1xi32>) {
      %id = stablehlo.partition_id : tensor<ui32>
      %place = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
      %places = stablehlo.reshape %place : (tensor<i32>) -> tensor<1x1xi32>
      %ten = stablehlo.constant dense<10> : tensor<1x1xi32>
      %2 = stablehlo.multiply %b, %ten : tensor<1x1xi32>
      %3 = stablehlo.add %2, %places : tensor<1x1xi32>
      %4 = "stablehlo.all_reduce"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%c: tensor<i32>, %d: tensor<i32>):
        %s = stablehlo.add %c, %d : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<1x1xi32>) -> tensor<1x1xi32>
      %5 = "stablehlo.all_reduce"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%c: tensor<i32>, %d: tensor<i32>):
        %s = stablehlo.add %c, %d : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<1x1xi32>) -> tensor<1x1xi32>
      sdy.return %3, %4, %5 : tensor<1x1xi32>, tensor<1x1xi32>, tensor<1x1xi32>
    } : (tensor<1x2xi32>) -> (tensor<1x2xi32>, tensor<1x1xi32>, tensor<1x2xi32>)
    sdy.return %1#0, %1#1, %1#2 : tensor<1x2xi32>, tensor<1x1xi32>, tensor<1x2xi32>
  } : (tensor<2x2xi32>) -> (tensor<2x2xi32>, tensor<2x1xi32>, tensor<2x2xi32>)
  return %0#0, %0#1, %0#2 : tensor<2x2xi32>, tensor<2x1xi32>, tensor<2x2xi32>
}

// -----

// The place along the axis that is the inner region's own
sdy.mesh @mesh = <["x"=2, "y"=3]>
func.func @main() -> tensor<3xi32> {
  // EXPECT: [0, 1, 2]
  %0 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{?}]>] manual_axes={"x"} () {
    %1 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{"y", ?}]>] manual_axes={"y"} () {
      %three = stablehlo.constant dense<3> : tensor<ui32>
      %id = stablehlo.partition_id : tensor<ui32>
      %2 = stablehlo.remainder %id, %three : tensor<ui32>
      %3 = stablehlo.convert %2 : (tensor<ui32>) -> tensor<i32>
      %4 = stablehlo.reshape %3 : (tensor<i32>) -> tensor<1xi32>
      sdy.return %4 : tensor<1xi32>
    } : () -> tensor<3xi32>
    sdy.return %1 : tensor<3xi32>
  } : () -> tensor<3xi32>
  return %0 : tensor<3xi32>
}

// -----

// JAX asks for the number of the device, and counts the places along one axis itself. Of
// axes of one device none needs to be manual, in one region or in one within another.
sdy.mesh @mesh = <["x"=3, "y"=2, "z"=1]>
func.func @main() -> (tensor<6xi32>, tensor<6xi32>) {
  // EXPECT: [0, 1, 0, 1, 0, 1]
  // EXPECT: [3, 1, 2, 3, 1, 2]
  %v = stablehlo.constant dense<0> : tensor<6xi32>
  %0 = sdy.manual_computation(%v) in_shardings=[<@mesh, [{"x", ?}]>] out_shardings=[<@mesh, [{"x", ?}]>] manual_axes={"x"} (%a: tensor<2xi32>) {
    %1 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y", ?}]>] out_shardings=[<@mesh, [{"y", ?}]>] manual_axes={"y"} (%b: tensor<1xi32>) {
      %2 = stablehlo.partition_id : tensor<ui32>
      %c = stablehlo.constant dense<2> : tensor<ui32>
      %3 = stablehlo.remainder %2, %c : tensor<ui32>
      %4 = stablehlo.convert %3 : (tensor<ui32>) -> tensor<i32>
      %5 = stablehlo.reshape %4 : (tensor<i32>) -> tensor<1xi32>
      sdy.return %5 : tensor<1xi32>
    } : (tensor<2xi32>) -> tensor<2xi32>
    sdy.return %1 : tensor<2xi32>
  } : (tensor<6xi32>) -> tensor<6xi32>
  %w = stablehlo.constant dense<[1, 2, 3, 1, 2, 3]> : tensor<6xi32>
  %6 = sdy.manual_computation(%w) in_shardings=[<@mesh, [{"x", "y", ?}]>] out_shardings=[<@mesh, [{"x", "y", ?}]>] manual_axes={"x", "y"} (%a: tensor<1xi32>) {
    %7 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0]]> : tensor<6x2xi64>}> : (tensor<1xi32>) -> tensor<1xi32>
    sdy.return %7 : tensor<1xi32>
  } : (tensor<6xi32>) -> tensor<6xi32>
  return %0, %6 : tensor<6xi32>, tensor<6xi32>
}
