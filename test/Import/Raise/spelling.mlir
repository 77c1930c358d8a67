// RUN: tp-opt %s --tp-raise --split-input-file | FileCheck %s

// Transposes of operands and of the result are in the equation, and the operand with the
// result's columns is the right one.
// CHECK-LABEL: func.func @product
// CHECK-SAME: %[[X:.*]]: tensor<2x7x32xf32>, %[[W:.*]]: tensor<48x32xf32>
// CHECK-NEXT: %[[Y:.*]] = tp.einsum "bsi,oi->bso" %[[X]], %[[W]] : (tensor<2x7x32xf32>, tensor<48x32xf32>) -> tensor<2x7x48xf32>
// CHECK-NEXT: return %[[Y]]
func.func @product(%x: tensor<2x7x32xf32>, %w: tensor<48x32xf32>) -> tensor<2x7x48xf32> {
  %t = tp.transpose %w [1, 0] : tensor<48x32xf32> -> tensor<32x48xf32>
  %y = tp.einsum "io,bsi->obs" %t, %x : (tensor<32x48xf32>, tensor<2x7x32xf32>) -> tensor<48x2x7xf32>
  %z = tp.transpose %y [1, 2, 0] : tensor<48x2x7xf32> -> tensor<2x7x48xf32>
  return %z : tensor<2x7x48xf32>
}

// -----

// A product that something else uses, or of which something is said, stays.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @stays
// CHECK: %[[Y:.*]] = tp.einsum "ij,jk->ik"
// CHECK: tp.transpose %[[Y]]
// CHECK: %[[Z:.*]] = tp.einsum "ij,jk->ik"
// CHECK: tp.transpose %[[Z]]
func.func @stays(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) -> (tensor<4x6xf32>, tensor<6x4xf32>, tensor<6x4xf32>) {
  %y = tp.einsum "ij,jk->ik" %a, %b : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %t = tp.transpose %y [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %z = tp.einsum "ij,jk->ik" %a, %b {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}, {}]>]} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %u = tp.transpose %z [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  return %y, %t, %u : tensor<4x6xf32>, tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

// Sums of sums. Those of 16 bits are rounded on the way, maxima are not.
// CHECK-LABEL: func.func @sums
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4x5xf32>, %[[H:.*]]: tensor<2x3x4xbf16>
// CHECK-NEXT: %[[S:.*]] = tp.reduce sum %[[X]] dims = [0, 1, 3] : tensor<2x3x4x5xf32> -> tensor<4xf32>
// CHECK-NEXT: %[[T:.*]] = tp.reduce sum %[[H]] dims = [2]
// CHECK-NEXT: %[[U:.*]] = tp.reduce sum %[[T]] dims = [1]
// CHECK-NEXT: %[[M:.*]] = tp.reduce max %[[H]] dims = [1, 2] : tensor<2x3x4xbf16> -> tensor<2xbf16>
// CHECK-NEXT: %[[P:.*]] = tp.reduce max %[[X]] dims = [3]
// CHECK-NEXT: %[[Q:.*]] = tp.reduce sum %[[P]] dims = [0, 1, 2]
// CHECK-NEXT: return %[[S]], %[[U]], %[[M]], %[[Q]]
func.func @sums(%x: tensor<2x3x4x5xf32>, %h: tensor<2x3x4xbf16>) -> (tensor<4xf32>, tensor<2xbf16>, tensor<2xbf16>, tensor<f32>) {
  %a = tp.reduce sum %x dims = [1] : tensor<2x3x4x5xf32> -> tensor<2x4x5xf32>
  %s = tp.reduce sum %a dims = [0, 2] : tensor<2x4x5xf32> -> tensor<4xf32>
  %t = tp.reduce sum %h dims = [2] : tensor<2x3x4xbf16> -> tensor<2x3xbf16>
  %u = tp.reduce sum %t dims = [1] : tensor<2x3xbf16> -> tensor<2xbf16>
  %n = tp.reduce max %h dims = [2] : tensor<2x3x4xbf16> -> tensor<2x3xbf16>
  %m = tp.reduce max %n dims = [1] : tensor<2x3xbf16> -> tensor<2xbf16>
  %p = tp.reduce max %x dims = [3] : tensor<2x3x4x5xf32> -> tensor<2x3x4xf32>
  %q = tp.reduce sum %p dims = [0, 1, 2] : tensor<2x3x4xf32> -> tensor<f32>
  return %s, %u, %m, %q : tensor<4xf32>, tensor<2xbf16>, tensor<2xbf16>, tensor<f32>
}

// -----

// Starts that are known, clamped: a negative one to 0, one beyond to the last place.
// CHECK-LABEL: func.func @slices
// CHECK-SAME: %[[X:.*]]: tensor<8x16xf32>, %[[I:.*]]: tensor<i32>
// CHECK: %[[A:.*]] = tp.slice %[[X]] starts = [0, 12] strides = [1, 1] : tensor<8x16xf32> -> tensor<2x4xf32>
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[X]] starts = [6, 3] strides = [1, 1] : tensor<8x16xf32> -> tensor<2x4xf32>
// CHECK: tp.dynamic_slice %[[X]][%[[I]]
func.func @slices(%x: tensor<8x16xf32>, %i: tensor<i32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %low = tp.constant dense<-1> : tensor<i32>
  %high = tp.constant dense<100> : tensor<i32>
  %max = tp.constant dense<255> : tensor<ui8>
  %three = tp.constant dense<3> : tensor<ui8>
  %a = tp.dynamic_slice %x[%low, %high] : (tensor<8x16xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  %b = tp.dynamic_slice %x[%max, %three] : (tensor<8x16xf32>, tensor<ui8>, tensor<ui8>) -> tensor<2x4xf32>
  %c = tp.dynamic_slice %x[%i, %high] : (tensor<8x16xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  return %a, %b, %c : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// A broadcast that repeats nothing is a reshape. The second repeats.
// CHECK-LABEL: func.func @ones
// CHECK-SAME: %[[X:.*]]: tensor<4x6xf32>
// CHECK-NEXT: %[[Y:.*]] = tp.reshape %[[X]] : tensor<4x6xf32> -> tensor<4x1x6xf32>
// CHECK-NEXT: %[[Z:.*]] = tp.broadcast %[[X]] dims = [0, 2] : tensor<4x6xf32> -> tensor<4x2x6xf32>
// CHECK-NEXT: return %[[Y]], %[[Z]]
func.func @ones(%x: tensor<4x6xf32>) -> (tensor<4x1x6xf32>, tensor<4x2x6xf32>) {
  %y = tp.broadcast %x dims = [0, 2] : tensor<4x6xf32> -> tensor<4x1x6xf32>
  %z = tp.broadcast %x dims = [0, 2] : tensor<4x6xf32> -> tensor<4x2x6xf32>
  return %y, %z : tensor<4x1x6xf32>, tensor<4x2x6xf32>
}

// -----

// Sums with zero and differences to it are what they add to. A difference of zero is not.
// CHECK-LABEL: func.func @zeros
// CHECK-SAME: %[[X:.*]]: tensor<4x6xf32>
// CHECK: %[[N:.*]] = tp.sub %{{.*}}, %[[X]]
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[N]]
func.func @zeros(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %zero = tp.constant dense<0.0> : tensor<4x6xf32>
  %a = tp.add %x, %zero : tensor<4x6xf32>
  %b = tp.add %zero, %x : tensor<4x6xf32>
  %c = tp.sub %x, %zero : tensor<4x6xf32>
  %d = tp.sub %zero, %x : tensor<4x6xf32>
  return %a, %b, %c, %d : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}
