// RUN: tp-opt %s --verify-roundtrip | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

spmd.mesh @mesh <["data"=2, "model"=8, "one"=1]>

// Everything a sharding can say.
// CHECK-LABEL: func.func @shardings(
// CHECK-SAME: #spmd.sharding<@mesh, [{"data", "model"}, {}]>
// CHECK-SAME: #spmd.sharding<@mesh, [{"model":(1)2, ?}p0, {?}]>
// CHECK-SAME: #spmd.sharding<@mesh, [{"model":(4)2}, {"model":(1)2}], replicated={"data"}>
// CHECK-SAME: #spmd.sharding<@mesh, []>
// CHECK-SAME: #spmd.sharding<@mesh, [{"one"}, {}]>
// CHECK-SAME: #spmd.sharding<@mesh, [{}, {}], replicated={"data"}, unreduced={"model"}>
// CHECK-SAME: #spmd.sharding<@mesh, [{}, {}], unreduced=min{"model":(2)4}>
func.func @shardings(%a: tensor<8x512xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data", "model"}, {}]>},
                     %b: tensor<8x512xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(1)2, ?}p0, {?}]>},
                     %c: tensor<8x512xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(4)2}, {"model":(1)2}], replicated={"data"}>},
                     %d: tensor<f32> {spmd.sharding = #spmd.sharding<@mesh, []>},
                     %e: tensor<8x512xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"one"}, {}]>})
    -> (tensor<8x512xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}], unreduced=sum{"model"}, replicated={"data"}>},
        tensor<8x512xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}], unreduced=min{"model":(2)4}>}) {
  return %a, %b : tensor<8x512xf32>, tensor<8x512xf32>
}

// Requests about values.
// CHECK-LABEL: func.func @requests
func.func @requests(%a: tensor<8x512xf32>) {
  // CHECK: spmd.constraint %{{.+}} <@mesh, [{"data"}, {?}]> : tensor<8x512xf32>
  %0 = spmd.constraint %a <@mesh, [{"data"}, {?}]> : tensor<8x512xf32>
  // CHECK: spmd.reshard %{{.+}} <@mesh, [{}, {}]> : tensor<8x512xf32>
  %1 = spmd.reshard %0 <@mesh, [{}, {}]> : tensor<8x512xf32>
  // CHECK: spmd.barrier %{{.+}} allowed_direction = forward : tensor<8x512xf32>
  %2 = spmd.barrier %1 allowed_direction = forward : tensor<8x512xf32>
  // CHECK: spmd.barrier %{{.+}} allowed_direction = backward
  %3 = spmd.barrier %2 allowed_direction = backward : tensor<8x512xf32>
  // CHECK: spmd.barrier %{{.+}} allowed_direction = none
  %4 = spmd.barrier %3 allowed_direction = none : tensor<8x512xf32>
  // CHECK: spmd.barrier %{{.+}} allowed_direction = both
  %5 = spmd.barrier %4 allowed_direction = both : tensor<8x512xf32>
  // CHECK: spmd.group %{{.+}} 1 : tensor<8x512xf32>
  spmd.group %a 1 : tensor<8x512xf32>
  // CHECK: spmd.group %{{.+}} 1 : tensor<8x512xf32>
  spmd.group %4 1 : tensor<8x512xf32>
  return
}

// Two results, two shardings; none for an op without results.
// CHECK-LABEL: func.func @ops
func.func @ops(%x: tensor<4x16xf32>) {
  // CHECK: tp.top_k %{{.+}} {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {}]>, #spmd.sharding<@mesh, [{}, {}]>]}
  %v, %i = tp.top_k %x {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {}]>, #spmd.sharding<@mesh, [{}, {}]>]} : tensor<4x16xf32> -> tensor<4x2xf32>, tensor<4x2xi32>
  return
}
