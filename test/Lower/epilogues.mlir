// RUN: tp-opt %s --tp-lower-to-step | FileCheck %s

// oneDNN computes a product one element after the other, several hundred times as slowly,
// where what follows it does not lie as the result does. A bias of each row, such as of
// the channels of NCHW images, is added behind the product.
// CHECK-LABEL: step.program @channels
// CHECK: step.matmul
// CHECK-NOT: then
// CHECK: step.rows
func.func @channels(%a: tensor<32x48xf32>, %b: tensor<48x64xf32>, %v: tensor<32xf32>) -> tensor<32x64xf32> {
  %0 = tp.einsum "mk,kn->mn" %a, %b : (tensor<32x48xf32>, tensor<48x64xf32>) -> tensor<32x64xf32>
  %1 = tp.broadcast %v dims = [0] : tensor<32xf32> -> tensor<32x64xf32>
  %2 = tp.add %0, %1 : tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}

// A bias of each column and one number follow it as they are.
// CHECK-LABEL: step.program @features
// CHECK-NOT: step.copy
// CHECK: step.matmul %{{.*}} then [#step<post add>, #step<post multiply>] with({{.*}}strided<[0, 0, 0, 0, 1]>>, {{.*}}strided<[0, 0, 0, 0, 0]>>)
// CHECK-NOT: step.rows
func.func @features(%a: tensor<32x48xf32>, %b: tensor<48x64xf32>, %v: tensor<64xf32>, %s: tensor<f32>) -> tensor<32x64xf32> {
  %0 = tp.einsum "mk,kn->mn" %a, %b : (tensor<32x48xf32>, tensor<48x64xf32>) -> tensor<32x64xf32>
  %1 = tp.broadcast %v dims = [1] : tensor<64xf32> -> tensor<32x64xf32>
  %2 = tp.add %0, %1 : tensor<32x64xf32>
  %3 = tp.broadcast %s dims = [] : tensor<f32> -> tensor<32x64xf32>
  %4 = tp.mul %2, %3 : tensor<32x64xf32>
  return %4 : tensor<32x64xf32>
}

// A slice, or a transposed residual, is copied first.
// CHECK-LABEL: step.program @slice
// CHECK: step.copy {{.*}}strided<[80, 1]
// CHECK: step.matmul %{{.*}} then [#step<post add>] with({{.*}}strided<[0, 0, 0, 64, 1]>>)
func.func @slice(%a: tensor<32x48xf32>, %b: tensor<48x64xf32>, %v: tensor<32x80xf32>) -> tensor<32x64xf32> {
  %0 = tp.einsum "mk,kn->mn" %a, %b : (tensor<32x48xf32>, tensor<48x64xf32>) -> tensor<32x64xf32>
  %1 = tp.slice %v starts = [0, 0] strides = [1, 1] : tensor<32x80xf32> -> tensor<32x64xf32>
  %2 = tp.add %0, %1 : tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}

// Where the result has gaps, in its place in a concatenation, it is computed apart ...
// CHECK-LABEL: step.program @gaps
// CHECK: step.matmul %{{.*}} then [#step<post add>] with({{.*}} into memref<1x1x1x32x64xf32, strided<[0, 0, 0, 64, 1]>>
// CHECK: step.copy {{.*}}strided<[80, 1]
func.func @gaps(%a: tensor<32x48xf32>, %b: tensor<48x64xf32>, %v: tensor<64xf32>, %w: tensor<32x16xf32>) -> tensor<32x80xf32> {
  %0 = tp.einsum "mk,kn->mn" %a, %b : (tensor<32x48xf32>, tensor<48x64xf32>) -> tensor<32x64xf32>
  %1 = tp.broadcast %v dims = [1] : tensor<64xf32> -> tensor<32x64xf32>
  %2 = tp.add %0, %1 : tensor<32x64xf32>
  %3 = tp.concat %2, %w dim = 1 : (tensor<32x64xf32>, tensor<32x16xf32>) -> tensor<32x80xf32>
  return %3 : tensor<32x80xf32>
}

// ... but not if nothing but an activation follows, or a residual with the same gaps.
// CHECK-LABEL: step.program @alike
// CHECK: step.matmul %{{.*}} then [#step<post add>, #step<post relu>] with({{.*}}strided<[0, 0, 0, 80, 1]>>) {{.*}} into memref<1x1x1x32x64xf32, strided<[0, 0, 0, 80, 1]>>
func.func @alike(%a: tensor<32x48xf32>, %b: tensor<48x64xf32>, %v: tensor<32x80xf32>, %w: tensor<32x16xf32>) -> tensor<32x80xf32> {
  %0 = tp.einsum "mk,kn->mn" %a, %b : (tensor<32x48xf32>, tensor<48x64xf32>) -> tensor<32x64xf32>
  %1 = tp.slice %v starts = [0, 0] strides = [1, 1] : tensor<32x80xf32> -> tensor<32x64xf32>
  %2 = tp.add %0, %1 : tensor<32x64xf32>
  %3 = tp.relu %2 : tensor<32x64xf32>
  %4 = tp.concat %3, %w dim = 1 : (tensor<32x64xf32>, tensor<32x16xf32>) -> tensor<32x80xf32>
  return %4 : tensor<32x80xf32>
}

// One row may come of a column with any stride.
// CHECK-LABEL: step.program @column
// CHECK: step.copy {{.*}}strided<[2]
// CHECK: step.matmul %{{.*}} then [#step<post add>]
func.func @column(%a: tensor<33x1xf32>, %b: tensor<1x1xf32>, %v: tensor<34x2xf32>) -> tensor<33x1xf32> {
  %0 = tp.einsum "ik,kj->ij" %a, %b : (tensor<33x1xf32>, tensor<1x1xf32>) -> tensor<33x1xf32>
  %1 = tp.slice %v starts = [1, 1] strides = [1, 1] : tensor<34x2xf32> -> tensor<33x1xf32>
  %2 = tp.add %0, %1 : tensor<33x1xf32>
  return %2 : tensor<33x1xf32>
}
