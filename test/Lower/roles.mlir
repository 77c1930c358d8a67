// A weight that a step overwrites is a parameter, which is loaded and which a
// reset leaves alone; what is donated and comes from no checkpoint is state; all
// that unless `tp.role` says otherwise.
//
// RUN: tp-opt %s --tp-lower-to-step | FileCheck %s
// CHECK: #step.input<"w", parameter,
// CHECK-SAME: #step.input<"cache", state,
// CHECK-SAME: #step.input<"x", input,
func.func @main(%w: tensor<4x4xf32> {tp.name = "w", tp.donated = 0 : i64, tp.source = #tp.source<"w", stored=[4, 4], start=[0, 0], size=[4, 4], view=[4, 4], permutation=[0, 1]>},
                %cache: tensor<4x4xf32> {tp.name = "cache", tp.donated = 1 : i64},
                %x: tensor<4x4xf32> {tp.name = "x"}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tp.add %w, %x : tensor<4x4xf32>
  %1 = tp.add %cache, %x : tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// What `tp.role` says counts.
// CHECK: step.program @step
// CHECK-SAME: #step.input<"w", parameter,
// CHECK-SAME: #step.input<"g", gradient,
// CHECK-SAME: #step.input<"m", optimizer_state,
// CHECK-SAME: #step.input<"k", kv_cache,
// CHECK-SAME: #step.input<"x", input,
func.func @step(%w: tensor<4xf32> {tp.name = "w", tp.role = "parameter"},
                %g: tensor<4xf32> {tp.name = "g", tp.role = "gradient"},
                %m: tensor<4xf32> {tp.name = "m", tp.role = "optimizer_state", tp.donated = 0 : i64},
                %k: tensor<4xf32> {tp.name = "k", tp.role = "kv_cache", tp.donated = 1 : i64},
                %x: tensor<4xf32> {tp.name = "x", tp.role = "input", tp.donated = 2 : i64})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = tp.add %m, %g : tensor<4xf32>
  %1 = tp.add %k, %w : tensor<4xf32>
  %2 = tp.add %x, %x : tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
