// RUN: tp-opt %s | FileCheck %s
// RUN: tp-opt %s | tp-opt | FileCheck %s

// Shardy's text is read with the attributes of spmd, pretty and generic.

// CHECK: "sdy.mesh"() <{mesh = #spmd.mesh<["data"=2, "model"=4], device_ids=[1, 0, 2, 3, 4, 5, 6, 7]>, sym_name = "mesh"}>
sdy.mesh @mesh = <["data"=2, "model"=4], device_ids=[1, 0, 2, 3, 4, 5, 6, 7]> {stablehlo.mesh = {axes = []}}

// CHECK-LABEL: func.func @annotations
// CHECK-SAME: sdy.sharding = #spmd.sharding<@mesh, [{"data"}, {"model":(1)2, ?}p1], replicated={"model":(2)2}>
func.func @annotations(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model":(1)2, ?}p1], replicated={"model":(2)2}>}) {
  // CHECK: "sdy.sharding_constraint"(%{{.+}}) <{sharding = #spmd.sharding<@mesh, [{"data"}, {?}]>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = sdy.sharding_constraint %x <@mesh, [{"data"}, {?}]> : tensor<8x8xf32>
  // CHECK: "sdy.reshard"(%{{.+}}) <{sharding = #spmd.sharding<@mesh, [{}, {}], unreduced={"data"}>}>
  %1 = sdy.reshard %x <@mesh, [{}, {}], unreduced={"data"}> : tensor<8x8xf32>
  // CHECK: "sdy.propagation_barrier"(%{{.+}}) <{allowed_direction = "BACKWARD"}>
  %2 = sdy.propagation_barrier %x allowed_direction=BACKWARD : tensor<8x8xf32>
  // CHECK: "sdy.sharding_group"(%{{.+}}) <{group_id = 21 : i64}> : (tensor<8x8xf32>) -> ()
  sdy.sharding_group %x group_id=21 : tensor<8x8xf32>
  // CHECK: sdy.sharding = [#spmd.sharding<@mesh, [{"data"}, {}]>, #spmd.sharding<@mesh, [{}, {}]>]
  %3:2 = stablehlo.optimization_barrier %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}]>, <@mesh, [{}, {}]>]>} : tensor<8x8xf32>, tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<8x8xf32>) {
  // CHECK: "sdy.manual_computation"(%{{.+}}) <{in_shardings = [#spmd.sharding<@mesh, [{"data"}, {}]>], manual_axes = ["data"], out_shardings = [#spmd.sharding<@mesh, [{"data"}, {}]>]}> ({
  // CHECK-NEXT: ^bb0(%[[A:.+]]: tensor<4x8xf32>):
  // CHECK-NEXT: "sdy.return"(%[[A]]) : (tensor<4x8xf32>) -> ()
  // CHECK-NEXT: }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}, {}]>] out_shardings=[<@mesh, [{"data"}, {}]>] manual_axes={"data"} (%a: tensor<4x8xf32>) {
    sdy.return %a : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: "sdy.named_computation"(%{{.+}}) <{name = "part", out_shardings = [#spmd.sharding<@mesh, [{}, {}]>]}> ({
  %1 = sdy.named_computation<"part">(%x) out_shardings=[<@mesh, [{}, {}]>] (%a: tensor<8x8xf32>) {
    sdy.return %a : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: "sdy.manual_computation"(%{{.+}}) <{in_shardings = [#spmd.sharding<@mesh, [{}, {}]>], manual_axes = ["data", "model"], out_shardings = [#spmd.sharding<@mesh, [{}, {}]>]}> ({
  %2 = "sdy.manual_computation"(%x) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>, manual_axes = #sdy<manual_axes{"data", "model"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>}> ({
  ^bb0(%a: tensor<8x8xf32>):
    "sdy.return"(%a) : (tensor<8x8xf32>) -> ()
  }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}
