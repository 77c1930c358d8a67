// RUN: tp-opt %s --tp-raise --split-input-file | FileCheck %s

// Softmax along any dim is raised, with and without the maximum taken off; a quotient by
// another sum is none.

// CHECK-LABEL: func.func @stable
// CHECK-SAME: %[[X:.*]]: tensor<3x5xf32>
// CHECK-NEXT: %[[Y:.*]] = tp.softmax %[[X]] dim = 0
// CHECK-NEXT: return %[[Y]]
func.func @stable(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %max = tp.reduce max %x dims = [0] : tensor<3x5xf32> -> tensor<5xf32>
  %lowest = tp.constant dense<0xFF800000> : tensor<5xf32>
  %guard = tp.max %lowest, %max : tensor<5xf32>
  %wide = tp.broadcast %guard dims = [1] : tensor<5xf32> -> tensor<3x5xf32>
  %shifted = tp.sub %x, %wide : tensor<3x5xf32>
  %exp = tp.exp %shifted : tensor<3x5xf32>
  %sum = tp.reduce sum %exp dims = [0] : tensor<3x5xf32> -> tensor<5xf32>
  %sums = tp.broadcast %sum dims = [1] : tensor<5xf32> -> tensor<3x5xf32>
  %y = tp.div %exp, %sums : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// What is taken off along another dim is part of the input.
// CHECK-LABEL: func.func @other_max
// CHECK: %[[S:.*]] = tp.sub
// CHECK-NEXT: tp.softmax %[[S]] dim = 1
func.func @other_max(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %max = tp.reduce max %x dims = [0] : tensor<3x5xf32> -> tensor<5xf32>
  %wide = tp.broadcast %max dims = [1] : tensor<5xf32> -> tensor<3x5xf32>
  %shifted = tp.sub %x, %wide : tensor<3x5xf32>
  %exp = tp.exp %shifted : tensor<3x5xf32>
  %sum = tp.reduce sum %exp dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %sums = tp.broadcast %sum dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %y = tp.div %exp, %sums : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// CHECK-LABEL: func.func @wrong_axis
// CHECK-NOT: tp.softmax
func.func @wrong_axis(%x: tensor<5x5xf32>) -> tensor<5x5xf32> {
  %exp = tp.exp %x : tensor<5x5xf32>
  %sum = tp.reduce sum %exp dims = [1] : tensor<5x5xf32> -> tensor<5xf32>
  %sums = tp.broadcast %sum dims = [1] : tensor<5xf32> -> tensor<5x5xf32>
  %y = tp.div %exp, %sums : tensor<5x5xf32>
  return %y : tensor<5x5xf32>
}

// -----

// CHECK-LABEL: func.func @sum_used
// CHECK-NOT: tp.softmax
func.func @sum_used(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3xf32>) {
  %exp = tp.exp %x : tensor<3x5xf32>
  %sum = tp.reduce sum %exp dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %sums = tp.broadcast %sum dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %y = tp.div %exp, %sums : tensor<3x5xf32>
  return %y, %sum : tensor<3x5xf32>, tensor<3xf32>
}

// -----

// In a loop's body, too.
// CHECK-LABEL: func.func @loop
// CHECK: tp.for
// CHECK: ^bb0
// CHECK-NEXT: tp.softmax
func.func @loop(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = tp.for 4 (%x) {
  ^bb0(%i: tensor<i32>, %a: tensor<3x5xf32>):
    %exp = tp.exp %a : tensor<3x5xf32>
    %sum = tp.reduce sum %exp dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
    %sums = tp.broadcast %sum dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
    %y = tp.div %exp, %sums : tensor<3x5xf32>
    tp.yield %y : tensor<3x5xf32>
  } : (tensor<3x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
