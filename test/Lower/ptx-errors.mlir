// What a GPU has no instructions for is an error at the op.

// RUN: tp-opt %s --tp-lower-to-step --tp-emit-ptx --split-input-file --verify-diagnostics

func.func @power(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0820] powf of 'f32' cannot be computed on a GPU}}
  %0 = tp.pow %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @sine(%x: tensor<4xf64>) -> tensor<4xf64> {
  // expected-error @below {{[TP0820] sin of 'f64' cannot be computed on a GPU}}
  %0 = tp.sin %x : tensor<4xf64>
  return %0 : tensor<4xf64>
}
