// RUN: tp-opt %s --tp-verify-gradient --split-input-file --verify-diagnostics

// Gradients by hand: right.
func.func @right(%x: tensor<3xf32> {tp.name = "x"}, %w: tensor<3xf32> {tp.name = "w"})
    -> (tensor<f32> {tp.name = "loss"}, tensor<3xf32> {tp.name = "x.grad", tp.role = "gradient"}, tensor<3xf32> {tp.name = "w.grad", tp.role = "gradient"}) {
  %p = tp.mul %x, %w : tensor<3xf32>
  %y = tp.exp %p : tensor<3xf32>
  %l = tp.reduce sum %y dims = [0] : tensor<3xf32> -> tensor<f32>
  %dx = tp.mul %y, %w : tensor<3xf32>
  %dw = tp.mul %y, %x : tensor<3xf32>
  return %l, %dx, %dw : tensor<f32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// One of them is that of the other.
// expected-error @below {{[TP0713] the gradient of 'w' is wrong: along a random direction the loss changes by}}
func.func @swapped(%x: tensor<3xf32> {tp.name = "x"}, %w: tensor<3xf32> {tp.name = "w"})
    -> (tensor<f32> {tp.name = "loss"}, tensor<3xf32> {tp.name = "x.grad", tp.role = "gradient"}, tensor<3xf32> {tp.name = "w.grad", tp.role = "gradient"}) {
  %p = tp.mul %x, %w : tensor<3xf32>
  %y = tp.exp %p : tensor<3xf32>
  %l = tp.reduce sum %y dims = [0] : tensor<3xf32> -> tensor<f32>
  %dx = tp.mul %y, %w : tensor<3xf32>
  return %l, %dx, %dx : tensor<f32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// A use of a tied weight is forgotten.
// expected-error @below {{[TP0713] the gradient of 'w' is wrong}}
func.func @tied(%w: tensor<4x4xf32> {tp.name = "w"}) -> (tensor<f32> {tp.name = "loss"}, tensor<4x4xf32> {tp.name = "w.grad", tp.role = "gradient"}) {
  %y = tp.einsum "ab,ba->" %w, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<f32>
  %t = tp.transpose %w [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  return %y, %t : tensor<f32>, tensor<4x4xf32>
}

// -----

// Zeros.
// expected-error @below {{[TP0713] the gradient of 'x' is wrong}}
func.func @zeros(%x: tensor<3xf32> {tp.name = "x"}) -> (tensor<f32> {tp.name = "loss"}, tensor<3xf32> {tp.name = "x.grad", tp.role = "gradient"}) {
  %zero = tp.constant dense<0.0> : tensor<3xf32>
  %l = tp.reduce sum %x dims = [0] : tensor<3xf32> -> tensor<f32>
  return %l, %zero : tensor<f32>, tensor<3xf32>
}

// -----

// Nothing can be said.
// expected-error @below {{[TP0713] the loss or its gradients are NaN or infinite on all data that was tried, so nothing could be verified}}
func.func @nan(%x: tensor<3xf32> {tp.name = "x"}) -> (tensor<f32> {tp.name = "loss"}, tensor<3xf32> {tp.name = "x.grad", tp.role = "gradient"}) {
  %nan = tp.constant dense<0x7FC00000> : tensor<3xf32>
  %y = tp.mul %x, %nan : tensor<3xf32>
  %l = tp.reduce sum %y dims = [0] : tensor<3xf32> -> tensor<f32>
  return %l, %nan : tensor<f32>, tensor<3xf32>
}

// -----

// expected-error @below {{[TP0541] 'lossless' has no result 'loss': write loss=NAME}}
func.func @lossless(%x: tensor<f32> {tp.name = "x"}) -> (tensor<f32> {tp.name = "l"}, tensor<f32> {tp.name = "x.grad", tp.role = "gradient"}) {
  return %x, %x : tensor<f32>, tensor<f32>
}
