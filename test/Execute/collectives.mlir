// Every collective, on sub-axes, several axes and uneven sizes, moves a value
// about without changing it.
//
// RUN: split-file %s %t
// RUN: tp-opt %t/local.mlir --tp-verify-against=whole=%t/whole.mlir | FileCheck %s
// CHECK-LABEL: func.func @even
// CHECK-LABEL: func.func @uneven
// CHECK-LABEL: func.func @partial

// The same ops on global types are identities.
// RUN: tp-opt %t/global.mlir --tp-verify-against=whole=%t/whole-even.mlir | FileCheck %s --check-prefix=GLOBAL
// GLOBAL-LABEL: func.func @even

//--- whole-even.mlir
func.func @even(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
  return %x : tensor<16x8xf32>
}

//--- global.mlir
spmd.mesh @mesh <["x"=4, "y"=2]>
func.func @even(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = spmd.constraint %x <@mesh, [{"x"}, {"y"}]> : tensor<16x8xf32>
  %1 = spmd.reshard %0 <@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  %2 = spmd.barrier %1 allowed_direction = none : tensor<16x8xf32>
  spmd.group %2 1 : tensor<16x8xf32>
  %3 = spmd.all_gather %2 [{"x"}, {}] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {}]> : tensor<16x8xf32> -> tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}

//--- whole.mlir
func.func @even(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
  return %x : tensor<16x8xf32>
}
func.func @uneven(%x: tensor<10x7xi32>) -> (tensor<10x7xi32>, tensor<10x7xi32>) {
  return %x, %x : tensor<10x7xi32>, tensor<10x7xi32>
}
func.func @partial(%x: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<6xf32> {
  %0 = tp.add %x, %b : tensor<6xf32>
  return %0 : tensor<6xf32>
}

//--- local.mlir
spmd.mesh @mesh <["x"=4, "y"=2]>
!0 = tensor<4x4xf32, #spmd.local<@mesh, [{"x"}, {"y"}], global=[16, 8]>>
!1 = tensor<4x4xf32, #spmd.local<@mesh, [{"y", "x":(2)2}, {"x":(1)2}], global=[16, 8]>>
!2 = tensor<8x2xf32, #spmd.local<@mesh, [{"y"}, {"x"}], global=[16, 8]>>
!3 = tensor<8x4xf32, #spmd.local<@mesh, [{"y"}, {"x":(1)2}], global=[16, 8]>>
!4 = tensor<8x8xf32, #spmd.local<@mesh, [{"y"}, {}], global=[16, 8]>>
!5 = tensor<4x4xf32, #spmd.local<@mesh, [{"y", "x":(2)2}, {"x":(1)2}], global=[16, 8]>>
func.func @even(%x: !0) -> !5 {
  %1 = spmd.collective_permute %x in <@mesh, [{"x"}, {"y"}]> out <@mesh, [{"y", "x":(2)2}, {"x":(1)2}]> : !0 -> !1
  %2 = spmd.all_to_all %1 ["x":(2)2: 0 -> 1] in <@mesh, [{"y", "x":(2)2}, {"x":(1)2}]> out <@mesh, [{"y"}, {"x"}]> : !1 -> !2
  %3 = spmd.all_gather %2 [{}, {"x":(2)2}] in <@mesh, [{"y"}, {"x"}]> out <@mesh, [{"y"}, {"x":(1)2}]> : !2 -> !3
  %4 = spmd.all_gather %3 [{}, {"x":(1)2}] in <@mesh, [{"y"}, {"x":(1)2}]> out <@mesh, [{"y"}, {}]> : !3 -> !4
  %5 = spmd.all_slice %4 [{"x":(2)2}, {"x":(1)2}] in <@mesh, [{"y"}, {}]> out <@mesh, [{"y", "x":(2)2}, {"x":(1)2}]> : !4 -> !5
  return %5 : !5
}

// Rows are blocks of 3, 3, 3 and 1; columns of 4 and 3, or of 2, 2, 2 and 1.
!a = tensor<3x7xi32, #spmd.local<@mesh, [{"x"}, {}], global=[10, 7]>>
!b = tensor<3x4xi32, #spmd.local<@mesh, [{"x"}, {"y"}], global=[10, 7]>>
!c = tensor<10x2xi32, #spmd.local<@mesh, [{}, {"x"}], global=[10, 7]>>
!d = tensor<10x7xi32, #spmd.local<@mesh, [{}, {}], global=[10, 7]>>
func.func @uneven(%x: !a) -> (!b, !d) {
  %0 = spmd.all_to_all %x ["x": 0 -> 1] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {"x"}]> : !a -> !c
  %1 = spmd.all_to_all %0 ["x": 1 -> 0] in <@mesh, [{}, {"x"}]> out <@mesh, [{"x"}, {}]> : !c -> !a
  %2 = spmd.all_slice %1 [{}, {"y"}] in <@mesh, [{"x"}, {}]> out <@mesh, [{"x"}, {"y"}]> : !a -> !b
  %3 = spmd.all_gather %2 [{"x"}, {"y"}] in <@mesh, [{"x"}, {"y"}]> out <@mesh, [{}, {}]> : !b -> !d
  return %2, %3 : !b, !d
}

// Made partial in both ways: along an axis that was idle, one device keeps the
// value; along one that cut it, everyone its block.
!x = tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[6]>>
!xp = tensor<6xf32, #spmd.local<@mesh, [{}], unreduced={"x"}, global=[6]>>
!xpp = tensor<6xf32, #spmd.local<@mesh, [{}], unreduced={"x", "y"}, global=[6]>>
!w = tensor<6xf32, #spmd.local<@mesh, [{}], global=[6]>>
!r = tensor<1xf32, #spmd.local<@mesh, [{"y", "x"}], global=[6]>>
func.func @partial(%x: !x, %b: !w) -> !r {
  %0 = spmd.to_partial %x {"x"} in <@mesh, [{"x"}]> out <@mesh, [{}], unreduced={"x"}> : !x -> !xp
  %1 = spmd.to_partial %0 {"y"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}], unreduced={"x", "y"}> : !xp -> !xpp
  %2 = spmd.to_partial %b {"x", "y"} in <@mesh, [{}]> out <@mesh, [{}], unreduced={"x", "y"}> : !w -> !xpp
  %3 = tp.add %1, %2 : !xpp
  %4 = spmd.reduce_scatter %3 [{"y", "x"}] in <@mesh, [{}], unreduced={"x", "y"}> out <@mesh, [{"y", "x"}]> : !xpp -> !r
  return %4 : !r
}
