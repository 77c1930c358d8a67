// RUN: tp-opt %s --split-input-file --verify-diagnostics

// A case for each line of the Constraints of every op, in their order, and under
// "types" what the types of operands rule out.


// tp.constant 1: another shape
func.func @f() {
  // expected-error @below {{[TP0303] 'tp.constant' op expects the value to have the result's type, got 'tensor<4xf32>' for 'tensor<5xf32>'}}
  %0 = tp.constant dense<1.0> : tensor<4xf32> as tensor<5xf32>
  return
}

// -----

// tp.constant 1: another element type
func.func @f() {
  // expected-error @below {{[TP0303] 'tp.constant' op expects the value to have the result's type, got 'tensor<4xf32>' for 'tensor<4xf64>'}}
  %0 = tp.constant dense<1.0> : tensor<4xf32> as tensor<4xf64>
  return
}

// -----

// tp.constant 1: not a tensor
func.func @f() {
  // expected-error @below {{[TP0303] 'tp.constant' op expects the value to have the result's type, got 'vector<4xf32>' for 'tensor<4xf32>'}}
  %0 = tp.constant dense<1.0> : vector<4xf32> as tensor<4xf32>
  return
}

// -----

// tp.iota 1: a dimension that is not there
func.func @f() {
  // expected-error @below {{[TP0304] 'tp.iota' op cannot count along dimension 2 of a tensor of rank 2}}
  %0 = tp.iota dim = 2 : tensor<4x16xi32>
  return
}

// -----

// tp.iota 1: a scalar has none
func.func @f() {
  // expected-error @below {{[TP0304] 'tp.iota' op cannot count along dimension 0 of a tensor of rank 0}}
  %0 = tp.iota dim = 0 : tensor<i32>
  return
}

// -----

// tp.iota 1: a negative dimension
func.func @f() {
  // expected-error @below {{[TP0304] 'tp.iota' op cannot count along dimension}}
  %0 = tp.iota dim = -1 : tensor<4xi32>
  return
}

// -----

// tp.broadcast 1: too few entries
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.broadcast' op dims has 1 entries, but the input has 2 dimensions}}
  %0 = tp.broadcast %x dims = [1] : tensor<4x16xf32> -> tensor<2x4x16xf32>
  return
}

// -----

// tp.broadcast 1: not ascending
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.broadcast' op expects dims to be dimensions of the result in ascending order, got [1, 0]}}
  %0 = tp.broadcast %x dims = [1, 0] : tensor<4x16xf32> -> tensor<16x4xf32>
  return
}

// -----

// tp.broadcast 1: past the result
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.broadcast' op expects dims to be dimensions of the result in ascending order, got [0, 2]}}
  %0 = tp.broadcast %x dims = [0, 2] : tensor<4x16xf32> -> tensor<4x16xf32>
  return
}

// -----

// tp.broadcast 2: a size that changes
func.func @f(%b: tensor<1xf32>) {
  // expected-error @below {{[TP0303] 'tp.broadcast' op input dimension 0 of size 1 cannot become result dimension 0 of size 4}}
  %0 = tp.broadcast %b dims = [0] : tensor<1xf32> -> tensor<4xf32>
  return
}

// -----

// tp.broadcast 3: another element type
func.func @f(%b: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.broadcast' op expects input and result to have the same element type, got 'f32' and 'f64'; write tp.convert}}
  %0 = tp.broadcast %b dims = [] : tensor<f32> -> tensor<4xf64>
  return
}

// -----

// tp.transpose 1: too few entries
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.transpose' op expects the permutation to name every dimension of the input once}}
  %0 = tp.transpose %x [0] : tensor<4x16xf32> -> tensor<4x16xf32>
  return
}

// -----

// tp.transpose 1: a dimension twice
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.transpose' op expects the permutation to name every dimension of the input once}}
  %0 = tp.transpose %x [0, 0] : tensor<4x16xf32> -> tensor<4x4xf32>
  return
}

// -----

// tp.transpose 1: a dimension that is not there
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.transpose' op expects the permutation to name every dimension of the input once}}
  %0 = tp.transpose %x [0, 2] : tensor<4x16xf32> -> tensor<4x16xf32>
  return
}

// -----

// tp.transpose 2: the shape as it was
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0303] 'tp.transpose' op result must be 'tensor<16x4xf32>'}}
  %0 = tp.transpose %x [1, 0] : tensor<4x16xf32> -> tensor<4x16xf32>
  return
}

