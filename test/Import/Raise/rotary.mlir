// RUN: tp-opt %s --tp-raise --split-input-file | FileCheck %s

// Rotary embedding is raised from its halves, with features that pass, and from pairs that
// lie side by side, also where heads come before positions, and back again.

// CHECK-LABEL: func.func @halves
// CHECK-SAME: %[[X:.*]]: tensor<2x3x5x8xf32>, %[[C:.*]]: tensor<3x3xf32>, %[[S:.*]]: tensor<3x3xf32>
// CHECK-NEXT: %[[Y:.*]] = tp.rotary %[[X]], %[[C]], %[[S]]
// CHECK-NEXT: return %[[Y]]
func.func @halves(%x: tensor<2x3x5x8xf32>, %cos: tensor<3x3xf32>, %sin: tensor<3x3xf32>) -> tensor<2x3x5x8xf32> {
  %a = tp.slice %x starts = [0, 0, 0, 0] strides = [1, 1, 1, 1] : tensor<2x3x5x8xf32> -> tensor<2x3x5x3xf32>
  %b = tp.slice %x starts = [0, 0, 0, 3] strides = [1, 1, 1, 1] : tensor<2x3x5x8xf32> -> tensor<2x3x5x3xf32>
  %rest = tp.slice %x starts = [0, 0, 0, 6] strides = [1, 1, 1, 1] : tensor<2x3x5x8xf32> -> tensor<2x3x5x2xf32>
  %c = tp.broadcast %cos dims = [1, 3] : tensor<3x3xf32> -> tensor<2x3x5x3xf32>
  %s = tp.broadcast %sin dims = [1, 3] : tensor<3x3xf32> -> tensor<2x3x5x3xf32>
  %ac = tp.mul %a, %c : tensor<2x3x5x3xf32>
  %bs = tp.mul %s, %b : tensor<2x3x5x3xf32>
  %y1 = tp.sub %ac, %bs : tensor<2x3x5x3xf32>
  %as = tp.mul %a, %s : tensor<2x3x5x3xf32>
  %bc = tp.mul %b, %c : tensor<2x3x5x3xf32>
  %y2 = tp.add %as, %bc : tensor<2x3x5x3xf32>
  %y = tp.concat %y1, %y2, %rest dim = 3 : (tensor<2x3x5x3xf32>, tensor<2x3x5x3xf32>, tensor<2x3x5x2xf32>) -> tensor<2x3x5x8xf32>
  return %y : tensor<2x3x5x8xf32>
}

// -----

// [batch, head, position, feature], and angles of each batch entry.
// CHECK-LABEL: func.func @interleaved
// CHECK-SAME: %[[X:.*]]: tensor<2x5x3x4xf32>, %[[C:.*]]: tensor<2x3x2xf32>, %[[S:.*]]: tensor<2x3x2xf32>
// CHECK-NEXT: %[[T:.*]] = tp.transpose %[[X]] [0, 2, 1, 3]
// CHECK-NEXT: %[[R:.*]] = tp.rotary interleaved %[[T]], %[[C]], %[[S]]
// CHECK-NEXT: %[[Y:.*]] = tp.transpose %[[R]] [0, 2, 1, 3]
// CHECK-NEXT: return %[[Y]]
func.func @interleaved(%x: tensor<2x5x3x4xf32>, %cos: tensor<2x3x2xf32>, %sin: tensor<2x3x2xf32>) -> tensor<2x5x3x4xf32> {
  %pairs = tp.reshape %x : tensor<2x5x3x4xf32> -> tensor<2x5x3x2x2xf32>
  %a1 = tp.slice %pairs starts = [0, 0, 0, 0, 0] strides = [1, 1, 1, 1, 1] : tensor<2x5x3x2x2xf32> -> tensor<2x5x3x2x1xf32>
  %b1 = tp.slice %pairs starts = [0, 0, 0, 0, 1] strides = [1, 1, 1, 1, 1] : tensor<2x5x3x2x2xf32> -> tensor<2x5x3x2x1xf32>
  %a = tp.reshape %a1 : tensor<2x5x3x2x1xf32> -> tensor<2x5x3x2xf32>
  %b = tp.reshape %b1 : tensor<2x5x3x2x1xf32> -> tensor<2x5x3x2xf32>
  %c = tp.broadcast %cos dims = [0, 2, 3] : tensor<2x3x2xf32> -> tensor<2x5x3x2xf32>
  %s = tp.broadcast %sin dims = [0, 2, 3] : tensor<2x3x2xf32> -> tensor<2x5x3x2xf32>
  %ac = tp.mul %a, %c : tensor<2x5x3x2xf32>
  %bs = tp.mul %b, %s : tensor<2x5x3x2xf32>
  %y1 = tp.sub %ac, %bs : tensor<2x5x3x2xf32>
  %bc = tp.mul %b, %c : tensor<2x5x3x2xf32>
  %as = tp.mul %a, %s : tensor<2x5x3x2xf32>
  %y2 = tp.add %bc, %as : tensor<2x5x3x2xf32>
  %y3 = tp.reshape %y1 : tensor<2x5x3x2xf32> -> tensor<2x5x3x2x1xf32>
  %y4 = tp.reshape %y2 : tensor<2x5x3x2xf32> -> tensor<2x5x3x2x1xf32>
  %stack = tp.concat %y3, %y4 dim = 4 : (tensor<2x5x3x2x1xf32>, tensor<2x5x3x2x1xf32>) -> tensor<2x5x3x2x2xf32>
  %y = tp.reshape %stack : tensor<2x5x3x2x2xf32> -> tensor<2x5x3x4xf32>
  return %y : tensor<2x5x3x4xf32>
}

