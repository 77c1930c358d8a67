// RUN: split-file %s %t
// RUN: tp-opt %t/exchanges.mlir --tp-import-stablehlo | FileCheck %s
// RUN: tp-opt %t/exchanges.mlir --tp-shard --tp-report="file=- table=false" -o %t/local.mlir | FileCheck %s --check-prefix=REPORT
// RUN: tp-opt %t/local.mlir --tp-verify-against=%t/exchanges.mlir -o %t/out
// RUN: tp-opt %t/exchanges.mlir --tp-compile=target=cpu --tp-artifact=%t/run.tpx -o %t/out
// RUN: tp-run %t/run.tpx --check

// What devices exchange in a region is a collective over the axes along which its
// groups stand, of the same bytes; it is costed, localised, lowered and run as
// what it is.

// CHECK-LABEL: func.func public @main
// CHECK: spmd.all_gather %{{.+}} [{}, {"y"}] in <@mesh, [{}, {"y"}]> out <@mesh, [{}, {}]> : tensor<8x4xf32> -> tensor<8x16xf32>
// CHECK: spmd.reduce_scatter %{{.+}} [{}, {"y"}] in <@mesh, [{}, {}], unreduced={"y"}> out <@mesh, [{}, {"y"}]> : tensor<8x16xf32> -> tensor<8x4xf32>
// CHECK: spmd.all_to_all %{{.+}} ["y": 0 -> 1] {{.*}} : tensor<1x4x2x4xf32> -> tensor<4x1x2x4xf32>
// CHECK: spmd.shift %{{.+}} along @mesh {"y"} by 1 wrap : tensor<2x16xf32>
// CHECK: spmd.all_reduce %{{.+}} {"x", "y"} in <@mesh, [{}, {}], unreduced=max{"x", "y"}> out <@mesh, [{}, {}]>
// CHECK: spmd.all_reduce %{{.+}} {"y":(1)2} in <@mesh, [], unreduced={"y":(1)2}>

// REPORT: "kind": "all_gather",
// REPORT: "y"
// REPORT: "group_size": 4,
// REPORT-NEXT: "bytes": 512,
// REPORT-NEXT: "wire_bytes": 384,
// REPORT: "kind": "reduce_scatter",
// REPORT: "bytes": 512,
// REPORT-NEXT: "wire_bytes": 384,
// REPORT: "kind": "all_to_all",
// REPORT: "bytes": 128,
// REPORT-NEXT: "wire_bytes": 96,
// REPORT: "kind": "collective_permute",
// REPORT: "bytes": 128,
// REPORT-NEXT: "wire_bytes": 128,
// REPORT: "kind": "all_reduce",
// REPORT: "op": "max",
// REPORT-NEXT: "group_size": 8,
// REPORT-NEXT: "bytes": 128,
// REPORT: "kind": "all_reduce",
// REPORT: "y:(1)2"

//--- exchanges.mlir
module @jit_body attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<16x8xf32>, %arg1: tensor<8x16xf32>) -> (tensor<4x64xf32> {jax.result_info = "result[0]"}, tensor<4xf32>) {
    %0:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"x", "y":(2)2}]>] manual_axes={"x", "y"} (%arg2: tensor<8x8xf32>, %arg3: tensor<8x4xf32>) {
      %1 = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      %2 = stablehlo.negate %1 : tensor<8x4xf32>
      %3 = "stablehlo.all_gather"(%2) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> : (tensor<8x4xf32>) -> tensor<8x16xf32>
      %4 = "stablehlo.reduce_scatter"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>, scatter_dimension = 1 : i64, use_global_device_ids}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %18 = stablehlo.add %arg4, %arg5 : tensor<f32>
        stablehlo.return %18 : tensor<f32>
      }) : (tensor<8x16xf32>) -> tensor<8x4xf32>
      %5 = "stablehlo.all_to_all"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 0 : i64}> : (tensor<8x4xf32>) -> tensor<2x16xf32>
      %6 = "stablehlo.collective_permute"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4]]> : tensor<8x2xi64>}> : (tensor<2x16xf32>) -> tensor<2x16xf32>
      %7 = "stablehlo.all_reduce"(%6) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %18 = stablehlo.maximum %arg4, %arg5 : tensor<f32>
        stablehlo.return %18 : tensor<f32>
      }) : (tensor<2x16xf32>) -> tensor<2x16xf32>
      %12 = stablehlo.add %6, %7 : tensor<2x16xf32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %16 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x16xf32>, tensor<f32>) -> tensor<f32>
      // A part of an axis; where devices stand in the groups of a sum is all one.
      %17 = "stablehlo.all_reduce"(%16) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[2, 0], [1, 3], [6, 4], [5, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %18 = stablehlo.add %arg4, %arg5 : tensor<f32>
        stablehlo.return %18 : tensor<f32>
      }) : (tensor<f32>) -> tensor<f32>
      %19 = stablehlo.reshape %17 : (tensor<f32>) -> tensor<1xf32>
      sdy.return %12, %19 : tensor<2x16xf32>, tensor<1xf32>
    } : (tensor<16x8xf32>, tensor<8x16xf32>) -> (tensor<4x64xf32>, tensor<4xf32>)
    return %0#0, %0#1 : tensor<4x64xf32>, tensor<4xf32>
  }
}