// -----

// tp.transpose 2: another element type
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0303] 'tp.transpose' op expects input and result to have the same element type, got 'f32' and 'f64'; write tp.convert}}
  %0 = tp.transpose %x [1, 0] : tensor<4x16xf32> -> tensor<16x4xf64>
  return
}

// -----

// tp.reshape 1: more elements
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0303] 'tp.reshape' op expects input and result to have the same number of elements, got 64 and 65}}
  %0 = tp.reshape %x : tensor<4x16xf32> -> tensor<65xf32>
  return
}

// -----

// tp.reshape 1: another element type
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0303] 'tp.reshape' op expects input and result to have the same element type, got 'f32' and 'i32'; write tp.convert}}
  %0 = tp.reshape %x : tensor<4x16xf32> -> tensor<64xi32>
  return
}

// -----

// tp.slice 1: too few entries
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.slice' op expects one start and one stride per dimension}}
  %0 = tp.slice %x starts = [0] strides = [1, 1] : tensor<4x16xf32> -> tensor<4x8xf32>
  return
}

// -----

// tp.slice 1: a result of another rank
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.slice' op expects one start and one stride per dimension}}
  %0 = tp.slice %x starts = [0, 0] strides = [1, 1] : tensor<4x16xf32> -> tensor<8xf32>
  return
}

// -----

// tp.slice 1: a negative start
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.slice' op expects starts of at least 0 and strides of at least 1}}
  %0 = tp.slice %x starts = [0, -1] strides = [1, 1] : tensor<4x16xf32> -> tensor<4x8xf32>
  return
}

// -----

// tp.slice 1: no stride
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.slice' op expects starts of at least 0 and strides of at least 1}}
  %0 = tp.slice %x starts = [0, 0] strides = [1, 0] : tensor<4x16xf32> -> tensor<4x8xf32>
  return
}

// -----

// tp.slice 2: past the end
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.slice' op a slice of 8 elements with start 9 and stride 1 exceeds dimension 1, which has size 16}}
  %0 = tp.slice %x starts = [0, 9] strides = [1, 1] : tensor<4x16xf32> -> tensor<4x8xf32>
  return
}

// -----

// tp.slice 2: past the end by a stride that overflows
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.slice' op a slice of 3 elements with start 0 and stride 9223372036854775807 exceeds dimension 1, which has size 16}}
  %0 = tp.slice %x starts = [0, 0] strides = [1, 9223372036854775807] : tensor<4x16xf32> -> tensor<4x3xf32>
  return
}

// -----

// tp.slice 3: another element type
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0303] 'tp.slice' op expects input and result to have the same element type, got 'f32' and 'f64'; write tp.convert}}
  %0 = tp.slice %x starts = [0, 0] strides = [1, 1] : tensor<4x16xf32> -> tensor<4x8xf64>
  return
}

// -----

// tp.concat 1: no input
func.func @f() {
  // expected-error @below {{[TP0303] 'tp.concat' op expects at least one input}}
  %0 = tp.concat dim = 0 : () -> tensor<4xf32>
  return
}

// -----

// tp.concat 1: two ranks
func.func @f(%x: tensor<4x16xf32>, %b: tensor<16xf32>) {
  // expected-error @below {{[TP0303] 'tp.concat' op expects inputs and result to have the same rank}}
  %0 = tp.concat %x, %b dim = 0 : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<5x16xf32>
  return
}

// -----

// tp.concat 1: two element types
func.func @f(%x: tensor<4x16xf32>, %y: tensor<4x16xf64>) {
  // expected-error @below {{[TP0303] 'tp.concat' op expects input and result to have the same element type, got 'f64' and 'f32'; write tp.convert}}
  %0 = tp.concat %x, %y dim = 0 : (tensor<4x16xf32>, tensor<4x16xf64>) -> tensor<8x16xf32>
  return
}

// -----

// tp.concat 2: a dimension that is not there
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.concat' op dim 2 is out of range for a tensor of rank 2}}
  %0 = tp.concat %x, %x dim = 2 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

// tp.concat 2: the other dimensions differ
func.func @f(%x: tensor<4x16xf32>, %y: tensor<4x15xf32>) {
  // expected-error @below {{[TP0303] 'tp.concat' op expects inputs that agree with the result in all dimensions except `dim`}}
  %0 = tp.concat %x, %y dim = 0 : (tensor<4x16xf32>, tensor<4x15xf32>) -> tensor<8x16xf32>
  return
}

