// RUN: tp-opt %s --split-input-file --verify-diagnostics

// A case for each line of the Constraints of every op, in their order, and under
// "types" what the types of operands rule out.


// tp.gather 1: a dimension that is not there
func.func @f(%x: tensor<512x32xf32>, %i: tensor<4x8xi32>) {
  // expected-error @below {{[TP0304] 'tp.gather' op axis 2 is out of range for the input}}
  %0 = tp.gather %x, %i axis = 2 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>) -> tensor<4x8x32xf32>
  return
}

// -----

// tp.gather 2: more than the axis
func.func @f(%x: tensor<512x32xf32>, %i: tensor<4x8xi32>) {
  // expected-error @below {{[TP0303] 'tp.gather' op expects the first 1 dimensions of input and indices to have equal sizes, and axis to come after them}}
  %0 = tp.gather %x, %i axis = 0 batch = 1 : (tensor<512x32xf32>, tensor<4x8xi32>) -> tensor<8x32xf32>
  return
}

// -----

// tp.gather 2: more than the indices have
func.func @f(%x: tensor<4x512xf32>, %i: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.gather' op expects the first 1 dimensions of input and indices to have equal sizes, and axis to come after them}}
  %0 = tp.gather %x, %i axis = 1 batch = 1 : (tensor<4x512xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

// tp.gather 2: two sizes
func.func @f(%x: tensor<5x512xf32>, %i: tensor<4x8xi32>) {
  // expected-error @below {{[TP0303] 'tp.gather' op expects the first 1 dimensions of input and indices to have equal sizes, and axis to come after them}}
  %0 = tp.gather %x, %i axis = 1 batch = 1 : (tensor<5x512xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>
  return
}

// -----

// tp.gather 3: another shape
func.func @f(%x: tensor<512x32xf32>, %i: tensor<4x8xi32>) {
  // expected-error @below {{[TP0303] 'tp.gather' op result must be 'tensor<4x8x32xf32>'}}
  %0 = tp.gather %x, %i axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>) -> tensor<8x4x32xf32>
  return
}

// -----

// tp.gather types: indices are integers
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{operand #1 must be static tensor of integers}}
  %0 = tp.gather %x, %x axis = 0 batch = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.scatter 1: a dimension that is not there
func.func @f(%x: tensor<512x32xf32>, %i: tensor<4x8xi32>, %u: tensor<4x8x32xf32>) {
  // expected-error @below {{[TP0304] 'tp.scatter' op axis -1 is out of range for the input}}
  %0 = tp.scatter set %x, %i, %u axis = -1 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>, tensor<4x8x32xf32>) -> tensor<512x32xf32>
  return
}

// -----

// tp.scatter 2: more than the axis
func.func @f(%x: tensor<512x32xf32>, %i: tensor<4x8xi32>, %u: tensor<4x8x32xf32>) {
  // expected-error @below {{[TP0303] 'tp.scatter' op expects the first 1 dimensions of input and indices to have equal sizes, and axis to come after them}}
  %0 = tp.scatter set %x, %i, %u axis = 0 batch = 1 : (tensor<512x32xf32>, tensor<4x8xi32>, tensor<4x8x32xf32>) -> tensor<512x32xf32>
  return
}

// -----

// tp.scatter 3: updates of another shape
func.func @f(%x: tensor<512x32xf32>, %i: tensor<4x8xi32>, %u: tensor<4x32xf32>) {
  // expected-error @below {{[TP0303] 'tp.scatter' op updates must be 'tensor<4x8x32xf32>'}}
  %0 = tp.scatter set %x, %i, %u axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>, tensor<4x32xf32>) -> tensor<512x32xf32>
  return
}

// -----

// tp.scatter 3: updates of another element type
func.func @f(%x: tensor<512x32xf32>, %i: tensor<4x8xi32>, %u: tensor<4x8x32xf64>) {
  // expected-error @below {{[TP0303] 'tp.scatter' op updates must be 'tensor<4x8x32xf32>'}}
  %0 = tp.scatter set %x, %i, %u axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>, tensor<4x8x32xf64>) -> tensor<512x32xf32>
  return
}

// -----

// tp.scatter 4: another result
func.func @f(%x: tensor<512x32xf32>, %i: tensor<4x8xi32>, %u: tensor<4x8x32xf32>) {
  // expected-error @below {{[TP0303] 'tp.scatter' op result must have the input's type}}
  %0 = tp.scatter set %x, %i, %u axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>, tensor<4x8x32xf32>) -> tensor<512x32xf64>
  return
}

// -----

// tp.dynamic_slice 1: too few starts
func.func @f(%x: tensor<64x16xf32>, %p: tensor<i32>) {
  // expected-error @below {{[TP0304] 'tp.dynamic_slice' op expects one start per dimension}}
  %0 = tp.dynamic_slice %x [%p] : (tensor<64x16xf32>, tensor<i32>) -> tensor<1x16xf32>
  return
}

// -----

// tp.dynamic_slice 1: starts that are no scalars
func.func @f(%x: tensor<64xf32>, %p: tensor<1xi32>) {
  // expected-error @below {{[TP0303] 'tp.dynamic_slice' op expects scalar starts, got 'tensor<1xi32>'}}
  %0 = tp.dynamic_slice %x [%p] : (tensor<64xf32>, tensor<1xi32>) -> tensor<1xf32>
  return
}

