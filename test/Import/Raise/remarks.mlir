// RUN: tp-opt %s --tp-raise --remarks-filter=tp-raise --verify-diagnostics -o /dev/null
// RUN: tp-opt %s --tp-raise -o /dev/null 2>&1 | not grep "remark: "

// A remark for every op that was raised, one for what was raised in two steps; nobody
// who asks for none gets any.
func.func @main(%x: tensor<5xf32>, %up: tensor<5xf32>, %table: tensor<7x5xf32>, %ids: tensor<3xi32>) -> (tensor<5xf32>, tensor<3x5xf32>) {
  %logistic = tp.logistic %x : tensor<5xf32>
  %silu = tp.mul %x, %logistic : tensor<5xf32>
  // expected-remark @below {{[Passed] gated | Category:tp-raise | Function=main | Reason="raised from primitives"}}
  %y = tp.mul %silu, %up : tensor<5xf32>
  // expected-remark @below {{[Passed] embedding | Category:tp-raise | Function=main}}
  %rows = tp.gather %table, %ids axis = 0 batch = 0 : (tensor<7x5xf32>, tensor<3xi32>) -> tensor<3x5xf32>
  return %y, %rows : tensor<5xf32>, tensor<3x5xf32>
}
