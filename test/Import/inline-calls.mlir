// RUN: tp-opt %s --tp-inline-calls | FileCheck %s

// Calls, also in regions, are replaced by bodies; a private function without
// callers goes, a public one stays.

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[A:.*]] = tp.exp %[[X]]
  // CHECK-NEXT: %[[B:.*]] = tp.exp %[[A]]
  // CHECK-NEXT: %[[C:.*]] = tp.tanh %[[B]]
  // CHECK-NEXT: return %[[C]]
  %0 = func.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @entry(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @entry
// CHECK-NEXT: tp.tanh
func.func @entry(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tp.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// What something names that is in use stays, and so does what that names.
// CHECK-LABEL: func.func @names
func.func @names() -> ((tensor<4xf32>) -> tensor<4xf32>) {
  %0 = func.constant @named : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : (tensor<4xf32>) -> tensor<4xf32>
}

// CHECK-LABEL: func.func private @named
// CHECK-NEXT: tp.exp
// CHECK-NEXT: call @named
func.func private @named(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @once(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @named(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-NOT: func.func
func.func private @endless(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @endless(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @once(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @once(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

func.func private @once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tp.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
