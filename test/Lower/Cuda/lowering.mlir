// What the CUDA runtime does not execute becomes a row program, and what
// cuBLASLt computes stays with the matrix product.

// RUN: tp-opt %s --tp-lower-to-step="target=cuda" | FileCheck %s

// A bias and a residual may come in any order: the residual is C's first value,
// and a bias repeats along the rows.
// CHECK-LABEL: step.program @bias_residual_gelu
// CHECK:       step.matmul {{.*}} then [#step<post add>, #step<post add>, #step<post gelu_tanh>] with({{.*}} : memref<1x1x1x6x32xf32, strided<[0, 0, 0, 32, 1]>>, memref<1x1x1x6x32xf32, strided<[0, 0, 0, 0, 1]>>)
// CHECK-NOT:   step.rows
func.func @bias_residual_gelu(%x: tensor<6x16xf32>, %w: tensor<16x32xf32>,
                              %b: tensor<32xf32>, %r: tensor<6x32xf32>) -> tensor<6x32xf32> {
  %0 = tp.einsum "md,de->me" %x, %w : (tensor<6x16xf32>, tensor<16x32xf32>) -> tensor<6x32xf32>
  %1 = tp.broadcast %b dims = [1] : tensor<32xf32> -> tensor<6x32xf32>
  %2 = tp.add %0, %1 : tensor<6x32xf32>
  %3 = tp.add %r, %2 : tensor<6x32xf32>
  %4 = tp.gelu tanh %3 : tensor<6x32xf32>
  return %4 : tensor<6x32xf32>
}

// Of one row, a residual is told from a bias by its stride.
// CHECK-LABEL: step.program @one_row
// CHECK:       step.matmul {{.*}} then [#step<post add>, #step<post add>] with({{.*}} : memref<1x1x1x1x32xbf16, strided<[0, 0, 0, 32, 1]>>, memref<1x1x1x1x32xbf16, strided<[0, 0, 0, 0, 1]>>)
// CHECK-NOT:   step.rows
func.func @one_row(%x: tensor<1x16xbf16>, %w: tensor<16x32xbf16>, %b: tensor<32xbf16>,
                   %r: tensor<1x32xbf16>) -> tensor<1x32xbf16> {
  %0 = tp.einsum "md,de->me" %x, %w : (tensor<1x16xbf16>, tensor<16x32xbf16>) -> tensor<1x32xbf16>
  %1 = tp.broadcast %b dims = [1] : tensor<32xbf16> -> tensor<1x32xbf16>
  %2 = tp.add %0, %1 : tensor<1x32xbf16>
  %3 = tp.add %2, %r : tensor<1x32xbf16>
  return %3 : tensor<1x32xbf16>
}

// Another activation, a product, and a second residual are row programs.
// CHECK-LABEL: step.program @silu
// CHECK:       step.matmul
// CHECK-NOT:   then
// CHECK:       step.rows
// CHECK:       math.exp
func.func @silu(%x: tensor<6x16xf32>, %w: tensor<16x32xf32>) -> tensor<6x32xf32> {
  %0 = tp.einsum "md,de->me" %x, %w : (tensor<6x16xf32>, tensor<16x32xf32>) -> tensor<6x32xf32>
  %1 = tp.silu %0 : tensor<6x32xf32>
  return %1 : tensor<6x32xf32>
}

// CHECK-LABEL: step.program @product
// CHECK:       step.matmul
// CHECK-NOT:   then
// CHECK:       step.rows
// CHECK:       arith.mulf
func.func @product(%x: tensor<6x16xf32>, %w: tensor<16x32xf32>, %g: tensor<6x32xf32>) -> tensor<6x32xf32> {
  %0 = tp.einsum "md,de->me" %x, %w : (tensor<6x16xf32>, tensor<16x32xf32>) -> tensor<6x32xf32>
  %1 = tp.mul %0, %g : tensor<6x32xf32>
  return %1 : tensor<6x32xf32>
}

// CHECK-LABEL: step.program @two_residuals
// CHECK:       step.matmul {{.*}} then [#step<post add>] with
// CHECK:       step.rows
// CHECK:       arith.addf
func.func @two_residuals(%x: tensor<6x16xf32>, %w: tensor<16x32xf32>, %r: tensor<6x32xf32>,
                         %s: tensor<6x32xf32>) -> tensor<6x32xf32> {
  %0 = tp.einsum "md,de->me" %x, %w : (tensor<6x16xf32>, tensor<16x32xf32>) -> tensor<6x32xf32>
  %1 = tp.add %0, %r : tensor<6x32xf32>
  %2 = tp.add %1, %s : tensor<6x32xf32>
  return %2 : tensor<6x32xf32>
}