// -----

// By the negative angles, as in gradients.
// CHECK-LABEL: func.func @backwards
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>, %[[C:.*]]: tensor<3x2xf32>, %[[S:.*]]: tensor<3x2xf32>
// CHECK: %[[N:.*]] = tp.neg %[[S]]
// CHECK: tp.rotary %{{.*}}, %[[C]], %[[N]]
func.func @backwards(%x: tensor<2x3x4xf32>, %cos: tensor<3x2xf32>, %sin: tensor<3x2xf32>) -> tensor<2x3x4xf32> {
  %a = tp.slice %x starts = [0, 0, 0] strides = [1, 1, 1] : tensor<2x3x4xf32> -> tensor<2x3x2xf32>
  %b = tp.slice %x starts = [0, 0, 2] strides = [1, 1, 1] : tensor<2x3x4xf32> -> tensor<2x3x2xf32>
  %c = tp.broadcast %cos dims = [1, 2] : tensor<3x2xf32> -> tensor<2x3x2xf32>
  %s = tp.broadcast %sin dims = [1, 2] : tensor<3x2xf32> -> tensor<2x3x2xf32>
  %ac = tp.mul %a, %c : tensor<2x3x2xf32>
  %bs = tp.mul %b, %s : tensor<2x3x2xf32>
  %y1 = tp.add %ac, %bs : tensor<2x3x2xf32>
  %as = tp.mul %a, %s : tensor<2x3x2xf32>
  %bc = tp.mul %b, %c : tensor<2x3x2xf32>
  %y2 = tp.sub %bc, %as : tensor<2x3x2xf32>
  %y = tp.concat %y1, %y2 dim = 2 : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// -----

// As JAX's gradient of a rotation has it.
// CHECK-LABEL: func.func @gradient
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>, %[[C:.*]]: tensor<3x2xf32>, %[[S:.*]]: tensor<3x2xf32>
// CHECK: %[[N:.*]] = tp.neg %[[S]]
// CHECK: tp.rotary %{{.*}}, %[[C]], %[[N]]
// CHECK-NOT: tp.pad
func.func @gradient(%x: tensor<2x3x4xf32>, %cos: tensor<3x2xf32>, %sin: tensor<3x2xf32>) -> tensor<2x3x4xf32> {
  %a = tp.slice %x starts = [0, 0, 0] strides = [1, 1, 1] : tensor<2x3x4xf32> -> tensor<2x3x2xf32>
  %b = tp.slice %x starts = [0, 0, 2] strides = [1, 1, 1] : tensor<2x3x4xf32> -> tensor<2x3x2xf32>
  %c = tp.broadcast %cos dims = [1, 2] : tensor<3x2xf32> -> tensor<2x3x2xf32>
  %s = tp.broadcast %sin dims = [1, 2] : tensor<3x2xf32> -> tensor<2x3x2xf32>
  %bs = tp.mul %b, %s : tensor<2x3x2xf32>
  %bc = tp.mul %b, %c : tensor<2x3x2xf32>
  %minus = tp.neg %a : tensor<2x3x2xf32>
  %as = tp.mul %minus, %s : tensor<2x3x2xf32>
  %y2 = tp.add %bc, %as : tensor<2x3x2xf32>
  %ac = tp.mul %a, %c : tensor<2x3x2xf32>
  %y1 = tp.add %bs, %ac : tensor<2x3x2xf32>
  %zero = tp.constant dense<0.0> : tensor<f32>
  %lower = tp.pad %y2, %zero low = [0, 0, 2] : (tensor<2x3x2xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %upper = tp.pad %y1, %zero low = [0, 0, 0] : (tensor<2x3x2xf32>, tensor<f32>) -> tensor<2x3x4xf32>
  %y = tp.add %lower, %upper : tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// -----

// A reflection, and a rotation of -x: both signs are alike, or those of the cosines are not
// positive.
// CHECK-LABEL: func.func @no_rotation
// CHECK-NOT: tp.rotary
func.func @no_rotation(%x: tensor<2x3x4xf32>, %cos: tensor<3x2xf32>, %sin: tensor<3x2xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %a = tp.slice %x starts = [0, 0, 0] strides = [1, 1, 1] : tensor<2x3x4xf32> -> tensor<2x3x2xf32>
  %b = tp.slice %x starts = [0, 0, 2] strides = [1, 1, 1] : tensor<2x3x4xf32> -> tensor<2x3x2xf32>
  %c = tp.broadcast %cos dims = [1, 2] : tensor<3x2xf32> -> tensor<2x3x2xf32>
  %s = tp.broadcast %sin dims = [1, 2] : tensor<3x2xf32> -> tensor<2x3x2xf32>
  %ac = tp.mul %a, %c : tensor<2x3x2xf32>
  %bs = tp.mul %b, %s : tensor<2x3x2xf32>
  %as = tp.mul %a, %s : tensor<2x3x2xf32>
  %bc = tp.mul %b, %c : tensor<2x3x2xf32>
  %y1 = tp.add %ac, %bs : tensor<2x3x2xf32>
  %y2 = tp.add %bc, %as : tensor<2x3x2xf32>
  %y = tp.concat %y1, %y2 dim = 2 : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x4xf32>
  %minus = tp.neg %a : tensor<2x3x2xf32>
  %mc = tp.mul %minus, %c : tensor<2x3x2xf32>
  %z1 = tp.sub %bs, %mc : tensor<2x3x2xf32>
  %z2 = tp.sub %as, %bc : tensor<2x3x2xf32>
  %z = tp.concat %z1, %z2 dim = 2 : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x4xf32>
  return %y, %z : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// -----

// Angles as wide as the features, whose halves may differ.
// CHECK-LABEL: func.func @unknown_halves
// CHECK-NOT: tp.rotary
func.func @unknown_halves(%x: tensor<2x3x4xf32>, %cos: tensor<3x4xf32>, %sin: tensor<3x4xf32>) -> tensor<2x3x4xf32> {
  %a = tp.slice %x starts = [0, 0, 0] strides = [1, 1, 1] : tensor<2x3x4xf32> -> tensor<2x3x2xf32>
  %b = tp.slice %x starts = [0, 0, 2] strides = [1, 1, 1] : tensor<2x3x4xf32> -> tensor<2x3x2xf32>
  %minus = tp.neg %b : tensor<2x3x2xf32>
  %turned = tp.concat %minus, %a dim = 2 : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x4xf32>
  %c = tp.broadcast %cos dims = [1, 2] : tensor<3x4xf32> -> tensor<2x3x4xf32>
  %s = tp.broadcast %sin dims = [1, 2] : tensor<3x4xf32> -> tensor<2x3x4xf32>
  %xc = tp.mul %x, %c : tensor<2x3x4xf32>
  %xs = tp.mul %turned, %s : tensor<2x3x4xf32>
  %y = tp.add %xc, %xs : tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}