// -----

// tp.dynamic_slice 2: too long
func.func @f(%x: tensor<64x16xf32>, %p: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.dynamic_slice' op expects the result to have the rank and element type of 'tensor<64x16xf32>', and no dimension that is larger, got 'tensor<65x16xf32>'}}
  %0 = tp.dynamic_slice %x [%p, %p] : (tensor<64x16xf32>, tensor<i32>, tensor<i32>) -> tensor<65x16xf32>
  return
}

// -----

// tp.dynamic_slice 2: another element type
func.func @f(%x: tensor<64x16xf32>, %p: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.dynamic_slice' op expects the result to have the rank and element type of 'tensor<64x16xf32>', and no dimension that is larger, got 'tensor<1x16xf64>'}}
  %0 = tp.dynamic_slice %x [%p, %p] : (tensor<64x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf64>
  return
}

// -----

// tp.dynamic_update_slice 1: too few starts
func.func @f(%x: tensor<64x16xf32>, %p: tensor<i32>) {
  // expected-error @below {{[TP0304] 'tp.dynamic_update_slice' op expects one start per dimension}}
  %0 = tp.dynamic_update_slice %x, %x [%p] : (tensor<64x16xf32>, tensor<64x16xf32>, tensor<i32>) -> tensor<64x16xf32>
  return
}

// -----

// tp.dynamic_update_slice 2: too long
func.func @f(%x: tensor<64x16xf32>, %p: tensor<i32>, %u: tensor<65x16xf32>) {
  // expected-error @below {{[TP0303] 'tp.dynamic_update_slice' op expects the update to have the rank and element type of 'tensor<64x16xf32>', and no dimension that is larger, got 'tensor<65x16xf32>'}}
  %0 = tp.dynamic_update_slice %x, %u [%p, %p] : (tensor<64x16xf32>, tensor<65x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
  return
}

// -----

// tp.dynamic_update_slice 2: of another rank
func.func @f(%x: tensor<64x16xf32>, %p: tensor<i32>, %u: tensor<16xf32>) {
  // expected-error @below {{[TP0303] 'tp.dynamic_update_slice' op expects the update to have the rank and element type of 'tensor<64x16xf32>', and no dimension that is larger, got 'tensor<16xf32>'}}
  %0 = tp.dynamic_update_slice %x, %u [%p, %p] : (tensor<64x16xf32>, tensor<16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
  return
}

// -----

// tp.dynamic_update_slice 3: another result
func.func @f(%x: tensor<64x16xf32>, %p: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.dynamic_update_slice' op result must have the input's type}}
  %0 = tp.dynamic_update_slice %x, %x [%p, %p] : (tensor<64x16xf32>, tensor<64x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x15xf32>
  return
}

// -----

// tp.sort 1: a dimension that is not there
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0304] 'tp.sort' op cannot sort along dimension 1 of a tensor of rank 1}}
  %v, %i = tp.sort %x dim = 1 : tensor<4xf32> -> tensor<4xf32>, tensor<4xi32>
  return
}

// -----

// tp.sort 2: values of another type
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.sort' op expects values of the input's type, and i32 indices of its shape}}
  %v, %i = tp.sort %x dim = 0 : tensor<4xf32> -> tensor<4xf64>, tensor<4xi32>
  return
}

// -----

// tp.sort 2: indices of another type
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.sort' op expects values of the input's type, and i32 indices of its shape}}
  %v, %i = tp.sort %x dim = 0 : tensor<4xf32> -> tensor<4xf32>, tensor<4xi64>
  return
}

// -----

// tp.sort 2: indices of another shape
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.sort' op expects values of the input's type, and i32 indices of its shape}}
  %v, %i = tp.sort %x dim = 0 : tensor<4xf32> -> tensor<4xf32>, tensor<5xi32>
  return
}

// -----

// tp.top_k 1: a scalar
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.top_k' op expects an input of rank 1 or more}}
  %v, %i = tp.top_k %x : tensor<f32> -> tensor<f32>, tensor<i32>
  return
}

// -----

// tp.top_k 2: more than there are
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.top_k' op expects values of the input's element type and i32 indices, with the input's shape and a last dimension of at most 4}}
  %v, %i = tp.top_k %x : tensor<4xf32> -> tensor<5xf32>, tensor<5xi32>
  return
}

// -----

// tp.top_k 2: values and indices differ
func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.top_k' op expects values of the input's element type and i32 indices, with the input's shape and a last dimension of at most 4}}
  %v, %i = tp.top_k %x : tensor<4xf32> -> tensor<2xf32>, tensor<3xi32>
  return
}

// -----

// tp.top_k 2: other rows
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0303] 'tp.top_k' op expects values of the input's element type and i32 indices, with the input's shape and a last dimension of at most 8}}
  %v, %i = tp.top_k %x : tensor<4x8xf32> -> tensor<5x2xf32>, tensor<5x2xi32>
  return
}

// -----

// tp.top_k 2: of another rank
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0303] 'tp.top_k' op expects values of the input's element type and i32 indices, with the input's shape and a last dimension of at most 8}}
  %v, %i = tp.top_k %x : tensor<4x8xf32> -> tensor<f32>, tensor<i32>
  return
}
