// RUN: %python %S/evaluate.py %s

// Slices, with strides and empty
func.func @main() -> (tensor<2x2xi32>, tensor<0xi32>, tensor<2x3xi32>, tensor<3x2xi32>, tensor<2x3x2xi32>) {
  // EXPECT: [[1, 3], [9, 11]]
  // EXPECT: []
  // EXPECT: [[0, 0, 0], [1, 1, 1]]
  // EXPECT: [[0, 1], [0, 1], [0, 1]]
  // EXPECT: [[[5, 7], [5, 7], [5, 7]], [[6, 8], [6, 8], [6, 8]]]
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %0 = stablehlo.slice %x [0:3:2, 1:4:2] : (tensor<3x4xi32>) -> tensor<2x2xi32>
  %v = stablehlo.iota dim = 0 : tensor<2xi32>
  %1 = stablehlo.slice %v [2:2] : (tensor<2xi32>) -> tensor<0xi32>
  %2 = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<2xi32>) -> tensor<2x3xi32>
  %3 = stablehlo.broadcast %v, sizes = [3] : (tensor<2xi32>) -> tensor<3x2xi32>
  %m = stablehlo.constant dense<[[[5, 6]], [[7, 8]]]> : tensor<2x1x2xi32>
  // Dimensions may be permuted, and those of size one repeated.
  %4 = stablehlo.broadcast_in_dim %m, dims = [2, 1, 0] : (tensor<2x1x2xi32>) -> tensor<2x3x2xi32>
  return %0, %1, %2, %3, %4 : tensor<2x2xi32>, tensor<0xi32>, tensor<2x3xi32>, tensor<3x2xi32>, tensor<2x3x2xi32>
}

// -----

// Padding: around, between, and less than none
func.func @main() -> (tensor<4x5xi32>, tensor<2xi32>, tensor<5xi32>, tensor<1xi32>) {
  // EXPECT: [[9, 9, 9, 9, 9], [9, 1, 9, 2, 9], [9, 9, 9, 9, 9], [9, 3, 9, 4, 9]]
  // EXPECT: [1, 2]
  // EXPECT: [9, 0, 9, 9, 1]
  // EXPECT: [9]
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %n = stablehlo.constant dense<9> : tensor<i32>
  %0 = stablehlo.pad %x, %n, low = [1, 1], high = [0, 1], interior = [1, 1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<4x5xi32>
  %v = stablehlo.iota dim = 0 : tensor<3xi32>
  %1 = stablehlo.pad %v, %n, low = [-1], high = [0], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<2xi32>
  %2 = stablehlo.pad %v, %n, low = [1], high = [-3], interior = [2] : (tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
  // What is cut away may be more than what there was.
  %3 = stablehlo.pad %v, %n, low = [-4], high = [2], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<1xi32>
  return %0, %1, %2, %3 : tensor<4x5xi32>, tensor<2xi32>, tensor<5xi32>, tensor<1xi32>
}

// -----

// Order: reversed, transposed, joined
func.func @main() -> (tensor<2x3xi32>, tensor<3x2xi32>, tensor<3x3xi32>, tensor<i32>) {
  // EXPECT: [[6, 5, 4], [3, 2, 1]]
  // EXPECT: [[1, 4], [2, 5], [3, 6]]
  // EXPECT: [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
  // EXPECT: 3
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %y = stablehlo.constant dense<[[7, 8, 9]]> : tensor<1x3xi32>
  %0 = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xi32>
  %1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %2 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x3xi32>, tensor<1x3xi32>) -> tensor<3x3xi32>
  %3 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xi32>) -> tensor<i32>
  return %0, %1, %2, %3 : tensor<2x3xi32>, tensor<3x2xi32>, tensor<3x3xi32>, tensor<i32>
}

// -----

// Dynamic slices are moved to lie inside.
func.func @main() -> (tensor<2x2xi32>, tensor<3x4xi32>) {
  // EXPECT: [[6, 7], [10, 11]]
  // EXPECT: [[-1, 1, 2, 3], [-2, 5, 6, 7], [8, 9, 10, 11]]
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<7> : tensor<i32>
  %j = stablehlo.constant dense<-3> : tensor<i32>
  %u = stablehlo.constant dense<[[-1], [-2]]> : tensor<2x1xi32>
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 2] : (tensor<3x4xi32>, tensor<i32>, tensor<i32>) -> tensor<2x2xi32>
  %1 = stablehlo.dynamic_update_slice %x, %u, %j, %j : (tensor<3x4xi32>, tensor<2x1xi32>, tensor<i32>, tensor<i32>) -> tensor<3x4xi32>
  return %0, %1 : tensor<2x2xi32>, tensor<3x4xi32>
}

