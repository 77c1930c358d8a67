// RUN: tp-opt %s --split-input-file --tp-import-stablehlo | FileCheck %s

// Shardy: meshes, arguments and results, constraints, and shardings on results of
// operations.
module attributes {mhlo.num_partitions = 8 : i32} {
  // CHECK: spmd.mesh @mesh <["data"=2, "model"=4]>
  sdy.mesh @mesh = <["data"=2, "model"=4]>
  sdy.mesh @empty = <[]>
  // CHECK-LABEL: func.func @native
  // CHECK-SAME: spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {"model":(1)2, ?}p1]>
  // CHECK-SAME: spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>
  // CHECK-SAME: -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {?}]>})
  func.func @native(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model":(1)2, ?}p1]>}, %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@empty, [{}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {?}]>}) {
    // CHECK: spmd.constraint %arg0 <@mesh, [{"data"}, {}], replicated={"model"}> : tensor<8x8xf32>
    %0 = sdy.sharding_constraint %x <@mesh, [{"data"}, {}], replicated={"model"}> : tensor<8x8xf32>
    // CHECK: spmd.barrier %{{.+}} allowed_direction = backward
    %f = sdy.propagation_barrier %0 allowed_direction=BACKWARD : tensor<8x8xf32>
    // CHECK: spmd.barrier %{{.+}} allowed_direction = forward
    %n = sdy.propagation_barrier %f allowed_direction=FORWARD : tensor<8x8xf32>
    // CHECK: spmd.barrier %{{.+}} allowed_direction = none
    %o = sdy.propagation_barrier %n allowed_direction=NONE : tensor<8x8xf32>
    // CHECK-NOT: spmd.barrier
    %1 = sdy.propagation_barrier %o allowed_direction=BOTH : tensor<8x8xf32>
    // CHECK: spmd.group %{{.+}} 3
    sdy.sharding_group %1 group_id=3 : tensor<8x8xf32>
    // CHECK: %[[SUM:.+]] = tp.add
    // CHECK: spmd.constraint %[[SUM]] <@mesh, [{"model"}, {}]>
    %2 = stablehlo.add %1, %y {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"model"}, {}]>]>} : tensor<8x8xf32>
    // CHECK: spmd.constraint %{{.+}} <@mesh, [{}, {"data"}]>
    // CHECK: tp.neg
    %3 = sdy.named_computation<"part">(%2) in_shardings=[<@mesh, [{}, {"data"}]>] (%a: tensor<8x8xf32>) {
      %4 = stablehlo.negate %a : tensor<8x8xf32>
      sdy.return %4 : tensor<8x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %3 : tensor<8x8xf32>
  }
}

// -----

// GSPMD: the mesh is what all strings agree on. Here the first one cuts eight
// devices in 4 and 2, the second in 2 and 4, transposed.
module attributes {mhlo.num_partitions = 8 : i32} {
  // CHECK: spmd.mesh @mesh <["_axis_0"=2, "_axis_1"=2, "_axis_2"=2]>
  // CHECK-LABEL: func.func @gspmd
  // CHECK-SAME: spmd.sharding = #spmd.sharding<@mesh, [{"_axis_0", "_axis_1"}, {}]>
  // CHECK-SAME: spmd.sharding = #spmd.sharding<@mesh, [{"_axis_1", "_axis_2"}, {"_axis_0"}]>
  // CHECK-SAME: spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>
  func.func @gspmd(%x: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"}, %y: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,2]<=[2,4]T(1,0)}"}, %z: tensor<8x8xf32> {mhlo.sharding = "{replicated}"}) -> tensor<8x8xf32> {
    // CHECK: spmd.constraint %arg0 <@mesh, [{"_axis_0"}, {?}]>
    %0 = stablehlo.custom_call @Sharding(%x) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    // CHECK: tp.add
    %1 = stablehlo.add %0, %y {mhlo.sharding = "{unknown}"} : tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}

// -----

