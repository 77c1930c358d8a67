// RUN: tp-opt %s --verify-roundtrip | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

spmd.mesh @mesh <["x"=2, "y"=2]>

// Partial sums become whole, or cut; a whole value becomes partial.
// CHECK-LABEL: func.func @reductions
func.func @reductions(%0: tensor<8xf32>) {
  // CHECK: spmd.all_reduce %{{.+}} {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  %1 = spmd.all_reduce %0 {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  // CHECK: spmd.reduce_scatter %{{.+}} [{"x"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf32>
  %2 = spmd.reduce_scatter %0 [{"x"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf32>
  // CHECK: spmd.to_partial %{{.+}} {"x"} in <@mesh, [{}]> out <@mesh, [{}], unreduced={"x"}> : tensor<8xf32> -> tensor<8xf32>
  %3 = spmd.to_partial %1 {"x"} in <@mesh, [{}]> out <@mesh, [{}], unreduced={"x"}> : tensor<8xf32> -> tensor<8xf32>
  return
}

// Blocks are put together, cut, moved to another dimension, given away.
// CHECK-LABEL: func.func @moves
func.func @moves(%0: tensor<8xf32>, %m: tensor<4x2xf32>) {
  // CHECK: spmd.all_gather %{{.+}} [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  %1 = spmd.all_gather %0 [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  // CHECK: spmd.all_slice %{{.+}} [{"x"}] in <@mesh, [{}]> out <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf32>
  %2 = spmd.all_slice %1 [{"x"}] in <@mesh, [{}]> out <@mesh, [{"x"}]> : tensor<8xf32> -> tensor<8xf32>
  // CHECK: spmd.all_to_all %{{.+}} ["x": 0 -> 1] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {"x"}]> : tensor<4x2xf32> -> tensor<4x2xf32>
  %3 = spmd.all_to_all %m ["x": 0 -> 1] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {"x"}]> : tensor<4x2xf32> -> tensor<4x2xf32>
  // CHECK: spmd.collective_permute %{{.+}} in <@mesh, [{"x", "y"}]> out <@mesh, [{"y", "x"}]> : tensor<8xf32> -> tensor<8xf32>
  %4 = spmd.collective_permute %0 in <@mesh, [{"x", "y"}]> out <@mesh, [{"y", "x"}]> : tensor<8xf32> -> tensor<8xf32>
  return
}

// Several collectives are one launch, of one kind or of several.
// CHECK-LABEL: func.func @combined
func.func @combined(%0: tensor<8xf32>, %m: tensor<4x2xf32>, %i: tensor<4x2xi32>) {
  // CHECK: spmd.combined all_reduce %{{.+}}, %{{.+}} in [<@mesh, [{}], unreduced={"x"}>, <@mesh, [{"y"}, {}], unreduced={"x"}>] out [<@mesh, [{}]>, <@mesh, [{"y"}, {}]>] : (tensor<8xf32>, tensor<4x2xf32>) -> (tensor<8xf32>, tensor<4x2xf32>)
  // CHECK: spmd.combined [all_reduce, all_gather] %{{.+}}, %{{.+}} in [<@mesh, [{}], unreduced=max{"x"}>, <@mesh, [{"x"}, {}]>] out [<@mesh, [{}]>, <@mesh, [{}, {}]>] : (tensor<8xf32>, tensor<4x2xi32>) -> (tensor<8xf32>, tensor<4x2xi32>)
  %1:2 = spmd.combined all_reduce %0, %m in [<@mesh, [{}], unreduced={"x"}>, <@mesh, [{"y"}, {}], unreduced={"x"}>] out [<@mesh, [{}]>, <@mesh, [{"y"}, {}]>] : (tensor<8xf32>, tensor<4x2xf32>) -> (tensor<8xf32>, tensor<4x2xf32>)
  %2:2 = spmd.combined [all_reduce, all_gather] %0, %i in [<@mesh, [{}], unreduced=max{"x"}>, <@mesh, [{"x"}, {}]>] out [<@mesh, [{}]>, <@mesh, [{}, {}]>] : (tensor<8xf32>, tensor<4x2xi32>) -> (tensor<8xf32>, tensor<4x2xi32>)
  return
}
