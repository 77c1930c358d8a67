// RUN: tp-opt %s --tp-lower-to-step=target=cuda | FileCheck %s

// What an einsum sums of one operand alone is not rounded to bf16 on the way:
// only the result is.
// CHECK-LABEL: step.program @own_letter
// CHECK:       step.rows [12, 400] reads(%{{.*}} : memref<12x400xbf16>) writes(%{{.*}} : memref<12x1xf32>)
// CHECK:         step.reduce sum %{{.*}} : f32
// CHECK-NEXT:    step.store %{{.*}} : f32, memref<12x1xf32>
// CHECK:       step.matmul {{.*}} : memref<1x1x1x4x3xf32{{.*}}>, memref<1x1x1x3x5xf32{{.*}}> into memref<1x1x1x4x5xf32{{.*}}>
// CHECK:         arith.truncf %{{.*}} : f32 to bf16
func.func @own_letter(%x: tensor<4x3x400xbf16>, %w: tensor<3x5xbf16>) -> tensor<4x5xbf16> {
  %0 = tp.einsum "ijk,jl->il" %x, %w : (tensor<4x3x400xbf16>, tensor<3x5xbf16>) -> tensor<4x5xbf16>
  return %0 : tensor<4x5xbf16>
}

// Without such a letter bf16 are multiplied as they are.
// CHECK-LABEL: step.program @product
// CHECK-NOT:   step.rows
// CHECK:       step.matmul {{.*}} : memref<1x1x1x4x3xbf16{{.*}}>, memref<1x1x1x3x5xbf16{{.*}}>
func.func @product(%x: tensor<4x3xbf16>, %w: tensor<3x5xbf16>) -> tensor<4x5xbf16> {
  %0 = tp.einsum "ij,jl->il" %x, %w : (tensor<4x3xbf16>, tensor<3x5xbf16>) -> tensor<4x5xbf16>
  return %0 : tensor<4x5xbf16>
}
