// RUN: tp-opt %s --tp-raise --split-input-file | FileCheck %s

// PyTorch's linear layer: rows of all sequences are one dim on the way.
// CHECK-LABEL: func.func @linear
// CHECK-SAME: %[[X:.*]]: tensor<2x7x32xf32>, %[[W:.*]]: tensor<32x48xf32>, %[[B:.*]]: tensor<48xf32>
// CHECK: %[[Y:.*]] = tp.einsum "abc,cd->abd" %[[X]], %[[W]]
// CHECK: %[[BIAS:.*]] = tp.broadcast %[[B]] dims = [2] : tensor<48xf32> -> tensor<2x7x48xf32>
// CHECK: %[[Z:.*]] = tp.add %[[Y]], %[[BIAS]]
// CHECK-NEXT: return %[[Z]]
func.func @linear(%x: tensor<2x7x32xf32>, %w: tensor<32x48xf32>, %b: tensor<48xf32>) -> tensor<2x7x48xf32> {
  %flat = tp.reshape %x : tensor<2x7x32xf32> -> tensor<14x32xf32>
  %y = tp.einsum "ij,jk->ik" %flat, %w : (tensor<14x32xf32>, tensor<32x48xf32>) -> tensor<14x48xf32>
  %bias = tp.broadcast %b dims = [1] : tensor<48xf32> -> tensor<14x48xf32>
  %z = tp.add %y, %bias : tensor<14x48xf32>
  %r = tp.reshape %z : tensor<14x48xf32> -> tensor<2x7x48xf32>
  return %r : tensor<2x7x48xf32>
}

// -----