// -----

// tp.concat 3: too long
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0303] 'tp.concat' op together, the inputs have 8 elements along dim, but the result has 9}}
  %0 = tp.concat %x, %x dim = 0 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<9x16xf32>
  return
}

// -----

// tp.splice 1: no start
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.splice' op expects at least one input, and for each input a start and a size of at least 1}}
  %0 = tp.splice %x dim = 0 starts = [] sizes = [4] : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.splice 1: an empty piece
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.splice' op expects at least one input, and for each input a start and a size of at least 1}}
  %0 = tp.splice %x, %x dim = 0 starts = [0, 0] sizes = [4, 0] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.splice 1: a stride of nothing
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.splice' op expects a stride other than 0 for each input, or no strides at all}}
  %0 = tp.splice %x dim = 0 starts = [0] sizes = [4] strides = [0] : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.splice 2: no such dimension
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.splice' op dim 2 is out of range for a tensor of rank 2}}
  %0 = tp.splice %x dim = 2 starts = [0] sizes = [4] : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.splice 2: other dimensions differ
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0303] 'tp.splice' op expects inputs that are scalars or agree with the result in all dimensions except `dim`, got 'tensor<4x16xf32>'}}
  %0 = tp.splice %x dim = 0 starts = [0] sizes = [4] : (tensor<4x16xf32>) -> tensor<4x15xf32>
  return
}

// -----

// tp.splice 3: past the end
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.splice' op takes 3 elements with start 2, which are not all inside the input 'tensor<4x16xf32>'}}
  %0 = tp.splice %x dim = 0 starts = [2] sizes = [3] : (tensor<4x16xf32>) -> tensor<3x16xf32>
  return
}

// -----

// tp.splice 3: past the beginning, backwards
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.splice' op takes 3 elements with start 3 and stride -2, which are not all inside the input 'tensor<4x16xf32>'}}
  %0 = tp.splice %x dim = 0 starts = [3] sizes = [3] strides = [-2] : (tensor<4x16xf32>) -> tensor<3x16xf32>
  return
}

// -----

// tp.splice 3: past the end, with a stride
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.splice' op takes 3 elements with start 0 and stride 9223372036854775807, which are not all inside the input 'tensor<4x16xf32>'}}
  %0 = tp.splice %x dim = 0 starts = [0] sizes = [3] strides = [9223372036854775807] : (tensor<4x16xf32>) -> tensor<3x16xf32>
  return
}

// -----

// tp.splice 3: a scalar has one element
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{[TP0304] 'tp.splice' op takes 3 elements with start 2, which are not all inside the input 'tensor<f32>'}}
  %0 = tp.splice %x dim = 0 starts = [2] sizes = [3] : (tensor<f32>) -> tensor<3x16xf32>
  return
}

// -----

// tp.splice 4: too long, even where lengths overflow
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{[TP0304] 'tp.splice' op the sizes of the pieces do not add up to the size of the result along dim, 3}}
  %0 = tp.splice %x, %x dim = 0 starts = [0, 0] sizes = [9223372036854775807, 5] : (tensor<f32>, tensor<f32>) -> tensor<3x16xf32>
  return
}

// -----

// tp.dilate 1: a dimension that is none
func.func @f(%x: tensor<4x6xf32>, %s: tensor<f32>, %v: tensor<1xf32>, %i: tensor<i32>) {
  // expected-error @below {{[TP0304] 'tp.dilate' op dim 2 is out of range for a tensor of rank 2}}
  %0 = tp.dilate %x, %s dim = 2 low = 0 spacing = 3 : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x18xf32>
  return
}

// -----

// tp.dilate 2: elements nowhere
func.func @f(%x: tensor<4x6xf32>, %s: tensor<f32>, %v: tensor<1xf32>, %i: tensor<i32>) {
  // expected-error @below {{[TP0304] 'tp.dilate' op expects `spacing` from 1 to 2^31 - 1 and `low` from -(2^31 - 1) to 2^31 - 1, got 0 and 0}}
  %0 = tp.dilate %x, %s dim = 1 low = 0 spacing = 0 : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x18xf32>
  return
}

// -----

// tp.dilate 2: too far away
func.func @f(%x: tensor<4x6xf32>, %s: tensor<f32>, %v: tensor<1xf32>, %i: tensor<i32>) {
  // expected-error @below {{[TP0304] 'tp.dilate' op expects `spacing` from 1 to 2^31 - 1 and `low` from -(2^31 - 1) to 2^31 - 1, got 1 and -2147483648}}
  %0 = tp.dilate %x, %s dim = 1 low = -2147483648 spacing = 1 : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x18xf32>
  return
}

