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

// Every other element: one piece, whose stride divides blocks or does not.
// CHECK-LABEL: func.func @odd
// CHECK: tp.splice %arg0 dim = 1 starts = [1] sizes = [4] strides = [2]
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

// -----

// A value that is taken twice goes once.
// CHECK-LABEL: func.func @twice
// CHECK-NOT: tp.concat
// CHECK: tp.splice %arg1, %arg0 dim = 0 starts = [0, 0] sizes = [1, 2] strides = [1, 2]
func.func @twice(%x: tensor<4x8xf32>, %y: tensor<2x8xf32>) -> tensor<3x8xf32> {
  %a = tp.concat %x, %y dim = 0 : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<6x8xf32>
  %b = tp.splice %a, %a dim = 0 starts = [4, 0] sizes = [1, 2] strides = [1, 2] : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<3x8xf32>
  return %b : tensor<3x8xf32>
}

// -----

// What is reversed twice is as it was, and a reversal of a shift is one move.
// CHECK-LABEL: func.func @backwards
// CHECK: %[[A:.*]] = tp.splice %arg0, %arg0 dim = 0 starts = [0, 7] sizes = [1, 7] strides = [1, -1]
// CHECK: return %arg0, %[[A]]
func.func @backwards(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %a = tp.splice %x dim = 0 starts = [7] sizes = [8] strides = [-1] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = tp.splice %a dim = 0 starts = [7] sizes = [8] strides = [-1] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = tp.splice %x, %x dim = 0 starts = [1, 0] sizes = [7, 1] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = tp.splice %c dim = 0 starts = [7] sizes = [8] strides = [-1] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b, %d : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// With a pad, that is one move, too. In two dimensions, it is one for each.
// CHECK-LABEL: func.func @strides
// CHECK: tp.splice %{{.*}}, %arg0 dim = 0 starts = [0, 1] sizes = [1, 3] strides = [1, 2]
// CHECK: %[[A:.*]] = tp.splice %arg0 dim = 0 starts = [1] sizes = [3] strides = [2]
// CHECK: tp.splice %[[A]] dim = 1 starts = [0] sizes = [3] strides = [3]
func.func @strides(%x: tensor<7x8xf32>) -> (tensor<4x8xf32>, tensor<3x3xf32>) {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %p = tp.pad %x, %zero low = [1, 0] : (tensor<7x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %a = tp.slice %p starts = [0, 0] strides = [2, 1] : tensor<8x8xf32> -> tensor<4x8xf32>
  %b = tp.slice %x starts = [1, 0] strides = [2, 3] : tensor<7x8xf32> -> tensor<3x3xf32>
  return %a, %b : tensor<4x8xf32>, tensor<3x3xf32>
}

// -----

// A sum of what is padded, without the padding again: each addend is shifted, and no
// value of 67 rows is left. A sum that somebody else needs stays.
// CHECK-LABEL: func.func @sum
// CHECK: tp.splice %{{.*}}, %arg0 dim = 0 starts = [0, 0] sizes = [1, 63]
// CHECK: tp.splice %arg1, %{{.*}} dim = 0 starts = [2, 0] sizes = [62, 2]
// CHECK: tp.add %{{.*}} : tensor<64x8xf32>
// CHECK-NOT: tensor<67x8xf32>
// CHECK: return
func.func @sum(%x: tensor<64x8xf32>, %z: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %p = tp.pad %x, %zero low = [3, 0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<67x8xf32>
  %q = tp.pad %z, %zero low = [0, 0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<67x8xf32>
  %s = tp.add %p, %q : tensor<67x8xf32>
  %y = tp.slice %s starts = [2, 0] strides = [1, 1] : tensor<67x8xf32> -> tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}

// -----

// CHECK-LABEL: func.func @shared_sum
// CHECK: tp.add %{{.*}} : tensor<67x8xf32>
func.func @shared_sum(%x: tensor<64x8xf32>, %z: tensor<64x8xf32>) -> (tensor<64x8xf32>, tensor<67x8xf32>) {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %p = tp.pad %x, %zero low = [3, 0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<67x8xf32>
  %q = tp.pad %z, %zero low = [0, 0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<67x8xf32>
  %s = tp.add %p, %q : tensor<67x8xf32>
  %y = tp.slice %s starts = [2, 0] strides = [1, 1] : tensor<67x8xf32> -> tensor<64x8xf32>
  return %y, %s : tensor<64x8xf32>, tensor<67x8xf32>
}
