// Loops, branches, calls and manual regions, on all devices in lockstep.
//
// RUN: split-file %s %t
// RUN: tp-opt %t/local.mlir --tp-verify-against="whole=%t/whole.mlir trials=4" | FileCheck %s
// CHECK-LABEL: func.func @loops
// CHECK-LABEL: func.func @ring
// CHECK-LABEL: func.func @local_ring
// CHECK-LABEL: func.func @own_ways

// Devices that have taken different ways do not meet.
// RUN: not tp-opt %t/divergent.mlir --tp-verify-against=whole=%t/divergent-whole.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=DIVERGENT
// DIVERGENT: error: [TP0703] device 1 waits forever for device 0, which took a different branch or left the loop
// RUN: sed 's/"x"=2\]/"x"=2], device_ids=[1, 0]/' %t/divergent.mlir > %t/turned.mlir
// RUN: not tp-opt %t/turned.mlir --tp-verify-against=whole=%t/divergent-whole.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=TURNED
// TURNED: error: [TP0703] device 0 waits forever for device 1, which took a different branch or left the loop

//--- whole.mlir
func.func private @double(%x: tensor<6xf32>) -> tensor<6xf32> {
  %y = tp.add %x, %x : tensor<6xf32>
  return %y : tensor<6xf32>
}
func.func @loops(%x: tensor<6xf32>, %n: tensor<i32>, %p: tensor<i1>) -> (tensor<6xf32>, tensor<i32>) {
  %a = tp.for 3 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<6xf32>):
    %f = tp.convert %i : tensor<i32> -> tensor<f32>
    %fs = tp.broadcast %f dims = [] : tensor<f32> -> tensor<6xf32>
    %d = func.call @double(%h) : (tensor<6xf32>) -> tensor<6xf32>
    %next = tp.add %d, %fs : tensor<6xf32>
    tp.yield %next : tensor<6xf32>
  } : (tensor<6xf32>) -> tensor<6xf32>
  %one = tp.constant dense<1> : tensor<i32>
  %nine = tp.constant dense<9> : tensor<i32>
  %m = tp.while (%n) cond {
  ^bb0(%c: tensor<i32>):
    %more = tp.compare lt %c, %nine : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tp.yield %more : tensor<i1>
  } do {
  ^bb0(%c: tensor<i32>):
    %next = tp.add %c, %one : tensor<i32>
    tp.yield %next : tensor<i32>
  } : (tensor<i32>) -> tensor<i32>
  %r = tp.case %p {
    tp.yield %x : tensor<6xf32>
  }, {
    tp.yield %a : tensor<6xf32>
  } : (tensor<i1>) -> tensor<6xf32>
  return %r, %m : tensor<6xf32>, tensor<i32>
}
func.func @ring(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tp.slice %x starts = [0] strides = [1] : tensor<8xf32> -> tensor<6xf32>
  %b = tp.slice %x starts = [6] strides = [1] : tensor<8xf32> -> tensor<2xf32>
  %r = tp.concat %b, %a dim = 0 : (tensor<2xf32>, tensor<6xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func @local_ring(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = tp.slice %x starts = [0] strides = [1] : tensor<8xf32> -> tensor<6xf32>
  %b = tp.slice %x starts = [6] strides = [1] : tensor<8xf32> -> tensor<2xf32>
  %r = tp.concat %b, %a dim = 0 : (tensor<2xf32>, tensor<6xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func @own_ways(%x: tensor<4xf32>) -> tensor<4xf32> {
  %factors = tp.constant dense<[2.0, 2.0, 8.0, 4.0]> : tensor<4xf32>
  %r = tp.mul %x, %factors : tensor<4xf32>
  return %r : tensor<4xf32>
}

//--- local.mlir
spmd.mesh @mesh <["x"=4]>
!x = tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[6]>>
!i = tensor<i32, #spmd.local<@mesh, [], global=[]>>
!f = tensor<f32, #spmd.local<@mesh, [], global=[]>>
!b = tensor<i1, #spmd.local<@mesh, [], global=[]>>
func.func private @double(%x: !x) -> !x {
  %y = tp.add %x, %x : !x
  return %y : !x
}
func.func @loops(%x: !x, %n: !i, %p: !b) -> (!x, !i) {
  %a = tp.for 3 (%x) {
  ^bb0(%i: tensor<i32>, %h: !x):
    %f = tp.convert %i : tensor<i32> -> tensor<f32>
    %fs = tp.broadcast %f dims = [] : tensor<f32> -> !x
    %d = func.call @double(%h) : (!x) -> !x
    %next = tp.add %d, %fs : !x
    tp.yield %next : !x
  } : (!x) -> !x
  %one = tp.constant dense<1> : tensor<i32> as !i
  %nine = tp.constant dense<9> : tensor<i32> as !i
  %m = tp.while (%n) cond {
  ^bb0(%c: !i):
    %more = tp.compare lt %c, %nine : (!i, !i) -> tensor<i1>
    tp.yield %more : tensor<i1>
  } do {
  ^bb0(%c: !i):
    %next = tp.add %c, %one : !i
    tp.yield %next : !i
  } : (!i) -> !i
  %r = tp.case %p {
    tp.yield %x : !x
  }, {
    tp.yield %a : !x
  } : (!b) -> !x
  return %r, %m : !x, !i
}
// A whole program with a manual region, and the same value without one.
func.func @ring(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = spmd.manual (%x) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x"} {
  ^bb0(%a: tensor<2xf32>):
    %b = spmd.shift %a along @mesh {"x"} by 1 wrap : tensor<2xf32>
    spmd.return %b : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
// A local program may keep one, too.
!r = tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[8]>>
func.func @local_ring(%x: !r) -> !r {
  %r = spmd.manual (%x) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x"} {
  ^bb0(%a: tensor<2xf32>):
    %b = spmd.shift %a along @mesh {"x"} by 1 wrap : tensor<2xf32>
    spmd.return %b : tensor<2xf32>
  } : (!r) -> !r
  return %r : !r
}

// Devices go ways of their own: those at the second place of "x" meet along "y",
// and leave the loop one after the other.
spmd.mesh @grid <["x"=2, "y"=2]>
func.func @own_ways(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = spmd.manual (%x) in [<@grid, [{"x", "y"}]>] out [<@grid, [{"x", "y"}]>] axes {"x", "y"} {
  ^bb0(%a: tensor<1xf32>):
    %row = spmd.axis_index @grid {"x"} : tensor<i32>
    %place = spmd.axis_index @grid {"y"} : tensor<i32>
    %double = tp.add %a, %a : tensor<1xf32>
    %b = tp.case %row {
      tp.yield %double : tensor<1xf32>
    }, {
      %one = spmd.all_reduce %place {"y"} in <@grid, [], unreduced={"y"}> out <@grid, []> : tensor<i32> -> tensor<i32>
      %three = tp.constant dense<3> : tensor<i32>
      %end:2 = tp.while (%place, %a) cond {
      ^bb0(%i: tensor<i32>, %c: tensor<1xf32>):
        %more = tp.compare lt %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
        tp.yield %more : tensor<i1>
      } do {
      ^bb0(%i: tensor<i32>, %c: tensor<1xf32>):
        %next = tp.add %i, %one : tensor<i32>
        %d = tp.add %c, %c : tensor<1xf32>
        tp.yield %next, %d : tensor<i32>, tensor<1xf32>
      } : (tensor<i32>, tensor<1xf32>) -> (tensor<i32>, tensor<1xf32>)
      tp.yield %end#1 : tensor<1xf32>
    } : (tensor<i32>) -> tensor<1xf32>
    spmd.return %b : tensor<1xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

//--- divergent-whole.mlir
func.func @f(%x: tensor<i32>) -> tensor<i32> {
  return %x : tensor<i32>
}

//--- divergent.mlir
spmd.mesh @mesh <["x"=2]>
!i = tensor<i32, #spmd.local<@mesh, [], global=[]>>
func.func @f(%x: !i) -> !i {
  %zero = tp.constant dense<0> : tensor<i32>
  %place = spmd.axis_index @mesh {"x"} : tensor<i32>
  %r = tp.while (%place) cond {
  ^bb0(%c: tensor<i32>):
    %more = tp.compare gt %c, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tp.yield %more : tensor<i1>
  } do {
  ^bb0(%c: tensor<i32>):
    %next = spmd.shift %zero along @mesh {"x"} by 1 wrap : tensor<i32>
    tp.yield %next : tensor<i32>
  } : (tensor<i32>) -> tensor<i32>
  return %x : !i
}
