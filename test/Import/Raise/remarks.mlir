// RUN: tp-opt %s --tp-raise --remarks-filter=tp-raise -o /dev/null 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-raise -o /dev/null 2>&1 | not grep "remark: "

// A remark for every op that was raised, one for what was raised in two steps, and one
// with their numbers; nobody who asks for none gets any.
func.func @main(%x: tensor<5xf32>, %up: tensor<5xf32>, %table: tensor<7x5xf32>, %ids: tensor<3xi32>) -> (tensor<5xf32>, tensor<3x5xf32>) {
  %logistic = tp.logistic %x : tensor<5xf32>
  %silu = tp.mul %x, %logistic : tensor<5xf32>
  // CHECK-NOT: silu
  // CHECK: remarks.mlir:[[@LINE+1]]:8: remark: [Passed] gated | Category:tp-raise | Function=main | Reason="raised from primitives"
  %y = tp.mul %silu, %up : tensor<5xf32>
  // CHECK: remarks.mlir:[[@LINE+1]]:11: remark: [Passed] embedding | Category:tp-raise | Function=main
  %rows = tp.gather %table, %ids axis = 0 batch = 0 : (tensor<7x5xf32>, tensor<3xi32>) -> tensor<3x5xf32>
  // CHECK: remark: [Analysis] raised | Category:tp-raise | embedding=1, gated=1
  return %y, %rows : tensor<5xf32>, tensor<3x5xf32>
}
