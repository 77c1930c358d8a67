// RUN: tp-opt %s --tp-lower-to-step --split-input-file | FileCheck %s

// Queries and keys are rotated by one kernel, which stores the keys in the cache.
// CHECK-LABEL: step.program @rotate
// CHECK:       step.matmul
// CHECK:       step.together reads(
// CHECK:         step.rows [{{.*}}] reads(
// CHECK-COUNT-2: step.store
// CHECK:         step.rows [{{.*}}] reads(
// CHECK-COUNT-2: step.store
// CHECK-NOT:   step.rows
func.func @rotate(%keys: tensor<1x9x3x8xf32> {tp.donated = 0 : i64}, %x: tensor<1x1x16xf32>, %w: tensor<16x9x8xf32>, %cos: tensor<1x4xf32>, %sin: tensor<1x4xf32>, %p: tensor<i32>) -> (tensor<1x9x3x8xf32>, tensor<1x1x6x8xf32>) {
  %y = tp.einsum "bsd,dhf->bshf" %x, %w : (tensor<1x1x16xf32>, tensor<16x9x8xf32>) -> tensor<1x1x9x8xf32>
  %q = tp.slice %y starts = [0, 0, 0, 0] strides = [1, 1, 1, 1] : tensor<1x1x9x8xf32> -> tensor<1x1x6x8xf32>
  %k = tp.slice %y starts = [0, 0, 6, 0] strides = [1, 1, 1, 1] : tensor<1x1x9x8xf32> -> tensor<1x1x3x8xf32>
  %zero = tp.constant dense<0> : tensor<i32>
  %0 = tp.rotary %q, %cos, %sin : (tensor<1x1x6x8xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x1x6x8xf32>
  %1 = tp.rotary %k, %cos, %sin : (tensor<1x1x3x8xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x1x3x8xf32>
  %2 = tp.dynamic_update_slice %keys, %1 [%zero, %p, %zero, %zero] : (tensor<1x9x3x8xf32>, tensor<1x1x3x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x9x3x8xf32>
  return %2, %0 : tensor<1x9x3x8xf32>, tensor<1x1x6x8xf32>
}

// -----

// Apart: what reads what the other writes, what has reductions, and what reads
// nothing that the other does.
// CHECK-LABEL: step.program @apart
// CHECK-NOT:   step.together
func.func @apart(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %z: tensor<2x8xf32>) -> (tensor<4x8xf32>, tensor<2x8xf32>, tensor<4xf32>, tensor<2x8xf32>) {
  %y = tp.einsum "xd,dh->xh" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %0 = tp.exp %y : tensor<4x8xf32>
  %1 = tp.slice %0 starts = [1, 0] strides = [2, 1] : tensor<4x8xf32> -> tensor<2x8xf32>
  %2 = tp.sub %1, %z : tensor<2x8xf32>
  %3 = tp.reduce sum %y dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %4 = tp.exp %z : tensor<2x8xf32>
  return %0, %2, %3, %4 : tensor<4x8xf32>, tensor<2x8xf32>, tensor<4xf32>, tensor<2x8xf32>
}
