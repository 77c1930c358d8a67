// What nobody uses is dropped, and need not be supported.
// RUN: tp-opt %s --tp-import-stablehlo --split-input-file | FileCheck %s

// Windows over places, too, as PyTorch's MaxPool2d has them.
// CHECK-LABEL: func.func @max_pool
func.func @max_pool(%x: tensor<8xf32>) -> tensor<4xf32> {
  // CHECK-NOT: iota
  // CHECK-NOT: stablehlo
  // CHECK-COUNT-1: tp.max
  // CHECK-NEXT: return
  %places = stablehlo.iota dim = 0 : tensor<8xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  %1:2 = "stablehlo.reduce_window"(%places, %x, %zero, %least) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%i: tensor<i32>, %a: tensor<f32>, %j: tensor<i32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %k = func.call @choose(%p, %i, %j) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %m = stablehlo.select %p, %a, %b : tensor<i1>, tensor<f32>
    stablehlo.return %k, %m : tensor<i32>, tensor<f32>
  }) : (tensor<8xi32>, tensor<8xf32>, tensor<i32>, tensor<f32>) -> (tensor<4xi32>, tensor<4xf32>)
  return %0 : tensor<4xf32>
}
// CHECK-NOT: @choose
func.func private @choose(%p: tensor<i1>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.select %p, %i, %j : tensor<i1>, tensor<i32>
  return %0 : tensor<i32>
}

// -----

// Functions whose calls are unused, and those that these call; not one that is
// called elsewhere.
// CHECK-LABEL: func.func @calls
// CHECK-NEXT: %[[X:.*]] = call @both
// CHECK-NEXT: return %[[X]]
// CHECK-NOT: @rounded
// CHECK-NOT: @inner
// CHECK: func.func private @both
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @rounded(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @both(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @rounded(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf8E5M2>
  %1 = stablehlo.convert %0 : (tensor<4xf8E5M2>) -> tensor<4xf32>
  %2 = call @both(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf8E5M2> {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf8E5M2>
  %1 = stablehlo.reduce_precision %0, format = e4m1 : tensor<4xf8E5M2>
  return %1 : tensor<4xf8E5M2>
}
func.func private @both(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Calls in loops.
// CHECK-LABEL: func.func @called
// CHECK-NEXT: return
// CHECK-NOT: func
func.func @called(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %turns = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %turns : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = func.call @body(%a) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xf32>
  }
  return %x : tensor<4xf32>
}
func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Loops, and what only they use; in a loop that is used, too.
// CHECK-LABEL: func.func @loops
// CHECK-NOT: exp
// CHECK-NOT: sin
// CHECK-COUNT-1: tp.for
// CHECK-NOT: tp.for
// CHECK: return
func.func @loops(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %turns = stablehlo.constant dense<3> : tensor<i32>
  %e = stablehlo.exponential %x : tensor<4xf32>
  %0:2 = stablehlo.while(%i = %zero, %a = %e) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %turns : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = stablehlo.add %a, %a : tensor<4xf32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xf32>
  }
  %1:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %turns : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.sine %a : tensor<4xf32>
    %b = stablehlo.add %a, %a : tensor<4xf32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xf32>
  }
  return %1#1 : tensor<4xf32>
}

// -----

// A constraint that nobody uses says how its input lies, if somebody uses that.
// CHECK-LABEL: func.func @constraint
// CHECK: %[[Y:.*]] = tp.neg
// CHECK-NEXT: spmd.constraint %[[Y]]
// CHECK-NEXT: return %[[Y]]
sdy.mesh @mesh = <["x"=2]>
func.func @constraint(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<4xf32>
  %2 = stablehlo.add %x, %x : tensor<4xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{"x"}]> : tensor<4xf32>
  %4 = sdy.sharding_constraint %3 <@mesh, [{}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Operations that are not imported, and what only they use.
// CHECK-LABEL: func.func @foreign
// CHECK-NEXT: return
func.func @foreign(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.negate %x : tensor<4x4xf32>
  %1 = stablehlo.cholesky %0, lower = true : tensor<4x4xf32>
  %2 = stablehlo.complex %1, %x : tensor<4x4xcomplex<f32>>
  %3 = stablehlo.fft %2, type = FFT, length = [4] : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
  %4 = stablehlo.real %3 : (tensor<4x4xcomplex<f32>>) -> tensor<4x4xf32>
  %5 = stablehlo.create_token : !stablehlo.token
  %6 = stablehlo.after_all %5, %5 : !stablehlo.token
  return %x : tensor<4x4xf32>
}
