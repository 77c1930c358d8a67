// RUN: tp-opt %s --split-input-file --verify-diagnostics

// A case for each line of the Constraints of every op, in their order, and under
// "types" what the types of operands rule out.


// tp.neg 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.neg' op expects operands and results to have the same shape}}
  %0 = "tp.neg"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.abs 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.abs' op expects operands and results to have the same shape}}
  %0 = "tp.abs"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.sign 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.sign' op expects operands and results to have the same shape}}
  %0 = "tp.sign"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.exp 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.exp' op expects operands and results to have the same shape}}
  %0 = "tp.exp"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.expm1 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.expm1' op expects operands and results to have the same shape}}
  %0 = "tp.expm1"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.log 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.log' op expects operands and results to have the same shape}}
  %0 = "tp.log"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.log1p 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.log1p' op expects operands and results to have the same shape}}
  %0 = "tp.log1p"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.sqrt 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.sqrt' op expects operands and results to have the same shape}}
  %0 = "tp.sqrt"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.rsqrt 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.rsqrt' op expects operands and results to have the same shape}}
  %0 = "tp.rsqrt"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.cbrt 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.cbrt' op expects operands and results to have the same shape}}
  %0 = "tp.cbrt"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.sin 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.sin' op expects operands and results to have the same shape}}
  %0 = "tp.sin"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.cos 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.cos' op expects operands and results to have the same shape}}
  %0 = "tp.cos"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.tan 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.tan' op expects operands and results to have the same shape}}
  %0 = "tp.tan"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.tanh 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.tanh' op expects operands and results to have the same shape}}
  %0 = "tp.tanh"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.erf 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.erf' op expects operands and results to have the same shape}}
  %0 = "tp.erf"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.logistic 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.logistic' op expects operands and results to have the same shape}}
  %0 = "tp.logistic"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.floor 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.floor' op expects operands and results to have the same shape}}
  %0 = "tp.floor"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.ceil 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.ceil' op expects operands and results to have the same shape}}
  %0 = "tp.ceil"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.round_even 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.round_even' op expects operands and results to have the same shape}}
  %0 = "tp.round_even"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.stop_gradient 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.stop_gradient' op expects operands and results to have the same shape}}
  %0 = "tp.stop_gradient"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.not 1: another shape
func.func @f(%x: tensor<4xi32>) {
  // expected-error @below {{[TP0303] 'tp.not' op expects operands and results to have the same shape}}
  %0 = "tp.not"(%x) : (tensor<4xi32>) -> tensor<5xi32>
  return
}

// -----

// tp.popcount 1: another shape
func.func @f(%x: tensor<4xi32>) {
  // expected-error @below {{[TP0303] 'tp.popcount' op expects operands and results to have the same shape}}
  %0 = "tp.popcount"(%x) : (tensor<4xi32>) -> tensor<5xi32>
  return
}

// -----

// tp.count_leading_zeros 1: another shape
func.func @f(%x: tensor<4xi32>) {
  // expected-error @below {{[TP0303] 'tp.count_leading_zeros' op expects operands and results to have the same shape}}
  %0 = "tp.count_leading_zeros"(%x) : (tensor<4xi32>) -> tensor<5xi32>
  return
}

// -----

// tp.exp types: no integers
func.func @f(%x: tensor<4xi32>) {
  // expected-error @below {{operand #0 must be static tensor of floats, but got 'tensor<4xi32>'}}
  %0 = tp.exp %x : tensor<4xi32>
  return
}

// -----

// tp.neg 1: another element type
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "tp.neg"(%x) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

