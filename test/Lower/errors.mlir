// Every way in which a program can have no steps is an error at its place.

// RUN: tp-opt %s --tp-lower-to-step --split-input-file --verify-diagnostics

func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32>
func.func @call(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0801] func.call cannot be lowered to steps; run the program with the interpreter}}
  %y = func.call @other(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @endless(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0801] a loop must have fewer than 2^31 iterations, got 2147483648}}
  %r = tp.for 2147483648 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<4xf32>):
    %y = tp.tanh %h : tensor<4xf32>
    tp.yield %y : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

spmd.mesh @mesh <["x"=2]>
func.func @whole(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{[TP0802] spmd.all_reduce computes on a whole tensor instead of one device's part: run tp-localize first}}
  %1 = spmd.all_reduce %x {"x"} in <@mesh, [{} ], unreduced={"x"}> out <@mesh, [{} ]> : tensor<8xf32> -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

func.func @narrow(%x: tensor<4xi4>) -> tensor<4xi4> {
  // expected-error @below {{[TP0803] 'i4' elements are not supported; convert to a wider type}}
  %y = tp.add %x, %x : tensor<4xi4>
  return %y : tensor<4xi4>
}

// -----

// A dimension of at most 16 elements is moved one by one.
func.func @dims(%x: tensor<17x17x17x17x17x17x17x17x17xf32>) -> tensor<17x17x17x17x17x17x17x17x17xf32> {
  %y = tp.transpose %x [8, 7, 6, 5, 4, 3, 2, 1, 0] : tensor<17x17x17x17x17x17x17x17x17xf32> -> tensor<17x17x17x17x17x17x17x17x17xf32>
  // expected-error @below {{[TP0804] cannot copy 9 dimensions in one step, because they cannot be merged; reshape the tensor}}
  return %y : tensor<17x17x17x17x17x17x17x17x17xf32>
}

// -----

// expected-error @below {{[TP0805] arguments #0 and #1 are both donated to result #0}}
func.func @twice(%x: tensor<4xf32> {tp.donated = 0 : i64}, %y: tensor<4xf32> {tp.donated = 0 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