// -----

// A gather of windows from two dimensions at once, which are moved to lie inside
func.func @main() -> (tensor<3x2x2xi32>) {
  // EXPECT: [[[0, 1], [4, 5]], [[6, 7], [10, 11]], [[1, 2], [5, 6]]]
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[[0, 0], [9, 9], [-5, 1]]> : tensor<3x2xi64>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 2>}> : (tensor<3x4xi32>, tensor<3x2xi64>) -> tensor<3x2x2xi32>
  return %0 : tensor<3x2x2xi32>
}

// -----

// A gather with a batch that is not in front, indices in another order, and a
// dimension of which every window has a part
func.func @main() -> (tensor<2x2x2xi32>) {
  // EXPECT: [[[x[1][0][j], x[0][1][j]] for j in (0, 1)] for x in ([[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]], [[[6, 7, 8], [9, 10, 11]], [[0, 1, 2], [3, 4, 5]]])]
  %x = stablehlo.constant dense<[[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]> : tensor<2x2x3xi32>
  // For each of two batches along dimension 1 of x, two indices into dimension 0.
  %i = stablehlo.constant dense<[[[1, 0], [0, 1]]]> : tensor<1x2x2xui8>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [1], start_indices_batching_dims = [2], start_index_map = [0], index_vector_dim = 0>, slice_sizes = array<i64: 1, 1, 2>}> : (tensor<2x2x3xi32>, tensor<1x2x2xui8>) -> tensor<2x2x2xi32>
  return %0 : tensor<2x2x2xi32>
}

// -----

// Index vectors of which an entry counts along a dimension of theirs: one row after the
// other, which the others do that count along another one or from the end.
func.func @main() -> (tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>, tensor<2x3xi32>) {
  // EXPECT: [2, 4]
  // EXPECT: [5, 1]
  // EXPECT: [[1, 3], [1, 5]]
  // EXPECT: [[0, 1, 7], [3, 8, 5]]
  %x = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>
  %n = stablehlo.iota dim = 0 : tensor<2xi32>
  %c = stablehlo.constant dense<[[9], [1]]> : tensor<2x1xi32>
  %r = stablehlo.reshape %n : (tensor<2xi32>) -> tensor<2x1xi32>
  %i = stablehlo.concatenate %r, %c, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<2xi32>
  %back = stablehlo.reverse %r, dims = [0] : tensor<2x1xi32>
  %j = stablehlo.concatenate %back, %c, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
  %1 = "stablehlo.gather"(%x, %j) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<2xi32>
  // Along the second of two dimensions of the indices.
  %m = stablehlo.iota dim = 1 : tensor<2x2x1xi32>
  %d = stablehlo.constant dense<[[[1], [0]], [[1], [2]]]> : tensor<2x2x1xi32>
  %k = stablehlo.concatenate %m, %d, dim = 2 : (tensor<2x2x1xi32>, tensor<2x2x1xi32>) -> tensor<2x2x2xi32>
  %2 = "stablehlo.gather"(%x, %k) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x3xi32>, tensor<2x2x2xi32>) -> tensor<2x2xi32>
  %e = stablehlo.constant dense<[[2], [1]]> : tensor<2x1xi32>
  %l = stablehlo.concatenate %r, %e, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
  %u = stablehlo.constant dense<[7, 8]> : tensor<2xi32>
  %3 = "stablehlo.scatter"(%x, %l, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<2x3xi32>, tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x3xi32>
  return %0, %1, %2, %3 : tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>, tensor<2x3xi32>
}

// -----