// What is added to each row is neither a bias nor a residual.
// CHECK-LABEL: step.program @per_row
// CHECK:       step.matmul
// CHECK-NOT:   then
// CHECK:       step.rows
func.func @per_row(%x: tensor<6x16xf32>, %w: tensor<16x32xf32>, %b: tensor<6xf32>) -> tensor<6x32xf32> {
  %0 = tp.einsum "md,de->me" %x, %w : (tensor<6x16xf32>, tensor<16x32xf32>) -> tensor<6x32xf32>
  %1 = tp.broadcast %b dims = [0] : tensor<6xf32> -> tensor<6x32xf32>
  %2 = tp.add %0, %1 : tensor<6x32xf32>
  return %2 : tensor<6x32xf32>
}

// A residual whose rows lie apart is brought into C's order first.
// CHECK-LABEL: step.program @transposed_residual
// CHECK:       step.rows
// CHECK:       step.matmul {{.*}} then [#step<post add>] with({{.*}} : memref<1x1x1x6x32xf32{{.*}}>)
func.func @transposed_residual(%x: tensor<6x16xf32>, %w: tensor<16x32xf32>, %r: tensor<32x6xf32>) -> tensor<6x32xf32> {
  %0 = tp.einsum "md,de->me" %x, %w : (tensor<6x16xf32>, tensor<16x32xf32>) -> tensor<6x32xf32>
  %1 = tp.transpose %r [1, 0] : tensor<32x6xf32> -> tensor<6x32xf32>
  %2 = tp.add %0, %1 : tensor<6x32xf32>
  return %2 : tensor<6x32xf32>
}

// f16 is multiplied as it is; a transposed operand is read with its strides.
// CHECK-LABEL: step.program @half
// CHECK-NOT:   step.rows
// CHECK:       step.matmul {{.*}} : memref<1x1x1x6x16xf16, strided<[0, 0, 0, 1, 6]>>, memref<1x1x1x16x32xf16{{.*}}> into memref<1x1x1x6x32xf16{{.*}}>
func.func @half(%x: tensor<16x6xf16>, %w: tensor<16x32xf16>) -> tensor<6x32xf16> {
  %0 = tp.einsum "dm,de->me" %x, %w : (tensor<16x6xf16>, tensor<16x32xf16>) -> tensor<6x32xf16>
  return %0 : tensor<6x32xf16>
}

// An 8-bit float is multiplied as bf16, which holds all of its numbers.
// CHECK-LABEL: step.program @byte
// CHECK:       step.matmul {{.*}} : memref<1x1x1x6x16xbf16{{.*}}>, memref<1x1x1x16x32xbf16{{.*}}> into memref<1x1x1x6x32xf32{{.*}}>
func.func @byte(%x: tensor<6x16xf8E4M3FN>, %w: tensor<16x32xf8E4M3FN>) -> tensor<6x32xf8E4M3FN> {
  %0 = tp.einsum "md,de->me" %x, %w : (tensor<6x16xf8E4M3FN>, tensor<16x32xf8E4M3FN>) -> tensor<6x32xf8E4M3FN>
  return %0 : tensor<6x32xf8E4M3FN>
}

// What lies together is copied, a part of rows is not.
// CHECK-LABEL: step.program @concat
// CHECK:       step.rows [3, 4]
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    step.load
// CHECK-NEXT:    step.store
// CHECK:       step.rows [3, 5]
// CHECK-NOT:   step.copy
// CHECK-LABEL: step.program @stack
// CHECK:       step.copy
// CHECK:       step.copy
// CHECK-NOT:   step.rows
func.func @concat(%x: tensor<3x4xbf16>, %y: tensor<3x5xbf16>) -> tensor<3x9xbf16> {
  %0 = tp.concat %x, %y dim = 1 : (tensor<3x4xbf16>, tensor<3x5xbf16>) -> tensor<3x9xbf16>
  return %0 : tensor<3x9xbf16>
}
func.func @stack(%x: tensor<3x4xbf16>, %y: tensor<5x4xbf16>) -> tensor<8x4xbf16> {
  %0 = tp.concat %x, %y dim = 0 : (tensor<3x4xbf16>, tensor<5x4xbf16>) -> tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}
