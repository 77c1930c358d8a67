// RUN: tp-opt %s --tp-lower-to-step | FileCheck %s

// Grouped-query attention: a product per head, with the keys repeated over a
// group by a stride of 0; scale, mask and softmax in one program; the second
// product writes the result's own layout, so nothing is copied.

// CHECK-LABEL: step.program @attention
// CHECK-NOT:   step.copy
// CHECK:       step.matmul {{.*}}memref<2x3x2x16x64xf32
// CHECK:       step.rows
// CHECK-SAME:  writes
// CHECK:         step.reduce max
// CHECK:         math.exp
// CHECK:         step.reduce sum
// CHECK:       step.matmul
// CHECK-NOT:   step.copy

func.func @attention(%q: tensor<2x16x3x2x64xf32>, %k: tensor<2x24x3x64xf32>, %v: tensor<2x24x3x64xf32>, %p: tensor<i32>)
    -> tensor<2x16x3x2x64xf32> {
  %o = tp.attention %q, %k, %v offset(%p : tensor<i32>) {causal, scale = 0.125 : f64}
      : (tensor<2x16x3x2x64xf32>, tensor<2x24x3x64xf32>, tensor<2x24x3x64xf32>) -> tensor<2x16x3x2x64xf32>
  return %o : tensor<2x16x3x2x64xf32>
}