// Scatters: added, replaced, subtracted; what does not lie inside is dropped.
func.func @main() -> (tensor<4xi32>, tensor<3x3xi32>, tensor<4xi32>, tensor<3xi1>) {
  // EXPECT: [10, 1, 7, 3]
  // EXPECT: [[0, 0, 0], [0, 1, 2], [0, 3, 4]]
  // EXPECT: [-10, 1, -3, 3]
  // EXPECT: [True, False, True]
  %x = stablehlo.iota dim = 0 : tensor<4xi32>
  %i = stablehlo.constant dense<[[0], [2], [4], [-1]]> : tensor<4x1xi32>
  %u = stablehlo.constant dense<[10, 5, 7, 8]> : tensor<4xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi32>, tensor<4x1xi32>, tensor<4xi32>) -> tensor<4xi32>
  %z = stablehlo.constant dense<0> : tensor<3x3xi32>
  %j = stablehlo.constant dense<[[1, 1], [2, 2]]> : tensor<2x2xi32>
  %w = stablehlo.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi32>
  %1 = "stablehlo.scatter"(%z, %j, %w) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<3x3xi32>, tensor<2x2xi32>, tensor<2x2x2xi32>) -> tensor<3x3xi32>
  %2 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.subtract %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi32>, tensor<4x1xi32>, tensor<4xi32>) -> tensor<4xi32>
  %f = stablehlo.constant dense<false> : tensor<3xi1>
  %k = stablehlo.constant dense<[[0], [2]]> : tensor<2x1xi32>
  %t = stablehlo.constant dense<true> : tensor<2xi1>
  %3 = "stablehlo.scatter"(%f, %k, %t) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
    %s = stablehlo.or %a, %b : tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<3xi1>, tensor<2x1xi32>, tensor<2xi1>) -> tensor<3xi1>
  return %0, %1, %2, %3 : tensor<4xi32>, tensor<3x3xi32>, tensor<4xi32>, tensor<3xi1>
}

// -----

// Sorts: upwards, downwards with what goes along, and by two keys
func.func @main() -> (tensor<2x3xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  // EXPECT: [[1, 0, 2], [3, 4, 5]]
  // EXPECT: [9, 4, 4, 1]
  // EXPECT: [3, 0, 2, 1]
  // EXPECT: [1, 1, 2, 2]
  // EXPECT: [5, 7, 3, 4]
  // EXPECT: [2, 0, 3, 1]
  %x = stablehlo.constant dense<[[3.0, 0.0, 5.0], [1.0, 4.0, 2.0]]> : tensor<2x3xf32>
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %a0 = stablehlo.compare EQ, %a, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a1 = stablehlo.select %a0, %zero, %a : tensor<i1>, tensor<f32>
    %a2 = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %a3 = stablehlo.select %a2, %nan, %a1 : tensor<i1>, tensor<f32>
    %b0 = stablehlo.compare EQ, %b, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b1 = stablehlo.select %b0, %zero, %b : tensor<i1>, tensor<f32>
    %b2 = stablehlo.compare NE, %b, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b3 = stablehlo.select %b2, %nan, %b1 : tensor<i1>, tensor<f32>
    %p = stablehlo.compare LT, %a3, %b3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %k = stablehlo.constant dense<[4, 1, 4, 9]> : tensor<4xi32>
  %n = stablehlo.iota dim = 0 : tensor<4xi32>
  %1:2 = "stablehlo.sort"(%k, %n) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  %u = stablehlo.constant dense<[1, 2, 1, 2]> : tensor<4xi32>
  %v = stablehlo.constant dense<[7, 4, 5, 3]> : tensor<4xi32>
  %2:3 = "stablehlo.sort"(%u, %v, %n) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<i32>, %f: tensor<i32>):
    %p = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %q = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %r = stablehlo.compare EQ, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %s = stablehlo.and %r, %p : tensor<i1>
    %t = stablehlo.or %q, %s : tensor<i1>
    stablehlo.return %t : tensor<i1>
  }) : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
  return %0, %1#0, %1#1, %2#0, %2#1, %2#2 : tensor<2x3xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// -----

// The greatest elements, as an op of chlo and as a composite
func.func private @impl(tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
func.func @main() -> (tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xi32>) {
  // EXPECT: [5, 3]
  // EXPECT: [1, 2]
  // EXPECT: [5, 3]
  // EXPECT: [1, 2]
  %x = stablehlo.constant dense<[1.0, 5.0, 3.0, 3.0]> : tensor<4xf32>
  %0:2 = chlo.top_k(%x, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  %1:2 = stablehlo.composite "chlo.top_k" %x {composite_attributes = {k = 2 : i64}, decomposition = @impl, version = 1 : i32} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0, %0#1, %1#0, %1#1 : tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xi32>
}

// -----

// Of approximately the greatest and the least elements, exactly those, along
// any dimension
func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func @main() -> (tensor<2x2xf32>, tensor<2x2xi32>, tensor<1x3xf32>, tensor<1x3xi32>) {
  // EXPECT: [[5, 3], [9, 0]]
  // EXPECT: [[1, 2], [0, 1]]
  // EXPECT: [[1, 0, -1]]
  // EXPECT: [[0, 1, 1]]
  %x = stablehlo.constant dense<[[1.0, 5.0, 3.0], [9.0, 0.0, -1.0]]> : tensor<2x3xf32>
  %v = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %i = stablehlo.constant dense<-1> : tensor<i32>
  %rows = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %columns = stablehlo.iota dim = 0 : tensor<2x3xi32>
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %rows, %v, %i) {called_computations = [@greater], mhlo.backend_config = {aggregate_to_topk = true, recall_target = 0.95 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 2 : i64}} : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  %1:2 = stablehlo.custom_call @ApproxTopK(%x, %columns, %v, %i) {called_computations = [@less], mhlo.backend_config = {aggregate_to_topk = true, recall_target = 0.95 : f32, reduction_dim = 0 : i64, reduction_input_size_override = -1 : i64, top_k = 1 : i64}} : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<1x3xf32>, tensor<1x3xi32>)
  return %0#0, %0#1, %1#0, %1#1 : tensor<2x2xf32>, tensor<2x2xi32>, tensor<1x3xf32>, tensor<1x3xi32>
}
func.func private @less(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}