// -----

// tp.dilate 3: other dimensions differ
func.func @f(%x: tensor<4x6xf32>, %s: tensor<f32>, %v: tensor<1xf32>, %i: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.dilate' op expects a result that has the sizes of 'tensor<4x6xf32>' except in dimension 1, got 'tensor<5x18xf32>'}}
  %0 = tp.dilate %x, %s dim = 1 low = 0 spacing = 3 : (tensor<4x6xf32>, tensor<f32>) -> tensor<5x18xf32>
  return
}

// -----

// tp.dilate 4: a fill of several elements
func.func @f(%x: tensor<4x6xf32>, %s: tensor<f32>, %v: tensor<1xf32>, %i: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.dilate' op expects a scalar fill, got 'tensor<1xf32>'}}
  %0 = tp.dilate %x, %v dim = 1 low = 0 spacing = 3 : (tensor<4x6xf32>, tensor<1xf32>) -> tensor<4x18xf32>
  return
}

// -----

// tp.dilate 4: a fill of another type
func.func @f(%x: tensor<4x6xf32>, %s: tensor<f32>, %v: tensor<1xf32>, %i: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.dilate' op expects operands and result to have the same element type, got 'tensor<i32>' and 'tensor<4x18xf32>'}}
  %0 = tp.dilate %x, %i dim = 1 low = 0 spacing = 3 : (tensor<4x6xf32>, tensor<i32>) -> tensor<4x18xf32>
  return
}

// -----

// tp.dilate 5: nothing is left
func.func @f(%x: tensor<4x6xf32>, %s: tensor<f32>, %v: tensor<1xf32>, %i: tensor<i32>) {
  // expected-error @below {{[TP0304] 'tp.dilate' op the result contains no element of the input 'tensor<4x6xf32>'; write tp.broadcast of the fill instead}}
  %0 = tp.dilate %x, %s dim = 1 low = 18 spacing = 3 : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x18xf32>
  return
}

// -----

// tp.window 1: no dimension
func.func @f(%x: tensor<4x16xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0304] 'tp.window' op expects dims to be ascending dimensions of 'tensor<4x16xf32>', and for each of them a low, a stride of at least 1 and a dilation of at least 1}}
  %0 = tp.window %x, %s dims = [] low = [] strides = [] dilations = [] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.window 1: dimensions in no order
func.func @f(%x: tensor<4x16xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0304] 'tp.window' op expects dims to be ascending dimensions of 'tensor<4x16xf32>', and for each of them a low, a stride of at least 1 and a dilation of at least 1}}
  %0 = tp.window %x, %s dims = [1, 0] low = [0, 0] strides = [1, 1] dilations = [1, 1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x3x16x3xf32>
  return
}

// -----

// tp.window 1: a stride of nothing
func.func @f(%x: tensor<4x16xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0304] 'tp.window' op expects dims to be ascending dimensions of 'tensor<4x16xf32>', and for each of them a low, a stride of at least 1 and a dilation of at least 1}}
  %0 = tp.window %x, %s dims = [1] low = [0] strides = [0] dilations = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16x3xf32>
  return
}

// -----

// tp.window 1: one dilation for two dimensions
func.func @f(%x: tensor<4x16xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0304] 'tp.window' op expects dims to be ascending dimensions of 'tensor<4x16xf32>', and for each of them a low, a stride of at least 1 and a dilation of at least 1}}
  %0 = tp.window %x, %s dims = [0, 1] low = [0, 0] strides = [1, 1] dilations = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x3x16x3xf32>
  return
}

// -----