// tp.add 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.add' op expects operands and results to have the same shape}}
  %0 = "tp.add"(%x, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// tp.sub 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.sub' op expects operands and results to have the same shape}}
  %0 = "tp.sub"(%x, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// tp.mul 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.mul' op expects operands and results to have the same shape}}
  %0 = "tp.mul"(%x, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// tp.div 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.div' op expects operands and results to have the same shape}}
  %0 = "tp.div"(%x, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// tp.max 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.max' op expects operands and results to have the same shape}}
  %0 = "tp.max"(%x, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// tp.min 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.min' op expects operands and results to have the same shape}}
  %0 = "tp.min"(%x, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// tp.pow 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.pow' op expects operands and results to have the same shape}}
  %0 = "tp.pow"(%x, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// tp.rem 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.rem' op expects operands and results to have the same shape}}
  %0 = "tp.rem"(%x, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// tp.atan2 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.atan2' op expects operands and results to have the same shape}}
  %0 = "tp.atan2"(%x, %s) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// tp.and 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xi32>, %s: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.and' op expects operands and results to have the same shape}}
  %0 = "tp.and"(%x, %s) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return
}

// -----

// tp.or 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xi32>, %s: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.or' op expects operands and results to have the same shape}}
  %0 = "tp.or"(%x, %s) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return
}

// -----

// tp.xor 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xi32>, %s: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.xor' op expects operands and results to have the same shape}}
  %0 = "tp.xor"(%x, %s) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return
}

// -----

// tp.shift_left 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xi32>, %s: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.shift_left' op expects operands and results to have the same shape}}
  %0 = "tp.shift_left"(%x, %s) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return
}

// -----

// tp.shift_right_arithmetic 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xi32>, %s: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.shift_right_arithmetic' op expects operands and results to have the same shape}}
  %0 = "tp.shift_right_arithmetic"(%x, %s) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return
}

// -----

// tp.shift_right_logical 1: two shapes, nothing is broadcast
func.func @f(%x: tensor<4xi32>, %s: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.shift_right_logical' op expects operands and results to have the same shape}}
  %0 = "tp.shift_right_logical"(%x, %s) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return
}

// -----

// tp.add 1: two element types
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @below {{requires the same element type for all operands and results}}
  %0 = "tp.add"(%x, %y) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// tp.and types: no floats
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{operand #0 must be static tensor of integers, but got 'tensor<4xf32>'}}
  %0 = tp.and %x, %x : tensor<4xf32>
  return
}

// -----

// tp.compare 1: two shapes
func.func @f(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @below {{[TP0303] 'tp.compare' op expects operands and results to have the same shape}}
  %0 = tp.compare lt %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xi1>
  return
}

// -----

// tp.compare 1: two element types
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @below {{[TP0303] 'tp.compare' op compares element types 'f32' and 'f64', which differ; convert one of them}}
  %0 = tp.compare lt %x, %y : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xi1>
  return
}

// -----

// tp.compare 1: not i1
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{result #0 must be static tensor of i1, but got 'tensor<4xi8>'}}
  %0 = tp.compare lt %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi8>
  return
}

// -----

// tp.select 1: two shapes
func.func @f(%m: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.select' op expects operands and results to have the same shape}}
  %0 = tp.select %m, %x, %x : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.select 1: the condition is no i1
func.func @f(%m: tensor<4xi8>, %x: tensor<4xf32>) {
  // expected-error @below {{operand #0 must be static tensor of i1, but got 'tensor<4xi8>'}}
  %0 = tp.select %m, %x, %x : (tensor<4xi8>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.select 1: two element types
func.func @f(%m: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @below {{[TP0303] 'tp.select' op expects on_true, on_false and the result to have the same element type}}
  %0 = tp.select %m, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// tp.convert 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.convert' op expects operands and results to have the same shape}}
  %0 = tp.convert %x : tensor<4xf32> -> tensor<5xf64>
  return
}

// -----

// tp.bitcast 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.bitcast' op expects operands and results to have the same shape}}
  %0 = tp.bitcast %x : tensor<4xf32> -> tensor<5xi32>
  return
}

// -----

// tp.bitcast 2: another number of bits
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.bitcast' op reads 'f32' as 'i64', but the two types must have the same number of bits}}
  %0 = tp.bitcast %x : tensor<4xf32> -> tensor<4xi64>
  return
}

// -----

// tp.gelu 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.gelu' op expects operands and results to have the same shape}}
  %0 = "tp.gelu"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.silu 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.silu' op expects operands and results to have the same shape}}
  %0 = "tp.silu"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.relu 1: another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.relu' op expects operands and results to have the same shape}}
  %0 = "tp.relu"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// tp.gated 1: two element types
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "tp.gated"(%x, %y) <{activation = 0 : i32}> : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}
