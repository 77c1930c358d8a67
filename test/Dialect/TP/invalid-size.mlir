// RUN: tp-opt %s --split-input-file --verify-diagnostics

// Tensors that no machine holds are refused by every op before anything
// multiplies their sizes.

func.func @operand(%x: tensor<2147483648x2147483648xf32>) -> tensor<2147483648xf32> {
  // expected-error @below {{[TP0220] 'tp.reduce' op expects tensors of at most 2^60 elements, got 'tensor<2147483648x2147483648xf32>'}}
  %y = tp.reduce sum %x dims = [1] : tensor<2147483648x2147483648xf32> -> tensor<2147483648xf32>
  return %y : tensor<2147483648xf32>
}

// -----

func.func @result(%x: tensor<2147483648xf32>) {
  // expected-error @below {{[TP0220] 'tp.broadcast' op expects tensors of at most 2^60 elements}}
  %y = tp.broadcast %x dims = [0] : tensor<2147483648xf32> -> tensor<2147483648x2147483648xf32>
  return
}

// -----

// Without elements, too: parts of such a shape are multiplied.
func.func @empty(%x: tensor<0x2147483648x2147483648xf32>) {
  // expected-error @below {{[TP0220] 'tp.tanh' op expects tensors of at most 2^60 elements}}
  %y = tp.tanh %x : tensor<0x2147483648x2147483648xf32>
  return
}
