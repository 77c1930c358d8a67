// RUN: tp-opt %s --tp-lower-to-step --split-input-file | FileCheck %s

// What a backward pass computes again far behind stays there: the activation of the
// gate is not kept from one end to the other, only the gate is.
// CHECK-LABEL: step.program @far
// CHECK:       step.matmul
// CHECK:       step.rows {{.*}} reads({{.*}}) writes(%{{[a-z0-9_]+}} : memref<{{[^,]*}}>) {
// CHECK:         math.exp
// CHECK-COUNT-5: step.matmul
// CHECK:       step.rows
// CHECK:         math.exp
// CHECK:       step.matmul {{.*}} then [#step<post multiply>]
func.func @far(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %gate = tp.einsum "ij,jk->ik" %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = tp.logistic %gate : tensor<64x64xf32>
  %b = tp.mul %a, %gate : tensor<64x64xf32>
  %1 = tp.einsum "ij,jk->ik" %b, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = tp.einsum "ij,jk->ik" %1, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = tp.einsum "ij,jk->ik" %2, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = tp.einsum "ij,jk->ik" %3, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = tp.einsum "ij,jk->ik" %4, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = tp.einsum "ij,jk->ik" %5, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = tp.logistic %gate : tensor<64x64xf32>
  %d = tp.mul %c, %6 : tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

// Nearby it is computed once.
// CHECK-LABEL: step.program @near
// CHECK-COUNT-1: math.exp
// CHECK-NOT:     math.exp
func.func @near(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %gate = tp.einsum "ij,jk->ik" %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %a = tp.logistic %gate : tensor<64x64xf32>
  %b = tp.mul %a, %gate : tensor<64x64xf32>
  %1 = tp.einsum "ij,jk->ik" %b, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = tp.logistic %gate : tensor<64x64xf32>
  %d = tp.mul %c, %1 : tensor<64x64xf32>
  return %d : tensor<64x64xf32>
}

// -----

// A table of positions, and a number for each row, are computed once however far
// behind they are wanted again.
// CHECK-LABEL: step.program @small
// CHECK-COUNT-2: math.sin
// CHECK-NOT:     math.sin
// CHECK-COUNT-6: step.matmul
// CHECK-NOT:     math.sin
func.func @small(%x: tensor<64x64xf32>, %at: tensor<64x64xi32>, %v: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %angle = tp.convert %at : tensor<64x64xi32> -> tensor<64x64xf32>
  %a = tp.sin %angle : tensor<64x64xf32>
  %r = tp.reduce sum %x dims = [1] : tensor<64x64xf32> -> tensor<64xf32>
  %s = tp.sin %r : tensor<64xf32>
  %b = tp.mul %a, %x : tensor<64x64xf32>
  %1 = tp.einsum "ij,jk->ik" %b, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = tp.einsum "ij,jk->ik" %1, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = tp.einsum "ij,jk->ik" %2, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = tp.einsum "ij,jk->ik" %3, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = tp.einsum "ij,jk->ik" %4, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = tp.einsum "ij,jk->ik" %5, %v : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = tp.sin %angle : tensor<64x64xf32>
  %d = tp.mul %c, %6 : tensor<64x64xf32>
  %r2 = tp.reduce sum %x dims = [1] : tensor<64x64xf32> -> tensor<64xf32>
  %t = tp.sin %r2 : tensor<64xf32>
  return %d, %s, %t : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
}
