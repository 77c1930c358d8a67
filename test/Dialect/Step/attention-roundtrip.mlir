// Attention with all that hides keys, and in parts.

// RUN: tp-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: step.program @attention
// CHECK: step.attention %{{.*}}, %{{.*}}, %{{.*}} offset(%{{.*}} : memref<2xi32>) lengths(%{{.*}} : memref<2xi32>) mask(%{{.*}} : memref<2x4x8xi1>) into %{{.*}} {causal, scale = 1.250000e-01 : f64, window = 3 : i64}
// CHECK: step.attention %{{.*}}, %{{.*}}, %{{.*}} into %{{.*}} statistics(%{{.*}} : memref<3x2x4x1x2x2xf32>) {scale = 1.250000e-01 : f64}
step.program @attention inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>, #step.input<"n", input, tensor<2xi32>>, #step.input<"m", input, tensor<2x4x8xi1>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>, %n: memref<2xi32>, %m: memref<2x4x8xi1>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  step.attention %q, %k, %k offset(%n : memref<2xi32>) lengths(%n : memref<2xi32>) mask(%m : memref<2x4x8xi1>) into %y {causal, scale = 0.125 : f64, window = 3 : i64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
  %p = step.alloc : memref<3x2x4x1x2x16xf32>
  %s = step.alloc : memref<3x2x4x1x2x2xf32>
  step.attention %q, %k, %k into %p statistics(%s : memref<3x2x4x1x2x2xf32>) {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<3x2x4x1x2x16xf32>
}