// Batch and heads are one dim, which is softmaxed along another on the way.
// CHECK-LABEL: func.func @stacks
// CHECK-SAME: %[[Q:.*]]: tensor<2x4x5x8xf32>, %[[K:.*]]: tensor<2x4x8x7xf32>
// CHECK: %[[T:.*]] = tp.einsum "abde,abcd->abec" %[[K]], %[[Q]] : (tensor<2x4x8x7xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x7x5xf32>
// CHECK: %[[R:.*]] = tp.reduce max %[[T]] dims = [3] : tensor<2x4x7x5xf32> -> tensor<2x4x7xf32>
// CHECK: %[[C:.*]] = tp.constant dense<[{{\[}}{{\[}}1.0{{.*}}> : tensor<2x4x7xf32>
// CHECK: tp.mul %[[R]], %[[C]] : tensor<2x4x7xf32>
func.func @stacks(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x8x7xf32>) -> tensor<2x4x7xf32> {
  %fq = tp.reshape %q : tensor<2x4x5x8xf32> -> tensor<8x5x8xf32>
  %fk = tp.reshape %k : tensor<2x4x8x7xf32> -> tensor<8x8x7xf32>
  %s = tp.einsum "bsd,bdt->bst" %fq, %fk : (tensor<8x5x8xf32>, tensor<8x8x7xf32>) -> tensor<8x5x7xf32>
  %t = tp.transpose %s [0, 2, 1] : tensor<8x5x7xf32> -> tensor<8x7x5xf32>
  %r = tp.reduce max %t dims = [2] : tensor<8x7x5xf32> -> tensor<8x7xf32>
  %c = tp.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
                          [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
                          [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
                          [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]> : tensor<8x7xf32>
  %m = tp.mul %r, %c : tensor<8x7xf32>
  %y = tp.reshape %m : tensor<8x7xf32> -> tensor<2x4x7xf32>
  return %y : tensor<2x4x7xf32>
}

// -----

// Rows are split as they were; heads, which are one dim of the weight, behind. Another dim
// stays merged in front.
// CHECK-LABEL: func.func @partly
// CHECK-SAME: %[[X:.*]]: tensor<2x7x4x8xf32>, %[[W:.*]]: tensor<32x24xf32>
// CHECK: %[[M:.*]] = tp.reshape %[[X]] : tensor<2x7x4x8xf32> -> tensor<2x7x32xf32>
// CHECK: %[[Y:.*]] = tp.einsum "abc,cd->abd" %[[M]], %[[W]]
// CHECK: tp.reshape %[[Y]] : tensor<2x7x24xf32> -> tensor<2x7x3x8xf32>
func.func @partly(%x: tensor<2x7x4x8xf32>, %w: tensor<32x24xf32>) -> tensor<2x7x3x8xf32> {
  %flat = tp.reshape %x : tensor<2x7x4x8xf32> -> tensor<14x32xf32>
  %y = tp.einsum "ij,jk->ik" %flat, %w : (tensor<14x32xf32>, tensor<32x24xf32>) -> tensor<14x24xf32>
  %r = tp.reshape %y : tensor<14x24xf32> -> tensor<2x7x3x8xf32>
  return %r : tensor<2x7x3x8xf32>
}

// -----

// Movement alone, there and back; batch and heads were merged while heads were split.
// CHECK-LABEL: func.func @moved
// CHECK-SAME: %[[X:.*]]: tensor<7x2x32xf32>, %[[Y:.*]]: tensor<2x3xf32>
// CHECK-NEXT: %[[H:.*]] = tp.reshape %[[X]] : tensor<7x2x32xf32> -> tensor<7x2x4x8xf32>
// CHECK-NEXT: %[[T:.*]] = tp.transpose %[[H]] [1, 2, 0, 3]
// CHECK-NEXT: return %[[T]], %[[Y]]
func.func @moved(%x: tensor<7x2x32xf32>, %y: tensor<2x3xf32>) -> (tensor<2x4x7x8xf32>, tensor<2x3xf32>) {
  %flat = tp.reshape %x : tensor<7x2x32xf32> -> tensor<7x8x8xf32>
  %t = tp.transpose %flat [1, 0, 2] : tensor<7x8x8xf32> -> tensor<8x7x8xf32>
  %r = tp.reshape %t : tensor<8x7x8xf32> -> tensor<2x4x7x8xf32>
  %six = tp.reshape %y : tensor<2x3xf32> -> tensor<6xf32>
  %back = tp.reshape %six : tensor<6xf32> -> tensor<2x3xf32>
  return %r, %back : tensor<2x4x7x8xf32>, tensor<2x3xf32>
}

// -----

// Matrices repeated to make stacks, on either side.
// CHECK-LABEL: func.func @repeated
// CHECK-SAME: %[[X:.*]]: tensor<2x7x32xf32>, %[[W:.*]]: tensor<32x48xf32>
// CHECK: tp.einsum "acb,bd->acd" %[[X]], %[[W]]
// CHECK-NEXT: tp.einsum "acb,bd->acd" %[[X]], %[[W]]
func.func @repeated(%x: tensor<2x7x32xf32>, %w: tensor<32x48xf32>) -> (tensor<2x7x48xf32>, tensor<2x7x48xf32>) {
  %ws = tp.broadcast %w dims = [1, 2] : tensor<32x48xf32> -> tensor<2x32x48xf32>
  %y = tp.einsum "acb,abd->acd" %x, %ws : (tensor<2x7x32xf32>, tensor<2x32x48xf32>) -> tensor<2x7x48xf32>
  %t = tp.transpose %w [1, 0] : tensor<32x48xf32> -> tensor<48x32xf32>
  %ts = tp.broadcast %t dims = [0, 2] : tensor<48x32xf32> -> tensor<48x2x32xf32>
  %z = tp.einsum "dab,acb->acd" %ts, %x : (tensor<48x2x32xf32>, tensor<2x7x32xf32>) -> tensor<2x7x48xf32>
  return %y, %z : tensor<2x7x48xf32>, tensor<2x7x48xf32>
}

// -----

// Rows that come flat, a product that is used flat, parts of another size, and what is
// repeated along a dim that is summed over, or that nothing else has.
// CHECK-LABEL: func.func @stays
// CHECK: tp.einsum "ij,jk->ik"
// CHECK: tp.einsum "ij,jk->ik"
// CHECK: tp.einsum "ij,jk->ik"
// CHECK: tp.einsum "ij,jk->ik"
// CHECK: tp.einsum "b,ai->abi"
func.func @stays(%flat: tensor<14x32xf32>, %x: tensor<2x7x32xf32>, %w: tensor<32x32xf32>, %v: tensor<32xf32>)
    -> (tensor<2x7x32xf32>, tensor<2x7x32xf32>, tensor<14x32xf32>, tensor<7x2x32xf32>, tensor<14x32xf32>, tensor<14x3x32xf32>) {
  %a = tp.einsum "ij,jk->ik" %flat, %w : (tensor<14x32xf32>, tensor<32x32xf32>) -> tensor<14x32xf32>
  %ra = tp.reshape %a : tensor<14x32xf32> -> tensor<2x7x32xf32>
  %fx = tp.reshape %x : tensor<2x7x32xf32> -> tensor<14x32xf32>
  %b = tp.einsum "ij,jk->ik" %fx, %w : (tensor<14x32xf32>, tensor<32x32xf32>) -> tensor<14x32xf32>
  %rb = tp.reshape %b : tensor<14x32xf32> -> tensor<2x7x32xf32>
  %c = tp.einsum "ij,jk->ik" %fx, %w : (tensor<14x32xf32>, tensor<32x32xf32>) -> tensor<14x32xf32>
  %rc = tp.reshape %c : tensor<14x32xf32> -> tensor<7x2x32xf32>
  %vs = tp.broadcast %v dims = [1] : tensor<32xf32> -> tensor<32x32xf32>
  %d = tp.einsum "ij,jk->ik" %flat, %vs : (tensor<14x32xf32>, tensor<32x32xf32>) -> tensor<14x32xf32>
  %three = tp.constant dense<3.0> : tensor<3xf32>
  %vr = tp.broadcast %v dims = [1] : tensor<32xf32> -> tensor<14x32xf32>
  %e = tp.einsum "ai,b->abi" %vr, %three : (tensor<14x32xf32>, tensor<3xf32>) -> tensor<14x3x32xf32>
  return %ra, %rb, %b, %rc, %d, %e : tensor<2x7x32xf32>, tensor<2x7x32xf32>, tensor<14x32xf32>, tensor<7x2x32xf32>, tensor<14x32xf32>, tensor<14x3x32xf32>
}

// -----

// Factors of one and of minus one.
// CHECK-LABEL: func.func @units
// CHECK-SAME: %[[X:.*]]: tensor<3xf32>, %[[I:.*]]: tensor<3xi32>
// CHECK-NEXT: %[[N:.*]] = tp.neg %[[X]]
// CHECK-NEXT: return %[[X]], %[[N]], %[[I]]
func.func @units(%x: tensor<3xf32>, %i: tensor<3xi32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xi32>) {
  %one = tp.constant dense<1.0> : tensor<f32>
  %ones = tp.broadcast %one dims = [] : tensor<f32> -> tensor<3xf32>
  %a = tp.mul %ones, %x : tensor<3xf32>
  %b = tp.div %a, %ones : tensor<3xf32>
  %minus = tp.constant dense<-1.0> : tensor<3xf32>
  %c = tp.mul %b, %minus : tensor<3xf32>
  %unit = tp.constant dense<1> : tensor<3xi32>
  %d = tp.mul %i, %unit : tensor<3xi32>
  return %b, %c, %d : tensor<3xf32>, tensor<3xf32>, tensor<3xi32>
}
