// Attention's gradients are ops of their own, which compute the weights again
// from the log-sum-exp of each row. They are right whatever hides keys.

// RUN: tp-opt %s --tp-differentiate=loss=loss | FileCheck %s
// RUN: tp-opt %s --tp-differentiate=loss=loss --tp-verify-gradient -o /dev/null
// On a CPU, blocks of queries see keys up to their last one.
// RUN: tp-opt %s --tp-differentiate=loss=loss -o %t.mlir
// RUN: tp-run %t.mlir --shard="mesh=model=2" --check 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: tp-run %t.mlir --shard="mesh=model=3" --check 2>&1 | FileCheck %s --check-prefix=SAME

// CHECK:      %[[O:.*]], %[[L:.*]] = tp.attention %arg0, %arg1, %arg2 offset(%arg3 : tensor<2xi32>) lengths(%arg4 : tensor<2xi32>) mask(%arg5 : tensor<2x9x11xi1>)
// CHECK:      %[[O1:.*]], %[[L1:.*]] = tp.attention %arg6, %arg7, %arg7 {causal
// The key and the value are one: two gradients are added.
// CHECK:      tp.attention_query_gradient %arg6, %arg7, %arg7, %[[G1:.*]], %[[L1]], %[[D1:.*]] {causal, scale = 2.500000e-01 : f64}
// CHECK:      %[[K1:.*]], %[[V1:.*]] = tp.attention_key_value_gradient %arg6, %arg7, %arg7, %[[G1]], %[[L1]], %[[D1]] {causal
// CHECK:      tp.add %[[K1]], %[[V1]]
// CHECK:      %[[P:.*]] = tp.mul %[[G:.*]], %[[O]]
// CHECK:      %[[D:.*]] = tp.reduce sum %[[P]] dims = [4]
// CHECK:      tp.attention_query_gradient %arg0, %arg1, %arg2, %[[G]], %[[L]], %[[D]] offset(%arg3 : tensor<2xi32>) lengths(%arg4 : tensor<2xi32>) mask(%arg5 : tensor<2x9x11xi1>) {causal, scale = 7.500000e-01 : f64, window = 5 : i64}
// CHECK-NOT:  tp.exp
func.func @main(%q: tensor<2x9x2x3x4xf32> {tp.name = "q", tp.role = "parameter"}, %k: tensor<2x11x2x4xf32> {tp.name = "k", tp.role = "parameter"},
                %v: tensor<2x11x2x5xf32> {tp.name = "v", tp.role = "parameter"}, %p: tensor<2xi32> {tp.name = "p"}, %n: tensor<2xi32> {tp.name = "n"},
                %m: tensor<2x9x11xi1> {tp.name = "m"},
                %x: tensor<1x300x1x2x16xf32> {tp.name = "x", tp.role = "parameter"}, %y: tensor<1x300x1x16xf32> {tp.name = "y", tp.role = "parameter"})
    -> (tensor<f32> {tp.name = "loss"}) {
  %0 = tp.attention %q, %k, %v offset(%p : tensor<2xi32>) lengths(%n : tensor<2xi32>) mask(%m : tensor<2x9x11xi1>) {causal, window = 5, scale = 0.75 : f64}
      : (tensor<2x9x2x3x4xf32>, tensor<2x11x2x4xf32>, tensor<2x11x2x5xf32>) -> tensor<2x9x2x3x5xf32>
  %1 = tp.sin %0 : tensor<2x9x2x3x5xf32>
  %2 = tp.reduce sum %1 dims = [0, 1, 2, 3, 4] : tensor<2x9x2x3x5xf32> -> tensor<f32>
  %3 = tp.attention %x, %y, %y {causal, scale = 0.25 : f64} : (tensor<1x300x1x2x16xf32>, tensor<1x300x1x16xf32>, tensor<1x300x1x16xf32>) -> tensor<1x300x1x2x16xf32>
  %4 = tp.sin %3 : tensor<1x300x1x2x16xf32>
  %5 = tp.reduce sum %4 dims = [0, 1, 2, 3, 4] : tensor<1x300x1x2x16xf32> -> tensor<f32>
  %loss = tp.add %2, %5 : tensor<f32>
  return %loss : tensor<f32>
}
// SAME-COUNT-6: check {{.*}}: ok
