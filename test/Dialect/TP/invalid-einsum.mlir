// RUN: tp-opt %s --split-input-file --verify-diagnostics

// A case for each line of the Constraints of every op, in their order, and under
// "types" what the types of operands rule out.


// tp.einsum types: no booleans
func.func @f(%m: tensor<4x4xi1>) {
  // expected-error @below {{operand #0 must be static tensor of floats or integers}}
  %0 = tp.einsum "ik,kj->ij" %m, %m : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x4xi1>
  return
}

// -----

// tp.einsum types: no dynamic sizes
func.func @f(%m: tensor<4x?xf32>) {
  // expected-error @+2 {{[TP0209] 'tp.einsum' op operand #0 must be static tensor of floats or integers}}
  // expected-note @+1 {{write the sizes out, as in tensor<8x512xf32>, or export the program with static sizes}}
  %0 = tp.einsum "ik,kj->ij" %m, %m : (tensor<4x?xf32>, tensor<4x?xf32>) -> tensor<4x4xf32>
  return
}

// -----

// tp.einsum types: no complex numbers
func.func @f(%m: tensor<4x4xcomplex<f32>>) {
  // expected-error @below {{operand #0 must be static tensor of floats or integers}}
  %0 = tp.einsum "ik,kj->ij" %m, %m : (tensor<4x4xcomplex<f32>>, tensor<4x4xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
  return
}

// -----

// tp.einsum types: sizes whose product overflows
func.func @f(%m: tensor<4294967296x4294967296xf32>) {
  // expected-error @below {{[TP0220] 'tp.neg' op expects tensors of at most 2^60 elements}}
  %0 = tp.neg %m : tensor<4294967296x4294967296xf32>
  return
}

// -----

// tp.einsum 1: no arrow
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{[TP0301] 'tp.einsum' op equation "ik,kj": expects an equation with two operands and one result, as in "ik,kj->ij"}}
  %0 = tp.einsum "ik,kj" %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.einsum 1: one operand
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{[TP0301] 'tp.einsum' op equation "ik->i": expects an equation with two operands and one result, as in "ik,kj->ij"}}
  %0 = tp.einsum "ik->i" %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.einsum 1: a comma behind the arrow
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{[TP0301] 'tp.einsum' op equation "ik->k,j": expects an equation with two operands and one result, as in "ik,kj->ij"}}
  %0 = tp.einsum "ik->k,j" %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4xf32>
  return
}

// -----

// tp.einsum 1: not a letter
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{[TP0301] 'tp.einsum' op equation "i1,1j->ij": '1' is not a letter}}
  %0 = tp.einsum "i1,1j->ij" %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.einsum 1: too few letters
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{[TP0301] 'tp.einsum' op equation "i,ij->ij": operand #0 has 1 dimensions in the equation, but 2 in its type}}
  %0 = tp.einsum "i,ij->ij" %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.einsum 2: two sizes
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{[TP0301] 'tp.einsum' op equation "ki,kj->ij": letter 'k' has size 4, but dimension 0 of operand #1 has size 8}}
  %0 = tp.einsum "ki,kj->ij" %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

// tp.einsum 2: another size in the result
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{[TP0301] 'tp.einsum' op equation "ik,kj->ij": letter 'i' has size 4, but dimension 0 of result #0 has size 5}}
  %0 = tp.einsum "ik,kj->ij" %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<5x16xf32>
  return
}

// -----

// tp.einsum 2: a diagonal
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @below {{[TP0301] 'tp.einsum' op equation "ii,ij->ij": 'i' appears twice in operand #0}}
  %0 = tp.einsum "ii,ij->ij" %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// tp.einsum 3: a letter from nowhere
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{[TP0301] 'tp.einsum' op equation "ik,kj->ijb": result letter 'b' does not appear in an operand; broadcast an operand first}}
  %0 = tp.einsum "ik,kj->ijb" %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16x2xf32>
  return
}

// -----

// tp.einsum 4: two element types
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xbf16>) {
  // expected-error @below {{[TP0301] 'tp.einsum' op operands have element types 'f32' and 'bf16', which differ; convert one of them}}
  %0 = tp.einsum "ik,kj->ij" %x, %w : (tensor<4x8xf32>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  return
}

// -----

// tp.einsum 4: a narrower result
func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{[TP0301] 'tp.einsum' op result element type 'bf16' must be 'f32' or a wider type of the same kind}}
  %0 = tp.einsum "ik,kj->ij" %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xbf16>
  return
}

// -----

// tp.einsum 4: a result of another kind
func.func @f(%x: tensor<4x8xi8>, %w: tensor<8x16xi8>) {
  // expected-error @below {{[TP0301] 'tp.einsum' op result element type 'f32' must be 'i8' or a wider type of the same kind}}
  %0 = tp.einsum "ik,kj->ij" %x, %w : (tensor<4x8xi8>, tensor<8x16xi8>) -> tensor<4x16xf32>
  return
}

// -----

// tp.gather_einsum types: no booleans
func.func @f(%m: tensor<4x4xi1>) {
  // expected-error @below {{operand #0 must be static tensor of floats or integers}}
  %0 = tp.gather_einsum %m, %m by ["ik,kj->ij"] sides [0] dim 0 pieces 1 : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x4xi1>
  return
}

// -----

