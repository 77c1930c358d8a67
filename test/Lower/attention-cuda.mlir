// With kernels for it, attention is one step, also where it has parts. What the kernels cannot do is decomposed, with a
// remark.

// RUN: tp-opt %s --split-input-file --verify-diagnostics --tp-lower-to-step=target=cuda | FileCheck %s

// CHECK-LABEL: step.program @prefill
// The query is read where it is, head by head.
// CHECK:      %[[Q:.*]] = step.view %arg0 : memref<1x4x200x64xbf16> as memref<1x200x2x2x64xbf16, strided<[{{0|51200}}, 64, 25600, 12800, 1]>>
// CHECK:      step.attention %[[Q]], %arg1, %arg2 offset(%arg3 : memref<i32>) into %arg4 {causal, scale = 1.250000e-01 : f64, window = 64 : i64}
// CHECK-NOT:  step.
func.func @prefill(%q: tensor<1x4x200x64xbf16>, %k: tensor<1x300x2x64xbf16>, %v: tensor<1x300x2x64xbf16>,
                   %p: tensor<i32>) -> tensor<1x200x2x2x64xbf16> {
  %0 = tp.reshape %q : tensor<1x4x200x64xbf16> -> tensor<1x2x2x200x64xbf16>
  %1 = tp.transpose %0 [0, 3, 1, 2, 4] : tensor<1x2x2x200x64xbf16> -> tensor<1x200x2x2x64xbf16>
  %o = tp.attention %1, %k, %v offset(%p : tensor<i32>) {causal, window = 64, scale = 0.125 : f64}
      : (tensor<1x200x2x2x64xbf16>, tensor<1x300x2x64xbf16>, tensor<1x300x2x64xbf16>) -> tensor<1x200x2x2x64xbf16>
  return %o : tensor<1x200x2x2x64xbf16>
}

// -----

// CHECK-LABEL: step.program @decode
// The program begins with counters of zero, and attention leaves them so.
// CHECK:      %[[ZEROS:.*]] = step.alloc : memref<32xi32>
// CHECK-NEXT: step.fill %[[ZEROS]] with 0 : i32 in memref<32xi32>
// Lengths of 64 bits become words.
// CHECK:      step.rows [2]
// CHECK:      step.choose {
// CHECK:      %[[COUNTERS:.*]] = step.view %[[ZEROS]] : memref<32xi32> as memref<2x1x4x4xi32>
// CHECK:      step.attention %arg0, %arg1, %arg2 lengths(%{{.*}} : memref<2xi32>) into %[[OUT:.*]] parts(%{{.*}}, %{{.*}}, %[[COUNTERS]] : memref<8x2x1x4x4x128xf32>, memref<8x2x1x4x4x2xf32>, memref<2x1x4x4xi32>)
// CHECK-SAME: into memref<2x1x4x4x128xf16>
// CHECK-NOT:  two_warps
// The runtime times half as many parts beside these, and two warps with the same rows.
// CHECK:      } or {
// CHECK:      step.attention {{.*}} into %[[OUT]] parts({{.*}} : memref<4x2x1x4x4x128xf32>, memref<4x2x1x4x4x2xf32>, memref<2x1x4x4xi32>)
// CHECK-NOT:  two_warps
// CHECK:      } or {
// CHECK:      step.attention {{.*}} into %[[OUT]] parts({{.*}} : memref<8x2x1x4x4x128xf32>, memref<8x2x1x4x4x2xf32>, memref<2x1x4x4xi32>)
// CHECK-SAME: two_warps
// CHECK-NOT:  step.
func.func @decode(%q: tensor<2x1x4x4x128xf16>, %k: tensor<2x1024x4x128xf16>, %v: tensor<2x1024x4x128xf16>,
                  %l: tensor<2xi64>) -> tensor<2x1x4x4x128xf16> {
  %o = tp.attention %q, %k, %v lengths(%l : tensor<2xi64>) {scale = 0.125 : f64}
      : (tensor<2x1x4x4x128xf16>, tensor<2x1024x4x128xf16>, tensor<2x1024x4x128xf16>) -> tensor<2x1x4x4x128xf16>
  return %o : tensor<2x1x4x4x128xf16>
}

// -----

// A query that begins in the middle of a piece is copied, a transposed key, too.
// CHECK-LABEL: step.program @copied
// CHECK:       step.rows
// CHECK:       step.rows
// CHECK:       step.attention
func.func @copied(%x: tensor<1x4x1x1x20xf32>, %k: tensor<1x1x16x4xf32>, %v: tensor<1x4x1x16xf32>) -> tensor<1x4x1x1x16xf32> {
  %q = tp.slice %x starts = [0, 0, 0, 0, 2] strides = [1, 1, 1, 1, 1] : tensor<1x4x1x1x20xf32> -> tensor<1x4x1x1x16xf32>
  %t = tp.transpose %k [0, 3, 1, 2] : tensor<1x1x16x4xf32> -> tensor<1x4x1x16xf32>
  %o = tp.attention %q, %t, %v {scale = 0.25 : f64}
      : (tensor<1x4x1x1x16xf32>, tensor<1x4x1x16xf32>, tensor<1x4x1x16xf32>) -> tensor<1x4x1x1x16xf32>
  return %o : tensor<1x4x1x1x16xf32>
}

// -----

// CHECK-LABEL: step.program @odd
// CHECK-NOT:   step.attention
func.func @odd(%q: tensor<1x4x1x1x10xbf16>, %k: tensor<1x4x1x10xbf16>) -> tensor<1x4x1x1x10xbf16> {
  // expected-remark @below {{this attention runs without an attention kernel: attention kernels support at most 256 features, and only multiples of 8, got 10}}
  %o = tp.attention %q, %k, %k {scale = 0.25 : f64}
      : (tensor<1x4x1x1x10xbf16>, tensor<1x4x1x10xbf16>, tensor<1x4x1x10xbf16>) -> tensor<1x4x1x1x10xbf16>
  return %o : tensor<1x4x1x1x10xbf16>
}

// -----

// CHECK-LABEL: step.program @wide
// CHECK-NOT:   step.attention
func.func @wide(%q: tensor<1x4x1x1x16xf64>, %k: tensor<1x4x1x16xf64>) -> tensor<1x4x1x1x16xf64> {
  // expected-remark @below {{this attention runs without an attention kernel: attention kernels do not support elements of type f64}}
  %o = tp.attention %q, %k, %k {scale = 0.25 : f64}
      : (tensor<1x4x1x1x16xf64>, tensor<1x4x1x16xf64>, tensor<1x4x1x16xf64>) -> tensor<1x4x1x1x16xf64>
  return %o : tensor<1x4x1x1x16xf64>
}

// -----

// CHECK-LABEL: step.program @negative
// CHECK-NOT:   step.attention
func.func @negative(%q: tensor<1x4x1x1x16xf32>, %k: tensor<1x4x1x16xf32>) -> tensor<1x4x1x1x16xf32> {
  // expected-remark @below {{this attention runs without an attention kernel: the scale is not positive and finite}}
  %o = tp.attention %q, %k, %k {scale = -0.25 : f64}
      : (tensor<1x4x1x1x16xf32>, tensor<1x4x1x16xf32>, tensor<1x4x1x16xf32>) -> tensor<1x4x1x1x16xf32>
  return %o : tensor<1x4x1x1x16xf32>
}
