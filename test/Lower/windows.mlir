// RUN: tp-opt %s --tp-lower-to-step | FileCheck %s
// RUN: tp-opt %s --tp-lower-to-step=target=cuda | FileCheck %s --check-prefix=CUDA

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

// Windows that a product does not read where they are, are copied in blocks that stay in
// a core's cache: 22 rows of the image, as many again, and the other 20.
// CHECK-LABEL: step.program @image
// CHECK: step.loop 2 {
// CHECK-NEXT: step.alloc : memref<22x64x3x3x16xf32>
// CHECK-NEXT: step.view %{{.*}} by 23232 of loop 0
// CHECK: step.copy
// CHECK: step.view %{{.*}} by 22528 of loop 0 : memref<64x64x16xf32> as memref<1x1x1x1408x16xf32, strided<[0, 0, 0, 16, 1]>>
// CHECK-NEXT: step.matmul
// CHECK-NEXT: }
// CHECK: step.alloc : memref<20x64x3x3x16xf32>
// CHECK: step.copy
// CHECK: step.matmul
// CHECK-NOT: step.matmul
func.func @image(%x: tensor<66x66x16xf32>, %k: tensor<3x3x16x16xf32>) -> tensor<64x64x16xf32> {
  %w = tp.window %x dims = [0, 1] low = [0, 0] strides = [1, 1] dilations = [1, 1] : (tensor<66x66x16xf32>) -> tensor<64x3x64x3x16xf32>
  %y = tp.einsum "hkwlc,klcm->hwm" %w, %k : (tensor<64x3x64x3x16xf32>, tensor<3x3x16x16xf32>) -> tensor<64x64x16xf32>
  return %y : tensor<64x64x16xf32>
}

// For the gradient of the kernel, blocks are rows of it. What is contiguous in the image
// is so in the copy.
// CHECK-LABEL: step.program @kernel
// CHECK: step.loop 3 {
// CHECK: step.copy {{.*}} to memref<64x64x192xf32>
// CHECK: step.matmul {{.*}} : memref<1x1x1x192x4096xf32, strided<[0, 0, 0, 1, 192]>>
// CHECK-NEXT: }
// CHECK-NOT: step.matmul
func.func @kernel(%x: tensor<66x66x64xf32>, %g: tensor<64x64x16xf32>) -> tensor<3x3x64x16xf32> {
  %w = tp.window %x dims = [0, 1] low = [0, 0] strides = [1, 1] dilations = [1, 1] : (tensor<66x66x64xf32>) -> tensor<64x3x64x3x64xf32>
  %y = tp.einsum "hkwlc,hwm->klcm" %w, %g : (tensor<64x3x64x3x64xf32>, tensor<64x64x16xf32>) -> tensor<3x3x64x16xf32>
  return %y : tensor<3x3x64x16xf32>
}

// What moves with a loop already is copied as a whole.
// CHECK-LABEL: step.program @frames
// CHECK: step.loop 2 {
// CHECK-NOT: step.loop
// CHECK: step.alloc : memref<64x64x3x3x16xf32>
// CHECK-NOT: step.loop
func.func @frames(%x: tensor<2x66x66x16xf32>, %k: tensor<3x3x16x16xf32>) -> tensor<64x64x16xf32> {
  %zero = tp.constant dense<0> : tensor<i32>
  %none = tp.constant dense<0.0> : tensor<64x64x16xf32>
  %r = tp.for 2 (%none) {
  ^bb0(%i: tensor<i32>, %s: tensor<64x64x16xf32>):
    %frame = tp.dynamic_slice %x [%i, %zero, %zero, %zero] : (tensor<2x66x66x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x66x66x16xf32>
    %image = tp.reshape %frame : tensor<1x66x66x16xf32> -> tensor<66x66x16xf32>
    %w = tp.window %image dims = [0, 1] low = [0, 0] strides = [1, 1] dilations = [1, 1] : (tensor<66x66x16xf32>) -> tensor<64x3x64x3x16xf32>
    %y = tp.einsum "hkwlc,klcm->hwm" %w, %k : (tensor<64x3x64x3x16xf32>, tensor<3x3x16x16xf32>) -> tensor<64x64x16xf32>
    %n = tp.add %s, %y : tensor<64x64x16xf32>
    tp.yield %n : tensor<64x64x16xf32>
  } : (tensor<64x64x16xf32>) -> tensor<64x64x16xf32>
  return %r : tensor<64x64x16xf32>
}

// A GPU's cache is larger, and its products want to be.
// CHECK-LABEL: step.program @batch
// CHECK: step.loop 64 {
// CUDA-LABEL: step.program @batch
// CUDA: step.loop 4 {
// CUDA: step.alloc : memref<13x64x64x3x3x16xf32>
// CUDA: step.matmul
// CUDA: }
// CUDA: step.alloc : memref<12x64x64x3x3x16xf32>
// CUDA: step.matmul
func.func @batch(%x: tensor<64x66x66x16xf32>, %k: tensor<3x3x16x16xf32>) -> tensor<64x64x64x16xf32> {
  %w = tp.window %x dims = [1, 2] low = [0, 0] strides = [1, 1] dilations = [1, 1] : (tensor<64x66x66x16xf32>) -> tensor<64x64x3x64x3x16xf32>
  %y = tp.einsum "nhkwlc,klcm->nhwm" %w, %k : (tensor<64x64x3x64x3x16xf32>, tensor<3x3x16x16xf32>) -> tensor<64x64x64x16xf32>
  return %y : tensor<64x64x64x16xf32>
}
