// A weight that a step overwrites is a parameter, which is loaded and which a
// reset leaves alone; what is donated and comes from no checkpoint is state.
//
// RUN: tp-opt %s --tp-lower-to-step | FileCheck %s
// CHECK: #step.input<"w", parameter,
// CHECK-SAME: #step.input<"cache", state,
// CHECK-SAME: #step.input<"x", activation,
func.func @main(%w: tensor<4x4xf32> {tp.name = "w", tp.donated = 0 : i64, tp.source = #tp.source<"w", stored=[4, 4], start=[0, 0], size=[4, 4], view=[4, 4], permutation=[0, 1]>},
                %cache: tensor<4x4xf32> {tp.name = "cache", tp.donated = 1 : i64},
                %x: tensor<4x4xf32> {tp.name = "x"}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tp.add %w, %x : tensor<4x4xf32>
  %1 = tp.add %cache, %x : tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}
