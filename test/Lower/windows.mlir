// RUN: tp-opt %s --tp-lower-to-step | FileCheck %s

// A convolution along one dimension reads windows of many sequences where they are: rows
// of 3 times 8 numbers that begin 8 apart. What surrounds the input is written once.
// CHECK-LABEL: step.program @line
// CHECK: %[[X:.*]] = step.alloc : memref<32x18x8xf32>
// CHECK-COUNT-3: step.copy
// CHECK-NOT: step.copy
// CHECK: step.view %[[X]] : memref<32x18x8xf32> as memref<1x1x16x32x24xf32, strided<[0, 0, 8, 144, 1]>>
// CHECK: step.matmul
func.func @line(%x: tensor<32x16x8xf32>, %k: tensor<3x8x8xf32>) -> tensor<32x16x8xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %w = tp.window %x, %zero dims = [1] low = [1] strides = [1] dilations = [1] : (tensor<32x16x8xf32>, tensor<f32>) -> tensor<32x16x3x8xf32>
  %y = tp.einsum "nhkc,kcm->nhm" %w, %k : (tensor<32x16x3x8xf32>, tensor<3x8x8xf32>) -> tensor<32x16x8xf32>
  return %y : tensor<32x16x8xf32>
}

// Of every feature by itself, products are added one by one.
// CHECK-LABEL: step.program @depthwise
// CHECK-NOT: step.matmul
// CHECK: step.rows
// CHECK-COUNT-9: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK-NOT: step.copy
func.func @depthwise(%x: tensor<18x18x8xf32>, %k: tensor<3x3x8xf32>) -> tensor<16x16x8xf32> {
  %w = tp.window %x dims = [0, 1] low = [0, 0] strides = [1, 1] dilations = [1, 1] : (tensor<18x18x8xf32>) -> tensor<16x3x16x3x8xf32>
  %y = tp.einsum "hkwlc,klc->hwc" %w, %k : (tensor<16x3x16x3x8xf32>, tensor<3x3x8xf32>) -> tensor<16x16x8xf32>
  return %y : tensor<16x16x8xf32>
}

// Narrow floats are added in f32.
// CHECK-LABEL: step.program @narrow
// CHECK: step.rows
// CHECK: arith.addf %{{.*}} : f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @narrow(%x: tensor<18x8xbf16>, %k: tensor<3x8xbf16>) -> tensor<16x8xbf16> {
  %w = tp.window %x dims = [0] low = [0] strides = [1] dilations = [1] : (tensor<18x8xbf16>) -> tensor<16x3x8xbf16>
  %y = tp.einsum "hkc,kc->hc" %w, %k : (tensor<16x3x8xbf16>, tensor<3x8xbf16>) -> tensor<16x8xbf16>
  return %y : tensor<16x8xbf16>
}

// Three image dimensions and groups are more than one copy takes.
// CHECK-LABEL: step.program @volume
// CHECK: step.matmul
func.func @volume(%x: tensor<2x7x7x7x2x3xf32>, %k: tensor<3x3x3x2x3x5xf32>) -> tensor<2x5x5x5x2x5xf32> {
  %w = tp.window %x dims = [1, 2, 3] low = [0, 0, 0] strides = [1, 1, 1] dilations = [1, 1, 1] : (tensor<2x7x7x7x2x3xf32>) -> tensor<2x5x3x5x3x5x3x2x3xf32>
  %y = tp.einsum "nAaBbCcgi,abcgio->nABCgo" %w, %k : (tensor<2x5x3x5x3x5x3x2x3xf32>, tensor<3x3x3x2x3x5xf32>) -> tensor<2x5x5x5x2x5xf32>
  return %y : tensor<2x5x5x5x2x5xf32>
}