// GSPMD without any cut: the mesh is all devices.
module attributes {mhlo.num_partitions = 4 : i32} {
  // CHECK: spmd.mesh @mesh <["_axis_0"=4]>
  // CHECK-LABEL: func.func @whole
  // CHECK-SAME: spmd.sharding = #spmd.sharding<@mesh, [{}]>
  func.func @whole(%x: tensor<8xf32> {mhlo.sharding = "{replicated}"}) -> tensor<8xf32> {
    %0 = stablehlo.negate %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Shardy in strings, which count more than those of GSPMD beside them.
module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22a\22=2, \22b\22=2]>}"}} {
  // CHECK: spmd.mesh @mesh <["a"=2, "b"=2]>
  // CHECK-LABEL: func.func @strings
  // CHECK-SAME: spmd.sharding = #spmd.sharding<@mesh, [{"a"}, {}]>
  // CHECK-SAME: -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>})
  func.func @strings(%x: tensor<8x8xf32> {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\22a\22}, {}]>"}, mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"}) -> tensor<8x8xf32> {
    // CHECK: spmd.constraint %arg0 <@mesh, [{"b"}, {?}]>
    %0 = stablehlo.custom_call @Sharding(%x) {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\\\22b\\\22}, {?}]>]>"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    // CHECK-NOT: spmd.constraint
    %1 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%0) {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{}, {}]>]>"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}

// -----

// On a mesh that has names, strings of GSPMD are about its axes and parts of them.
module attributes {mhlo.num_partitions = 8 : i32} {
  // CHECK: spmd.mesh @mesh <["data"=2, "model"=4]>
  sdy.mesh @mesh = <["data"=2, "model"=4]>
  // CHECK-LABEL: func.func @named
  // CHECK-SAME: %arg0: tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model", "data"}, {}]>}
  // CHECK-SAME: -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data", "model":(1)2}, {}]>})
  func.func @named(%x: tensor<8x8xf32> {mhlo.sharding = "{devices=[8,1]<=[2,4]T(1,0)}"}) -> (tensor<8x8xf32> {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"}) {
    return %x : tensor<8x8xf32>
  }
}

// -----

// Strings name devices, which the mesh may have in other places: as if its axes
// were numbered the other way round, or as parts of one axis.
module attributes {mhlo.num_partitions = 8 : i32} {
  // CHECK: spmd.mesh @mesh <["x"=2, "y"=4], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]>
  sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]>
  // CHECK-LABEL: func.func @turned
  // CHECK-SAME: %arg0: tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y", "x"}, {}]>}
  // CHECK-SAME: -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {}]>})
  func.func @turned(%x: tensor<8x8xf32> {mhlo.sharding = "{devices=[8,1]<=[8]}"}) -> (tensor<8x8xf32> {mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"}) {
    return %x : tensor<8x8xf32>
  }
}

// -----

// CHECK: spmd.mesh @mesh <["x"=4], device_ids=[0, 2, 1, 3]>
sdy.mesh @mesh = <["x"=4], device_ids=[0, 2, 1, 3]>
// CHECK-LABEL: func.func @parts
// CHECK-SAME: spmd.sharding = #spmd.sharding<@mesh, [{"x":(2)2, "x":(1)2}]>
func.func @parts(%x: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// Shardy's collectives are what they lead to, and those are what we make of it.
sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK-LABEL: func.func @collectives
func.func @collectives(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  // CHECK: spmd.constraint %arg0 <@mesh, [{"x"}, {"y":(1)2}]>
  %0 = sdy.all_gather [{}, {"y":(2)2}] %x out_sharding=<@mesh, [{"x"}, {"y":(1)2}]> : tensor<8x8xf32>
  // CHECK: spmd.constraint %{{.+}} <@mesh, [{"x", "y":(1)2}, {}]>
  %1 = sdy.all_to_all [{"y":(1)2}: 1->0] %0 out_sharding=<@mesh, [{"x", "y":(1)2}, {}]> : tensor<8x8xf32>
  // CHECK: spmd.constraint %{{.+}} <@mesh, [{"y"}, {}]>
  %2 = sdy.collective_permute %1 out_sharding=<@mesh, [{"y"}, {}]> : tensor<8x8xf32>
  // CHECK: spmd.constraint %{{.+}} <@mesh, [{"y"}, {"x"}]>
  %3 = sdy.all_slice [{}, {"x"}] %2 out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<8x8xf32>
  // CHECK: tp.einsum
  %4 = stablehlo.dot_general %3, %3, contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: spmd.constraint %{{.+}} <@mesh, [{"y"}, {"x"}]>
  %5 = sdy.reduce_scatter [{"y"}, {}] %4 out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<8x8xf32>
  // CHECK-NEXT: return
  %6 = sdy.all_reduce {"y"} %5 out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x8xf32>
  return %6 : tensor<8x8xf32>
}
