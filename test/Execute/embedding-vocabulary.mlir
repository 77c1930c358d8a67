// A vocabulary of 10 on 4 devices: each looks up the rows it holds, ids counted
// from its first row, and the results are summed. The whole program gets ids
// outside of the table, too.
//
// RUN: split-file %s %t
// RUN: tp-opt %t/local.mlir --tp-verify-against="whole=%t/whole.mlir trials=4" | FileCheck %s
// CHECK-LABEL: func.func @lookup

// An id past the end must not find the padding of the last block.
// RUN: not tp-opt %t/unguarded.mlir --tp-verify-against="whole=%t/whole.mlir trials=4" -o %t/out 2>&1 | FileCheck %s --check-prefix=UNGUARDED
// UNGUARDED: error: [TP0705] function 'lookup', result #0: element [{{.*}}, 0] is 1, but in the whole program it is 0 ({{.*}})

//--- whole.mlir
func.func @lookup(%table: tensor<10x4xf32>, %ids: tensor<7xi32>) -> tensor<7x4xf32> {
  %one = tp.constant dense<1.0> : tensor<10x4xf32>
  %t = tp.add %table, %one : tensor<10x4xf32>
  %y = tp.embedding %t, %ids : (tensor<10x4xf32>, tensor<7xi32>) -> tensor<7x4xf32>
  return %y : tensor<7x4xf32>
}

//--- local.mlir
spmd.mesh @mesh <["x"=4]>
!t = tensor<3x4xf32, #spmd.local<@mesh, [{"x"}, {}], global=[10, 4]>>
!i = tensor<7xi32, #spmd.local<@mesh, [{}], global=[7]>>
!b = tensor<7xi1, #spmd.local<@mesh, [{}], global=[7]>>
!p = tensor<7x4xf32, #spmd.local<@mesh, [{}, {}], unreduced={"x"}, global=[7, 4]>>
!y = tensor<7x4xf32, #spmd.local<@mesh, [{}, {}], global=[7, 4]>>
func.func @lookup(%table: !t, %ids: !i) -> !y {
  %one = tp.constant dense<1.0> : tensor<3x4xf32> as !t
  %t = tp.add %table, %one : !t
  %place = spmd.axis_index @mesh {"x"} : tensor<i32>
  %block = tp.constant dense<3> : tensor<i32>
  %begin = tp.mul %place, %block : tensor<i32>
  %begins = tp.broadcast %begin dims = [] : tensor<i32> -> !i
  %shifted = tp.sub %ids, %begins : !i
  %size = tp.constant dense<10> : tensor<7xi32> as !i
  %none = tp.constant dense<-1> : tensor<7xi32> as !i
  %inside = tp.compare lt %ids, %size : (!i, !i) -> !b
  %own = tp.select %inside, %shifted, %none : (!b, !i, !i) -> !i
  %p = tp.embedding %t, %own : (!t, !i) -> !p
  %y = spmd.all_reduce %p {"x"} in <@mesh, [{}, {}], unreduced={"x"}> out <@mesh, [{}, {}]> : !p -> !y
  return %y : !y
}

//--- unguarded.mlir
spmd.mesh @mesh <["x"=4]>
!t = tensor<3x4xf32, #spmd.local<@mesh, [{"x"}, {}], global=[10, 4]>>
!i = tensor<7xi32, #spmd.local<@mesh, [{}], global=[7]>>
!p = tensor<7x4xf32, #spmd.local<@mesh, [{}, {}], unreduced={"x"}, global=[7, 4]>>
func.func @lookup(%table: !t, %ids: !i) -> !p {
  %one = tp.constant dense<1.0> : tensor<3x4xf32> as !t
  %t = tp.add %table, %one : !t
  %place = spmd.axis_index @mesh {"x"} : tensor<i32>
  %block = tp.constant dense<3> : tensor<i32>
  %begin = tp.mul %place, %block : tensor<i32>
  %begins = tp.broadcast %begin dims = [] : tensor<i32> -> !i
  %shifted = tp.sub %ids, %begins : !i
  %p = tp.embedding %t, %shifted : (!t, !i) -> !p
  return %p : !p
}