// -----

// Random bits, as XLA draws them: the counter passes 2^64
func.func @main() -> (tensor<2xui64>, tensor<3xui64>, tensor<2x3xui8>, tensor<5xui32>, tensor<3xui64>, tensor<0xui32>) {
  // EXPECT: [81985529216486895, 0]
  // EXPECT: [4739466887703318932, 4072841572553732078, 3491281334367377907]
  // EXPECT: [[148, 6, 238], [212, 243, 224]]
  // EXPECT: [172511636, 1103493126, 3598856174, 948282324, 1105943027]
  // EXPECT: [81985529216486895, 0, 81985529216486896]
  // EXPECT: []
  %s = stablehlo.constant dense<[81985529216486895, 18446744073709551614]> : tensor<2xui64>
  %t, %0 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>)
  %u, %1 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x3xui8>)
  // Of three words, two are the counter.
  %c = stablehlo.constant dense<[81985529216486895, 18446744073709551614, 81985529216486895]> : tensor<3xui64>
  %d, %2 = stablehlo.rng_bit_generator %c, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<5xui32>)
  %e, %3 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<0xui32>)
  return %t, %0, %1, %2, %d, %3 : tensor<2xui64>, tensor<3xui64>, tensor<2x3xui8>, tensor<5xui32>, tensor<3xui64>, tensor<0xui32>
}

// -----

// Windows that have all of a dimension which is addressed begin at 0: read as if they
// did, written only if they do.
func.func @main() -> (tensor<2x2xi32>, tensor<2x2xi32>) {
  // EXPECT: [[2, 3], [0, 1]]
  // EXPECT: [[0, 1], [7, 8]]
  %x = stablehlo.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi32>
  %i = stablehlo.constant dense<[[1, 5], [0, 0]]> : tensor<2x2xi32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %j = stablehlo.constant dense<[[0, 1], [1, 0]]> : tensor<2x2xi32>
  %u = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi32>
  %1 = "stablehlo.scatter"(%x, %j, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  return %0, %1 : tensor<2x2xi32>, tensor<2x2xi32>
}

// -----

// A scatter into a tensor that has nothing in it: of the updates nothing stays, along
// dimensions that windows lack as along those that they have.
func.func @main() -> (tensor<3xi32>, tensor<4xi32>) {
  // EXPECT: [0, 0, 0]
  // EXPECT: [0, 0, 0, 0]
  %x = stablehlo.constant dense<> : tensor<3x0xi32>
  %i = stablehlo.constant dense<[[0, 0], [1, 0], [2, 1]]> : tensor<3x2xi32>
  %u = stablehlo.constant dense<[5, 6, 7]> : tensor<3xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<3x0xi32>, tensor<3x2xi32>, tensor<3xi32>) -> tensor<3x0xi32>
  %y = stablehlo.constant dense<> : tensor<0x4xi32>
  %j = stablehlo.constant dense<[[0], [1]]> : tensor<2x1xi32>
  %w = stablehlo.constant dense<1> : tensor<2x4xi32>
  %1 = "stablehlo.scatter"(%y, %j, %w) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<0x4xi32>, tensor<2x1xi32>, tensor<2x4xi32>) -> tensor<0x4xi32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %2 = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<3x0xi32>, tensor<i32>) -> tensor<3xi32>
  %3 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<0x4xi32>, tensor<i32>) -> tensor<4xi32>
  return %2, %3 : tensor<3xi32>, tensor<4xi32>
}
