// Attention with all that hides keys, in parts, and its gradients.

// RUN: tp-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: step.program @attention
// CHECK: step.attention %{{.*}}, %{{.*}}, %{{.*}} offset(%{{.*}} : memref<2xi32>) lengths(%{{.*}} : memref<2xi32>) mask(%{{.*}} : memref<2x4x8xi1>) into %{{.*}} {causal, scale = 1.250000e-01 : f64, window = 3 : i64}
// CHECK: step.attention %{{.*}}, %{{.*}}, %{{.*}} into %{{.*}} parts(%{{.*}}, %{{.*}}, %{{.*}} : memref<3x2x4x1x2x16xf32>, memref<3x2x4x1x2x2xf32>, memref<2x4x1x2xi32>) {scale = 1.250000e-01 : f64, two_warps}
step.program @attention inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>, #step.input<"n", input, tensor<2xi32>>, #step.input<"m", input, tensor<2x4x8xi1>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>, %n: memref<2xi32>, %m: memref<2x4x8xi1>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  step.attention %q, %k, %k offset(%n : memref<2xi32>) lengths(%n : memref<2xi32>) mask(%m : memref<2x4x8xi1>) into %y {causal, scale = 0.125 : f64, window = 3 : i64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
  %p = step.alloc : memref<3x2x4x1x2x16xf32>
  %s = step.alloc : memref<3x2x4x1x2x2xf32>
  %c = step.alloc : memref<2x4x1x2xi32>
  step.attention %q, %k, %k into %y parts(%p, %s, %c : memref<3x2x4x1x2x16xf32>, memref<3x2x4x1x2x2xf32>, memref<2x4x1x2xi32>) {scale = 0.125 : f64, two_warps}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// CHECK-LABEL: step.program @gradients
// CHECK: step.attention %{{.*}}, %{{.*}}, %{{.*}} into %{{.*}} logsumexp(%{{.*}} : memref<2x4x1x2xf32>) {scale = 1.250000e-01 : f64}
// CHECK: step.attention_query_gradient %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} offset(%{{.*}} : memref<2xi32>) into %{{.*}} {causal, scale = 1.250000e-01 : f64, window = 3 : i64}
// CHECK: step.attention_key_value_gradient %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} lengths(%{{.*}} : memref<2xi32>) mask(%{{.*}} : memref<2x4x8xi1>) into %{{.*}}, %{{.*}} {scale = 1.250000e-01 : f64}
step.program @gradients inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>, #step.input<"n", input, tensor<2xi32>>, #step.input<"m", input, tensor<2x4x8xi1>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>, %n: memref<2xi32>, %m: memref<2x4x8xi1>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %l = step.alloc : memref<2x4x1x2xf32>
  step.attention %q, %k, %k into %y logsumexp(%l : memref<2x4x1x2xf32>) {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
  %dq = step.alloc : memref<2x4x1x2x16xf16>
  step.attention_query_gradient %q, %k, %k, %y, %l, %l offset(%n : memref<2xi32>) into %dq {causal, scale = 0.125 : f64, window = 3 : i64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16>, memref<2x4x1x2x16xf16>, memref<2x4x1x2xf32>, memref<2x4x1x2xf32> into memref<2x4x1x2x16xf16>
  %dk = step.alloc : memref<2x8x1x16xf16>
  %dv = step.alloc : memref<2x8x1x16xf16>
  step.attention_key_value_gradient %q, %k, %k, %y, %l, %l lengths(%n : memref<2xi32>) mask(%m : memref<2x4x8xi1>) into %dk, %dv {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16>, memref<2x4x1x2x16xf16>, memref<2x4x1x2xf32>, memref<2x4x1x2xf32> into memref<2x8x1x16xf16>, memref<2x8x1x16xf16>
}
