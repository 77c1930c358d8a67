// RUN: tp-opt %s --tp-raise --split-input-file | FileCheck %s

// A slice of a pad takes what it uses; no value of 65 rows is left. It shifts %x.
// CHECK-LABEL: func.func @shift
// CHECK-NOT: tp.pad
// CHECK: tp.splice %{{.*}}, %arg0 dim = 0 starts = [0, 0] sizes = [1, 63]
func.func @shift(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %p = tp.pad %x, %zero low = [1, 0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<65x8xf32>
  %y = tp.slice %p starts = [0, 0] strides = [1, 1] : tensor<65x8xf32> -> tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}

// -----

// A roll is a splice, so that propagation takes it for one value.
// CHECK-LABEL: func.func @roll
// CHECK: tp.splice %arg0, %arg0 dim = 0 starts = [1, 0] sizes = [63, 1]
// CHECK-NOT: tp.concat
func.func @roll(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %a = tp.slice %x starts = [1, 0] strides = [1, 1] : tensor<64x8xf32> -> tensor<63x8xf32>
  %b = tp.slice %x starts = [0, 0] strides = [1, 1] : tensor<64x8xf32> -> tensor<1x8xf32>
  %y = tp.concat %a, %b dim = 0 : (tensor<63x8xf32>, tensor<1x8xf32>) -> tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}

// -----

// Parts that are put together again are the whole.
// CHECK-LABEL: func.func @halves
// CHECK-NEXT: return %arg0
func.func @halves(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = tp.slice %x starts = [0, 0] strides = [1, 1] : tensor<8x8xf32> -> tensor<4x8xf32>
  %b = tp.slice %x starts = [4, 0] strides = [1, 1] : tensor<8x8xf32> -> tensor<4x8xf32>
  %y = tp.concat %a, %b dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Both dimensions of an image, one after the other.
// CHECK-LABEL: func.func @corner
// CHECK-NOT: tp.pad
// CHECK: %[[A:.*]] = tp.splice %{{.*}}, %arg0 dim = 0 starts = [0, 0] sizes = [1, 7]
// CHECK: tp.splice %[[A]], %{{.*}} dim = 1 starts = [1, 0] sizes = [7, 1]
func.func @corner(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %p = tp.pad %x, %zero low = [1, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<10x10xf32>
  %y = tp.slice %p starts = [0, 2] strides = [1, 1] : tensor<10x10xf32> -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Every other element is one of each pair.
// CHECK-LABEL: func.func @odd
// CHECK: tp.reshape %arg0 : tensor<4x8xf32> -> tensor<4x4x2xf32>
// CHECK: tp.slice %{{.*}} starts = [0, 0, 1] strides = [1, 1, 1] : tensor<4x4x2xf32> -> tensor<4x4x1xf32>
// CHECK: tp.reshape
func.func @odd(%x: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %y = tp.slice %x starts = [0, 1] strides = [1, 2] : tensor<4x8xf32> -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// A value that somebody annotated stays.
// CHECK-LABEL: func.func @annotated
// CHECK: tp.pad
// CHECK: tp.slice
func.func @annotated(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %p = tp.pad %x, %zero low = [1, 0] {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}, {}]>]} : (tensor<64x8xf32>, tensor<f32>) -> tensor<65x8xf32>
  %y = tp.slice %p starts = [0, 0] strides = [1, 1] : tensor<65x8xf32> -> tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}
spmd.mesh @mesh <["x"=4]>
