// RUN: tp-opt %s --tp-raise --split-input-file | FileCheck %s

// Activations and what they gate are raised by the function that they are, whichever way
// it is written; other constants make other functions.

// CHECK-LABEL: func.func @gelu_tanh
// CHECK-SAME: %[[X:.*]]: tensor<5xf32>
// CHECK-NEXT: %[[Y:.*]] = tp.gelu tanh %[[X]]
// CHECK-NEXT: return %[[Y]]
func.func @gelu_tanh(%x: tensor<5xf32>) -> tensor<5xf32> {
  %three = tp.constant dense<3.0> : tensor<5xf32>
  %cube = tp.pow %x, %three : tensor<5xf32>
  %c = tp.constant dense<0.044715> : tensor<5xf32>
  %cubic = tp.mul %cube, %c : tensor<5xf32>
  %inner = tp.add %cubic, %x : tensor<5xf32>
  %s = tp.constant dense<0.797884583> : tensor<5xf32>
  %scaled = tp.mul %inner, %s : tensor<5xf32>
  %tanh = tp.tanh %scaled : tensor<5xf32>
  %one = tp.constant dense<1.0> : tensor<5xf32>
  %sum = tp.add %tanh, %one : tensor<5xf32>
  %half = tp.constant dense<0.5> : tensor<5xf32>
  %halved = tp.mul %half, %x : tensor<5xf32>
  %y = tp.mul %halved, %sum : tensor<5xf32>
  return %y : tensor<5xf32>
}

// -----

// CHECK-LABEL: func.func @gelu_erf
// CHECK-SAME: %[[X:.*]]: tensor<5xf32>
// CHECK-NEXT: tp.gelu %[[X]]
func.func @gelu_erf(%x: tensor<5xf32>) -> tensor<5xf32> {
  %two = tp.constant dense<2.0> : tensor<5xf32>
  %root = tp.sqrt %two : tensor<5xf32>
  %scaled = tp.div %x, %root : tensor<5xf32>
  %erf = tp.erf %scaled : tensor<5xf32>
  %one = tp.constant dense<1.0> : tensor<5xf32>
  %sum = tp.add %erf, %one : tensor<5xf32>
  %product = tp.mul %x, %sum : tensor<5xf32>
  %y = tp.div %product, %two : tensor<5xf32>
  return %y : tensor<5xf32>
}

// -----

// Of a product, which must not be torn apart.
// CHECK-LABEL: func.func @swiglu
// CHECK-SAME: %[[A:.*]]: tensor<5xf32>, %[[B:.*]]: tensor<5xf32>
// CHECK-NEXT: %[[X:.*]] = tp.mul %[[A]], %[[B]]
// CHECK-NEXT: %[[Y:.*]] = tp.gated silu %[[X]], %[[B]]
// CHECK-NEXT: return %[[Y]]
func.func @swiglu(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xf32> {
  %x = tp.mul %a, %b : tensor<5xf32>
  %negative = tp.neg %x : tensor<5xf32>
  %exp = tp.exp %negative : tensor<5xf32>
  %one = tp.constant dense<1.0> : tensor<5xf32>
  %sum = tp.add %one, %exp : tensor<5xf32>
  %logistic = tp.div %one, %sum : tensor<5xf32>
  %silu = tp.mul %x, %logistic : tensor<5xf32>
  %y = tp.mul %silu, %b : tensor<5xf32>
  return %y : tensor<5xf32>
}

// -----

// 0.8 is no sqrt(2 / pi).
// CHECK-LABEL: func.func @other_constant
// CHECK-NOT: tp.gelu
func.func @other_constant(%x: tensor<5xf32>) -> tensor<5xf32> {
  %square = tp.mul %x, %x : tensor<5xf32>
  %cube = tp.mul %square, %x : tensor<5xf32>
  %c = tp.constant dense<0.044715> : tensor<5xf32>
  %cubic = tp.mul %cube, %c : tensor<5xf32>
  %inner = tp.add %cubic, %x : tensor<5xf32>
  %s = tp.constant dense<0.8> : tensor<5xf32>
  %scaled = tp.mul %inner, %s : tensor<5xf32>
  %tanh = tp.tanh %scaled : tensor<5xf32>
  %one = tp.constant dense<1.0> : tensor<5xf32>
  %sum = tp.add %tanh, %one : tensor<5xf32>
  %half = tp.constant dense<0.5> : tensor<5xf32>
  %halved = tp.mul %half, %x : tensor<5xf32>
  %y = tp.mul %halved, %sum : tensor<5xf32>
  return %y : tensor<5xf32>
}

// -----

// x times the logistic function of something else.
// CHECK-LABEL: func.func @gate
// CHECK-NOT: tp.silu
// CHECK-NOT: tp.gated
func.func @gate(%x: tensor<5xf32>, %z: tensor<5xf32>) -> tensor<5xf32> {
  %logistic = tp.logistic %z : tensor<5xf32>
  %y = tp.mul %x, %logistic : tensor<5xf32>
  return %y : tensor<5xf32>
}

// -----

// The gradient uses what lies between.
// CHECK-LABEL: func.func @shared
// CHECK-NOT: tp.silu
func.func @shared(%x: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %logistic = tp.logistic %x : tensor<5xf32>
  %y = tp.mul %x, %logistic : tensor<5xf32>
  return %y, %logistic : tensor<5xf32>, tensor<5xf32>
}