// tp.gather_einsum 1: an equation too many
func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) {
  // expected-error @below {{[TP0301] 'tp.gather_einsum' op has 1 other operands, 2 equations, 2 sides and 1 results}}
  %0 = tp.gather_einsum %x, %w by ["ik,kj->ij", "ik,kj->ij"] sides [0, 0] dim 0 pieces 1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// tp.gather_einsum 1: another input
func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) {
  // expected-error @below {{[TP0303] 'tp.gather_einsum' op has an input of type 'tensor<4x6xf32>': expects the last result to have the same type, got 'tensor<4x8xf32>'}}
  %0:2 = tp.gather_einsum %x, %w by ["ik,kj->ij"] sides [0] dim 0 pieces 1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  return
}

// -----

// tp.gather_einsum 1: another side
func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) {
  // expected-error @below {{[TP0304] 'tp.gather_einsum' op has sides [2]: expects 0 (left) or 1 (right)}}
  %0 = tp.gather_einsum %x, %w by ["ik,kj->ij"] sides [2] dim 0 pieces 1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// tp.gather_einsum 2: no equation
func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) {
  // expected-error @below {{[TP0301] 'tp.gather_einsum' op equation "ik->ij": expects an equation with two operands and one result, as in "ik,kj->ij"}}
  %0 = tp.gather_einsum %x, %w by ["ik->ij"] sides [0] dim 0 pieces 1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// tp.gather_einsum 3: no such dimension
func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) {
  // expected-error @below {{[TP0304] 'tp.gather_einsum' op dim 2 is out of range for an input of rank 2}}
  %0 = tp.gather_einsum %x, %w by ["ik,kj->ij"] sides [0] dim 2 pieces 1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// tp.gather_einsum 3: summed
func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) {
  // expected-error @below {{[TP0301] 'tp.gather_einsum' op equation "ik,kj->ij" gathers 'k': expects this letter in the result and not in the other operand}}
  %0 = tp.gather_einsum %x, %w by ["ik,kj->ij"] sides [0] dim 1 pieces 1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// tp.gather_einsum 4: no piece
func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) {
  // expected-error @below {{[TP0304] 'tp.gather_einsum' op sends blocks in 0 pieces: expects at least 1}}
  %0 = tp.gather_einsum %x, %w by ["ik,kj->ij"] sides [0] dim 0 pieces 0 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// tp.einsum_scatter types: no booleans
func.func @f(%m: tensor<4x4xi1>) {
  // expected-error @below {{operand #0 must be static tensor of floats or integers}}
  %0 = tp.einsum_scatter "ik,kj->ij" %m, %m dim 0 pieces 1 : (tensor<4x4xi1>, tensor<4x4xi1>) -> tensor<4x4xi1>
  return
}

// -----

// tp.einsum_scatter 1: no equation
func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) {
  // expected-error @below {{[TP0301] 'tp.einsum_scatter' op equation "ik->ij": expects an equation with two operands and one result, as in "ik,kj->ij"}}
  %0 = tp.einsum_scatter "ik->ij" %x, %w dim 0 pieces 1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// tp.einsum_scatter 2: no such dimension
func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) {
  // expected-error @below {{[TP0304] 'tp.einsum_scatter' op dim 2 is out of range for the result 'tensor<4x8xf32>'}}
  %0 = tp.einsum_scatter "ik,kj->ij" %x, %w dim 2 pieces 1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// tp.einsum_scatter 2: of both operands
func.func @f(%x: tensor<4x6xf32>, %w: tensor<4x6x8xf32>) {
  // expected-error @below {{[TP0301] 'tp.einsum_scatter' op scatters 'i', which is in both operands: expects this letter in only one operand}}
  %0 = tp.einsum_scatter "ik,ikj->ij" %x, %w dim 0 pieces 1 : (tensor<4x6xf32>, tensor<4x6x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// tp.einsum_scatter 3: no piece
func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) {
  // expected-error @below {{[TP0304] 'tp.einsum_scatter' op sends blocks in 0 pieces: expects at least 1}}
  %0 = tp.einsum_scatter "ik,kj->ij" %x, %w dim 0 pieces 0 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// tp.reduce 1: a dimension that is not there
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0304] 'tp.reduce' op expects dims to be distinct dimensions of the input in ascending order, got [2]}}
  %0 = tp.reduce sum %x dims = [2] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

// tp.reduce 1: one dimension twice
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0304] 'tp.reduce' op expects dims to be distinct dimensions of the input in ascending order, got [1, 1]}}
  %0 = tp.reduce sum %x dims = [1, 1] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

// tp.reduce 1: a negative dimension
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0304] 'tp.reduce' op expects dims to be distinct dimensions of the input in ascending order, got [-1]}}
  %0 = tp.reduce sum %x dims = [-1] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

// tp.reduce 2: another shape
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0303] 'tp.reduce' op result must be 'tensor<4xf32>', the input's type without the dimensions in `dims`}}
  %0 = tp.reduce sum %x dims = [1] : tensor<4x8xf32> -> tensor<4x1xf32>
  return
}

// -----

// tp.reduce 2: another element type
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{[TP0303] 'tp.reduce' op result must be 'tensor<4xf32>', the input's type without the dimensions in `dims`}}
  %0 = tp.reduce sum %x dims = [1] : tensor<4x8xf32> -> tensor<4xf64>
  return
}

// -----

// tp.cumulative 1: a dimension that is not there
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.cumulative' op dim 2 is out of range for a tensor of rank 2}}
  %0 = tp.cumulative sum %x dim = 2 : tensor<4x16xf32> -> tensor<4x16xf32>
  return
}

// -----

// tp.cumulative 2: another result
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0303] 'tp.cumulative' op expects a result of the input's type, got 'tensor<4x15xf32>'}}
  %0 = tp.cumulative sum %x dim = 0 : tensor<4x16xf32> -> tensor<4x15xf32>
  return
}
