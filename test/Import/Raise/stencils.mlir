// RUN: tp-opt %s --tp-raise --split-input-file | FileCheck %s

// A value beside itself: shifts are elements of the same windows.
// CHECK-LABEL: func.func @stencil
// CHECK: %[[W:.*]] = tp.window %arg0, %{{.*}} dims = [0] low = [1] strides = [1] dilations = [2] : (tensor<64x8xf32>, tensor<f32>) -> tensor<64x2x8xf32>
// CHECK: %[[A:.*]] = tp.slice %[[W]] starts = [0, 0, 0]
// CHECK: tp.reshape %[[A]] : tensor<64x1x8xf32> -> tensor<64x8xf32>
// CHECK: %[[B:.*]] = tp.slice %[[W]] starts = [0, 1, 0]
// CHECK: tp.reshape %[[B]] : tensor<64x1x8xf32> -> tensor<64x8xf32>
// CHECK-NOT: tp.splice
func.func @stencil(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %p = tp.pad %x, %zero low = [1, 0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<66x8xf32>
  %a = tp.slice %p starts = [0, 0] strides = [1, 1] : tensor<66x8xf32> -> tensor<64x8xf32>
  %b = tp.slice %p starts = [2, 0] strides = [1, 1] : tensor<66x8xf32> -> tensor<64x8xf32>
  %y = tp.add %a, %b : tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}

// -----

// Two convolutions of one input, of 3 and of every other of 3 elements.
// CHECK-LABEL: func.func @two
// CHECK: %[[W:.*]] = tp.window %arg0, %{{.*}} dims = [0] low = [2] strides = [1] dilations = [1] : (tensor<64x8xf32>, tensor<f32>) -> tensor<64x5x8xf32>
// CHECK: tp.slice %[[W]] starts = [0, 1, 0] strides = [1, 1, 1] : tensor<64x5x8xf32> -> tensor<64x3x8xf32>
// CHECK: tp.slice %[[W]] starts = [0, 0, 0] strides = [1, 2, 1] : tensor<64x5x8xf32> -> tensor<64x3x8xf32>
func.func @two(%x: tensor<64x8xf32>) -> (tensor<64x3x8xf32>, tensor<64x3x8xf32>) {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %a = tp.window %x, %zero dims = [0] low = [1] strides = [1] dilations = [1] : (tensor<64x8xf32>, tensor<f32>) -> tensor<64x3x8xf32>
  %b = tp.window %x, %zero dims = [0] low = [2] strides = [1] dilations = [2] : (tensor<64x8xf32>, tensor<f32>) -> tensor<64x3x8xf32>
  return %a, %b : tensor<64x3x8xf32>, tensor<64x3x8xf32>
}

// -----

// Zeros and ones around a value are two things.
// CHECK-LABEL: func.func @fills
// CHECK-COUNT-2: tp.splice
func.func @fills(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %one = tp.constant dense<1.0> : tensor<f32>
  %a = tp.splice %zero, %x dim = 0 starts = [0, 0] sizes = [1, 63] : (tensor<f32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  %b = tp.splice %x, %one dim = 0 starts = [1, 0] sizes = [63, 1] : (tensor<64x8xf32>, tensor<f32>) -> tensor<64x8xf32>
  %y = tp.add %a, %b : tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}

// -----

// So is a shift that leaves rows out which are there.
// CHECK-LABEL: func.func @dropped
// CHECK-COUNT-2: tp.splice
func.func @dropped(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %a = tp.splice %zero, %x dim = 0 starts = [0, 0] sizes = [1, 63] : (tensor<f32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  %b = tp.splice %zero, %x dim = 0 starts = [0, 3] sizes = [3, 61] : (tensor<f32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  %y = tp.add %a, %b : tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}

// -----

// Windows of what is padded with their own fill begin earlier.
// CHECK-LABEL: func.func @padded
// CHECK-NOT: tp.pad
// CHECK: tp.window %arg0, %{{.*}} dims = [0] low = [1] strides = [2] dilations = [1] : (tensor<64x8xf32>, tensor<f32>) -> tensor<32x3x8xf32>
func.func @padded(%x: tensor<64x8xf32>) -> tensor<32x3x8xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %p = tp.pad %x, %zero low = [1, 0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<66x8xf32>
  %w = tp.window %p dims = [0] low = [0] strides = [2] dilations = [1] : (tensor<66x8xf32>) -> tensor<32x3x8xf32>
  return %w : tensor<32x3x8xf32>
}

// -----

// Those of what is sliced must not see what the slice leaves out.
// CHECK-LABEL: func.func @sliced
// CHECK: tp.slice
// CHECK: tp.window
func.func @sliced(%x: tensor<64x8xf32>) -> tensor<32x3x8xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %p = tp.slice %x starts = [8, 0] strides = [1, 1] : tensor<64x8xf32> -> tensor<32x8xf32>
  %w = tp.window %p, %zero dims = [0] low = [1] strides = [1] dilations = [1] : (tensor<32x8xf32>, tensor<f32>) -> tensor<32x3x8xf32>
  return %w : tensor<32x3x8xf32>
}

// -----

// The fill of a later shift is had again before the first.
// CHECK-LABEL: func.func @later
// CHECK: tp.window %arg0, %{{.*}} dims = [0] low = [1] strides = [2] dilations = [1] : (tensor<64x8xf32>, tensor<f32>) -> tensor<32x2x8xf32>
func.func @later(%x: tensor<64x8xf32>) -> (tensor<32x8xf32>, tensor<32x8xf32>) {
  %a = tp.splice %x dim = 0 starts = [0] sizes = [32] strides = [2] : (tensor<64x8xf32>) -> tensor<32x8xf32>
  %zero = tp.constant dense<0.0> : tensor<f32>
  %b = tp.splice %zero, %x dim = 0 starts = [0, 1] sizes = [1, 31] strides = [1, 2] : (tensor<f32>, tensor<64x8xf32>) -> tensor<32x8xf32>
  return %a, %b : tensor<32x8xf32>, tensor<32x8xf32>
}

// -----

// As in gradients of edge padding: zeros are not added, and sums over dimensions of size 1
// between reshapes are reshapes, so that rows padded behind a slice are a splice.
// CHECK-LABEL: func.func @edge
// CHECK-NOT: tp.reduce
// CHECK: %[[ROWS:.*]] = tp.splice %{{.*}}, %arg0 dim = 0 starts = [0, 3] sizes = [63, 1]
// CHECK: %[[SUM:.*]] = tp.add %arg0, %[[ROWS]]
// CHECK-NEXT: return %[[SUM]]
func.func @edge(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %s = tp.slice %x starts = [3, 0] strides = [1, 1] : tensor<64x8xf32> -> tensor<1x8xf32>
  %r = tp.reshape %s : tensor<1x8xf32> -> tensor<1x1x8xf32>
  %t = tp.reduce sum %r dims = [0, 1] : tensor<1x1x8xf32> -> tensor<8xf32>
  %u = tp.reshape %t : tensor<8xf32> -> tensor<1x8xf32>
  %p = tp.pad %u, %zero low = [63, 0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<64x8xf32>
  %b = tp.broadcast %zero dims = [] : tensor<f32> -> tensor<64x1xf32>
  %q = tp.pad %b, %zero low = [0, 7] : (tensor<64x1xf32>, tensor<f32>) -> tensor<64x8xf32>
  %y = tp.add %x, %p : tensor<64x8xf32>
  %z = tp.add %q, %y : tensor<64x8xf32>
  return %z : tensor<64x8xf32>
}
