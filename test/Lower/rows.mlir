// RUN: tp-opt %s --tp-lower-to-step | FileCheck %s

// A norm is one program: nothing but the input, the scale and the result is in
// memory.
// CHECK-LABEL: step.program @rms_norm
// CHECK:       step.rows [6, 16] reads(%{{.*}}, %{{.*}} : memref<6x16xf32>, memref<6x16xf32, strided<[0, 1]>>) writes(%{{.*}} : memref<6x16xf32>)
// CHECK:         %[[X:.*]] = step.load
// CHECK:         step.reduce sum
// CHECK:         math.sqrt
// CHECK:         arith.mulf %[[X]]
// CHECK:         step.store
// CHECK-NOT:   step.rows
func.func @rms_norm(%x: tensor<2x3x16xf32>, %g: tensor<16xf32>) -> tensor<2x3x16xf32> {
  %0 = tp.rms_norm %x, %g epsilon = 1.0e-5 : (tensor<2x3x16xf32>, tensor<16xf32>) -> tensor<2x3x16xf32>
  return %0 : tensor<2x3x16xf32>
}

// So is softmax, along any dimension: rows are read with strides.
// CHECK-LABEL: step.program @softmax
// CHECK-NOT:   step.copy
// CHECK:       step.rows [4, 3] reads({{.*}} : memref<4x3xf32, strided<[1, 4]>>)
// CHECK:         step.reduce max
// CHECK-LABEL: step.program @wide_softmax
// CHECK:       step.rows
// CHECK:         step.reduce max
// CHECK:         math.exp
// CHECK:         step.reduce sum
// CHECK:         arith.divf
// CHECK-NOT:   step.rows
func.func @softmax(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = tp.softmax %x dim = 0 : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
func.func @wide_softmax(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = tp.softmax %x dim = 1 : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// A value that two programs need is written once; one that a program keeps to
// itself is not.
// CHECK-LABEL: step.program @shared
// CHECK:       step.rows [16] reads(%{{.*}} : memref<16xf32>) writes(%{{.*}}, %{{.*}} : memref<16xf32>, memref<16xf32>)
// CHECK:         math.exp
// CHECK:         math.tanh
// CHECK-NOT:   step.rows
// CHECK-NOT:   step.copy
func.func @shared(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0 = tp.exp %x : tensor<16xf32>
  %1 = tp.neg %0 : tensor<16xf32>
  %2 = tp.tanh %1 : tensor<16xf32>
  return %0, %2 : tensor<16xf32>, tensor<16xf32>
}

// Not by way of something outside: the product stands between the two programs.
// CHECK-LABEL: step.program @detour
// CHECK:       step.rows
// CHECK:       step.matmul
// CHECK:       step.rows
func.func @detour(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tp.exp %x : tensor<4x4xf32>
  %1 = tp.einsum "ik,kj->ij" %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = tp.exp %1 : tensor<4x4xf32>
  %3 = tp.add %0, %2 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// A lookup is clamped and masked: an id outside gives zeros.
// CHECK-LABEL: step.program @embedding
// CHECK:       step.rows [6, 3]
// CHECK:         step.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<7x3xf32>
// CHECK:         arith.select
func.func @embedding(%table: tensor<7x3xf32>, %ids: tensor<2x3xi32>) -> tensor<2x3x3xf32> {
  %y = tp.embedding %table, %ids : (tensor<7x3xf32>, tensor<2x3xi32>) -> tensor<2x3x3xf32>
  return %y : tensor<2x3x3xf32>
}

// A donated cache is written where it is, and only in the new place.
// CHECK-LABEL: step.program @cache
// CHECK-SAME:  outputs [#step.output<"result0", tensor<64x16xf32>, alias = 0>] positions 64
// CHECK:       ^bb0(%[[CACHE:.*]]: memref<64x16xf32>, %[[NEW:.*]]: memref<1x16xf32>
// CHECK:       step.rows [1, 16] reads({{.*}}) writes(%[[CACHE]] : memref<64x16xf32>)
// CHECK:         step.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}]
// CHECK-NOT:   step.copy
func.func @cache(%c: tensor<64x16xf32> {tp.donated = 0 : i64}, %new: tensor<1x16xf32>, %p: tensor<i32>) -> tensor<64x16xf32> {
  %zero = tp.constant dense<0> : tensor<i32>
  %0 = tp.dynamic_update_slice %c, %new [%p, %zero] : (tensor<64x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}

// Where the old cache is still read, it is copied first.
// CHECK-LABEL: step.program @cache_read
// CHECK:       step.copy
// CHECK:       step.rows [1, 16]
func.func @cache_read(%c: tensor<64x16xf32> {tp.donated = 0 : i64}, %new: tensor<1x16xf32>, %p: tensor<i32>) -> (tensor<64x16xf32>, tensor<64x16xf32>) {
  %zero = tp.constant dense<0> : tensor<i32>
  %0 = tp.dynamic_update_slice %c, %new [%p, %zero] : (tensor<64x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
  %1 = tp.exp %c : tensor<64x16xf32>
  return %0, %1 : tensor<64x16xf32>, tensor<64x16xf32>
}
