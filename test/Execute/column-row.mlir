// A Megatron MLP: the first weight cut by columns, the second by rows, one sum
// at the end. The device program computes what the whole one does, exactly.
//
// RUN: split-file %s %t
// RUN: tp-opt %t/local.mlir --tp-verify-against="whole=%t/whole.mlir trials=3" | FileCheck %s
// CHECK-LABEL: func.func @mlp

// Without the sum, devices hold addends where copies are promised.
// RUN: not tp-opt %t/no-sum.mlir --tp-verify-against=whole=%t/whole.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=NO-SUM
// NO-SUM: error: [TP0702] function 'mlp', result #0: device {{[0-9]+}} holds {{.*}} at index [0, 0], but device 0 holds {{.*}} there, and both must hold copies of one value
// NO-SUM: remark: the programs first differ at "y": the copies of this value differ between devices
// NO-SUM: whole.mlir:{{.*}}: note: this is the value in the whole program

// Devices are called as the mesh calls them.
// RUN: sed 's/"model"=4\]/"model"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]/' %t/no-sum.mlir > %t/turned.mlir
// RUN: not tp-opt %t/turned.mlir --tp-verify-against=whole=%t/whole.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=TURNED
// TURNED: device {{[0-6]}} holds {{.*}} at index [0, 0], but device 7 holds {{.*}} there

// Summed over the axis of the batch instead: every device agrees on the wrong
// value.
// RUN: not tp-opt %t/wrong-axis.mlir --tp-verify-against=whole=%t/whole.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=WRONG-AXIS
// WRONG-AXIS: error: [TP0210] 'spmd.all_reduce' op

// The second weight twice: named are function, result, place and both values,
// and the first op that is wrong.
// RUN: not tp-opt %t/wrong-value.mlir --tp-verify-against=whole=%t/whole.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=WRONG-VALUE
// WRONG-VALUE: wrong-value.mlir:{{.*}}: error: [TP0705] function 'mlp', result #0 ("y"): element [0, 0] is {{.*}}, but in the whole program it is {{.*}} elements differ)
// WRONG-VALUE: whole.mlir:{{.*}}: note: this is the whole program; seed 1, trial 0
// WRONG-VALUE: wrong-value.mlir:{{.*}}: remark: the programs first differ at "h": element [0, 0] is

//--- whole.mlir
func.func @mlp(%x: tensor<4x6xf32> {tp.name = "x"}, %w1: tensor<6x8xf32> {tp.name = "w1"},
               %w2: tensor<8x6xf32> {tp.name = "w2"}) -> (tensor<4x6xf32> {tp.name = "y"}) {
  %h = tp.einsum "bi,io->bo" %x, %w1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32> loc("h")
  %a = tp.relu %h : tensor<4x8xf32> loc("a")
  %y = tp.einsum "bo,oi->bi" %a, %w2 : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> loc("y")
  return %y : tensor<4x6xf32>
}

//--- local.mlir
spmd.mesh @mesh <["data"=2, "model"=4]>
!x = tensor<2x6xf32, #spmd.local<@mesh, [{"data"}, {}], global=[4, 6]>>
!w1 = tensor<6x2xf32, #spmd.local<@mesh, [{}, {"model"}], global=[6, 8]>>
!w2 = tensor<2x6xf32, #spmd.local<@mesh, [{"model"}, {}], global=[8, 6]>>
!h = tensor<2x2xf32, #spmd.local<@mesh, [{"data"}, {"model"}], global=[4, 8]>>
!p = tensor<2x6xf32, #spmd.local<@mesh, [{"data"}, {}], unreduced={"model"}, global=[4, 6]>>
// Arguments in another order: names decide.
func.func @mlp(%w2: !w2 {tp.name = "w2"}, %w1: !w1 {tp.name = "w1"}, %x: !x {tp.name = "x"}) -> !x {
  %h = tp.einsum "bi,io->bo" %x, %w1 : (!x, !w1) -> !h loc("h")
  %a = tp.relu %h : !h loc("a")
  %p = tp.einsum "bo,oi->bi" %a, %w2 : (!h, !w2) -> !p loc("y")
  %y = spmd.all_reduce %p {"model"} in <@mesh, [{"data"}, {}], unreduced={"model"}> out <@mesh, [{"data"}, {}]> : !p -> !x loc("y")
  return %y : !x
}

//--- no-sum.mlir
spmd.mesh @mesh <["data"=2, "model"=4]>
!x = tensor<2x6xf32, #spmd.local<@mesh, [{"data"}, {}], global=[4, 6]>>
!w1 = tensor<6x2xf32, #spmd.local<@mesh, [{}, {"model"}], global=[6, 8]>>
!w2 = tensor<2x6xf32, #spmd.local<@mesh, [{"model"}, {}], global=[8, 6]>>
!h = tensor<2x2xf32, #spmd.local<@mesh, [{"data"}, {"model"}], global=[4, 8]>>
func.func @mlp(%x: !x, %w1: !w1, %w2: !w2) -> !x {
  %h = tp.einsum "bi,io->bo" %x, %w1 : (!x, !w1) -> !h loc("h")
  %a = tp.relu %h : !h loc("a")
  %y = tp.einsum "bo,oi->bi" %a, %w2 : (!h, !w2) -> !x loc("y")
  return %y : !x
}

//--- wrong-axis.mlir
spmd.mesh @mesh <["data"=2, "model"=4]>
!x = tensor<2x6xf32, #spmd.local<@mesh, [{"data"}, {}], global=[4, 6]>>
!p = tensor<2x6xf32, #spmd.local<@mesh, [{"data"}, {}], unreduced={"model"}, global=[4, 6]>>
func.func @mlp(%p: !p) -> !x {
  %y = spmd.all_reduce %p {"data"} in <@mesh, [{"data"}, {}], unreduced={"model"}> out <@mesh, [{"data"}, {}]> : !p -> !x
  return %y : !x
}

//--- wrong-value.mlir
spmd.mesh @mesh <["data"=2, "model"=4]>
!x = tensor<2x6xf32, #spmd.local<@mesh, [{"data"}, {}], global=[4, 6]>>
!w1 = tensor<6x2xf32, #spmd.local<@mesh, [{}, {"model"}], global=[6, 8]>>
!w2 = tensor<2x6xf32, #spmd.local<@mesh, [{"model"}, {}], global=[8, 6]>>
!h = tensor<2x2xf32, #spmd.local<@mesh, [{"data"}, {"model"}], global=[4, 8]>>
!p = tensor<2x6xf32, #spmd.local<@mesh, [{"data"}, {}], unreduced={"model"}, global=[4, 6]>>
func.func @mlp(%x: !x, %w1: !w1, %w2: !w2) -> (!x {tp.name = "y"}) {
  %t = tp.transpose %w2 [1, 0] : !w2 -> !w1
  %h = tp.einsum "bi,io->bo" %x, %t : (!x, !w1) -> !h loc("h")
  %a = tp.relu %h : !h loc("a")
  %p = tp.einsum "bo,oi->bi" %a, %w2 : (!h, !w2) -> !p loc("y")
  %y = spmd.all_reduce %p {"model"} in <@mesh, [{"data"}, {}], unreduced={"model"}> out <@mesh, [{"data"}, {}]> : !p -> !x loc("y")
  return %y : !x
}