// tp.window 2: no elements of windows
func.func @f(%x: tensor<4x16xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.window' op expects each dimension in dims to become two result dimensions, one over the windows and one over the elements of a window, both of size at least 1; the other dimensions must equal those of 'tensor<4x16xf32>', got 'tensor<4x16xf32>'}}
  %0 = tp.window %x, %s dims = [1] low = [0] strides = [1] dilations = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.window 2: windows of nothing
func.func @f(%x: tensor<4x0xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.window' op expects each dimension in dims to become two result dimensions, one over the windows and one over the elements of a window, both of size at least 1; the other dimensions must equal those of 'tensor<4x0xf32>', got 'tensor<4x16x3xf32>'}}
  %0 = tp.window %x, %s dims = [1] low = [0] strides = [1] dilations = [1] : (tensor<4x0xf32>, tensor<f32>) -> tensor<4x16x3xf32>
  return
}

// -----

// tp.window 2: other dimensions differ
func.func @f(%x: tensor<4x16xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.window' op expects each dimension in dims to become two result dimensions, one over the windows and one over the elements of a window, both of size at least 1; the other dimensions must equal those of 'tensor<4x16xf32>', got 'tensor<5x16x3xf32>'}}
  %0 = tp.window %x, %s dims = [1] low = [0] strides = [1] dilations = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<5x16x3xf32>
  return
}

// -----

// tp.window 3: too far away
func.func @f(%x: tensor<4x16xf32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0304] 'tp.window' op cannot read elements whose indices are outside -(2^31 - 1) to 2^31 - 1 along dimension 1}}
  %0 = tp.window %x, %s dims = [1] low = [0] strides = [9223372036854775807] dilations = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16x3xf32>
  return
}

// -----

// tp.window 3: before the beginning, without fill
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.window' op reads elements -1 to 16 of dimension 1 of 'tensor<4x16xf32>', some of which do not exist; add a fill for those}}
  %0 = tp.window %x dims = [1] low = [1] strides = [1] dilations = [1] : (tensor<4x16xf32>) -> tensor<4x16x3xf32>
  return
}

// -----

// tp.window 3: past the end, without fill
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.window' op reads elements 0 to 17 of dimension 1 of 'tensor<4x16xf32>', some of which do not exist; add a fill for those}}
  %0 = tp.window %x dims = [1] low = [0] strides = [1] dilations = [1] : (tensor<4x16xf32>) -> tensor<4x16x3xf32>
  return
}

// -----

// tp.window 4: a fill of several elements
func.func @f(%x: tensor<4x16xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.window' op expects a scalar fill, got 'tensor<4xf32>'}}
  %0 = tp.window %x, %s dims = [1] low = [0] strides = [1] dilations = [1] : (tensor<4x16xf32>, tensor<4xf32>) -> tensor<4x16x3xf32>
  return
}

// -----

// tp.window 4: two element types
func.func @f(%x: tensor<4x16xf32>, %s: tensor<bf16>) {
  // expected-error @below {{[TP0303] 'tp.window' op expects operands and result to have the same element type, got 'tensor<bf16>' and 'tensor<4x16x3xf32>'}}
  %0 = tp.window %x, %s dims = [1] low = [0] strides = [1] dilations = [1] : (tensor<4x16xf32>, tensor<bf16>) -> tensor<4x16x3xf32>
  return
}

// -----

// tp.pad 1: too few entries
func.func @f(%x: tensor<4x16xf32>, %z: tensor<f32>) {
  // expected-error @below {{[TP0304] 'tp.pad' op expects one entry of low per dimension}}
  %0 = tp.pad %x, %z low = [0] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x18xf32>
  return
}

// -----

// tp.pad 1: a negative entry
func.func @f(%x: tensor<4x16xf32>, %z: tensor<f32>) {
  // expected-error @below {{[TP0304] 'tp.pad' op expects each entry of low to be at least 0}}
  %0 = tp.pad %x, %z low = [0, -1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x18xf32>
  return
}

// -----

// tp.pad 2: too short
func.func @f(%x: tensor<4x16xf32>, %z: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.pad' op result dimension 1 of size 18 is too small for 3 elements of padding and 16 elements of the input}}
  %0 = tp.pad %x, %z low = [0, 3] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x18xf32>
  return
}

// -----

// tp.pad 3: not a scalar
func.func @f(%x: tensor<4x16xf32>, %z: tensor<1xf32>) {
  // expected-error @below {{[TP0303] 'tp.pad' op expects a scalar padding value, got 'tensor<1xf32>'}}
  %0 = tp.pad %x, %z low = [0, 1] : (tensor<4x16xf32>, tensor<1xf32>) -> tensor<4x18xf32>
  return
}

// -----

// tp.pad 3: two element types
func.func @f(%x: tensor<4x16xf32>, %z: tensor<f64>) {
  // expected-error @below {{[TP0303] 'tp.pad' op expects input and result to have the same element type, got 'f64' and 'f32'; write tp.convert}}
  %0 = tp.pad %x, %z low = [0, 1] : (tensor<4x16xf32>, tensor<f64>) -> tensor<4x18xf32>
  return
}
