// RUN: tp-opt %s --verify-roundtrip | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

// A counted loop that carries a value, and one that carries none.
// CHECK-LABEL: func.func @for
func.func @for(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // CHECK: tp.for 12(%{{.+}}) {
  // CHECK-NEXT: ^bb0(%{{.+}}: tensor<i32>, %[[H:.+]]: tensor<4x16xf32>):
  // CHECK-NEXT: %[[Y:.+]] = tp.tanh %[[H]]
  // CHECK-NEXT: tp.yield %[[Y]] : tensor<4x16xf32>
  // CHECK-NEXT: } : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %r = tp.for 12 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<4x16xf32>):
    %y = tp.tanh %h : tensor<4x16xf32>
    tp.yield %y : tensor<4x16xf32>
  } : (tensor<4x16xf32>) -> tensor<4x16xf32>
  // CHECK: tp.for 0() {
  tp.for 0 () {
  ^bb0(%i: tensor<i32>):
    tp.yield
  } : () -> ()
  return %r : tensor<4x16xf32>
}

// A loop that runs while its condition holds.
// CHECK-LABEL: func.func @while
func.func @while(%i: tensor<i32>, %end: tensor<i32>) -> tensor<i32> {
  // CHECK: tp.while(%{{.+}}) cond {
  // CHECK: tp.yield %{{.+}} : tensor<i1>
  // CHECK: } do {
  // CHECK: tp.yield %{{.+}} : tensor<i32>
  // CHECK: } : (tensor<i32>) -> tensor<i32>
  %r = tp.while (%i) cond {
  ^bb0(%n: tensor<i32>):
    %m = tp.compare lt %n, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tp.yield %m : tensor<i1>
  } do {
  ^bb0(%n: tensor<i32>):
    %next = tp.add %n, %n : tensor<i32>
    tp.yield %next : tensor<i32>
  } : (tensor<i32>) -> tensor<i32>
  return %r : tensor<i32>
}

// Branches by a condition and by a number.
// CHECK-LABEL: func.func @case
func.func @case(%p: tensor<i1>, %n: tensor<i64>, %a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: tp.case %{{.+}} {
  // CHECK: }, {
  // CHECK: } : (tensor<i1>) -> tensor<4xf32>
  %r = tp.case %p {
    tp.yield %a : tensor<4xf32>
  }, {
    %b = tp.neg %a : tensor<4xf32>
    tp.yield %b : tensor<4xf32>
  } : (tensor<i1>) -> tensor<4xf32>
  // CHECK: tp.case %{{.+}} {
  // CHECK: } : (tensor<i64>) -> ()
  tp.case %n {
    tp.yield
  } : (tensor<i64>) -> ()
  return %r : tensor<4xf32>
}
