// RUN: tp-opt %s --tp-differentiate="train=x" --split-input-file --verify-diagnostics

// A loop whose iterations nothing counts.
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> (tensor<f32> {tp.name = "loss"}) {
  %zero = tp.constant dense<0.0> : tensor<f32>
  // expected-error @below {{[TP0540] 'tp.while' op has no gradient, because its number of iterations is not known; write a loop with a known number of iterations, tp.for (lax.scan, or lax.fori_loop with constant bounds)}}
  %r = tp.while (%x) cond {
  ^bb0(%a: tensor<4xf32>):
    %s = tp.reduce sum %a dims = [0] : tensor<4xf32> -> tensor<f32>
    %c = tp.compare lt %s, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
    tp.yield %c : tensor<i1>
  } do {
  ^bb0(%a: tensor<4xf32>):
    %n = tp.sin %a : tensor<4xf32>
    tp.yield %n : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %l = tp.reduce sum %r dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// A manual region.
spmd.mesh @mesh <["d"=2]>
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> (tensor<f32> {tp.name = "loss"}) {
  // expected-error @below {{[TP0540] 'spmd.manual' op has no gradient, but the loss depends on its result, and its result depends on a trained argument; leave it out of the loss, or do not train that argument}}
  %r = spmd.manual (%x) in [<@mesh, [{"d"}]>] out [<@mesh, [{"d"}]>] axes {"d"} {
  ^bb0(%a: tensor<2xf32>):
    %n = tp.sin %a : tensor<2xf32>
    spmd.return %n : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %l = tp.reduce sum %r dims = [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error @below {{[TP0541] loss=loss: @main has no result of this name: write one of y, result1}}
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> (tensor<4xf32> {tp.name = "y"}, tensor<4xf32>) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{[TP0541] loss=loss is of type 'tensor<4xf32>', but a loss must be a scalar of f32 or f64; take its mean or sum, and convert it}}
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> (tensor<4xf32> {tp.name = "loss"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{[TP0541] loss=loss is of type 'tensor<bf16>', but a loss must be a scalar of f32 or f64; take its mean or sum, and convert it}}
func.func @main(%x: tensor<bf16> {tp.name = "x"}) -> (tensor<bf16> {tp.name = "loss"}) {
  return %x : tensor<bf16>
}

// -----

// expected-error @below {{[TP0542] train=x matches no floating-point argument}}
// expected-note @below {{near names are}}
func.func @main(%y: tensor<f32> {tp.name = "y"}, %z: tensor<f32>, %x: tensor<i32> {tp.name = "x"}) -> (tensor<f32> {tp.name = "loss"}) {
  return %y : tensor<f32>
}

// -----

// expected-error @below {{[TP0720] the module has several public functions, f, g: name one by entry=NAME}}
module {
  func.func @f(%x: tensor<f32> {tp.name = "x"}) -> (tensor<f32> {tp.name = "loss"}) {
    return %x : tensor<f32>
  }
  func.func @g(%x: tensor<f32> {tp.name = "x"}) -> (tensor<f32> {tp.name = "loss"}) {
    return %x : tensor<f32>
  }
}
