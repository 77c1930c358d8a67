// RUN: tp-opt %s | FileCheck %s
// RUN: tp-opt %s | tp-opt | FileCheck %s

// The pretty form of every operation that has one of its own is read as the
// generic form, which is read as itself.

// CHECK-LABEL: func.func @fields
func.func @fields(%x: tensor<4x8xf32>, %v: tensor<f32>, %i: tensor<i32>) {
  // CHECK: "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x8xi32>
  %0 = stablehlo.iota dim = 1 : tensor<4x8xi32>
  // CHECK: "stablehlo.pad"(%{{.+}}, %{{.+}}) <{edge_padding_high = array<i64: 0, 0>, edge_padding_low = array<i64: 0, 1>, interior_padding = array<i64: 0, -1>}> : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x2xf32>
  %1 = stablehlo.pad %x, %v, low = [0, 1], high = [0, 0], interior = [0, -1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x2xf32>
  // CHECK: "stablehlo.transpose"(%{{.+}}) <{permutation = array<i64: 1, 0>}> {mhlo.sharding = "{replicated}"}
  %2 = stablehlo.transpose %x, dims = [1, 0] {mhlo.sharding = "{replicated}"} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: "stablehlo.broadcast_in_dim"(%{{.+}}) <{broadcast_dimensions = array<i64>}>
  %3 = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<4xf32>
  // CHECK: "stablehlo.dynamic_slice"(%{{.+}}, %{{.+}}, %{{.+}}) <{slice_sizes = array<i64: 1, 8>}>
  %4 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  // CHECK: "stablehlo.rng_bit_generator"(%{{.+}}) <{rng_algorithm = "DEFAULT"}> : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xi32>)
  %5:2 = stablehlo.rng_bit_generator %x, algorithm = DEFAULT : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xi32>)
  // CHECK: "chlo.top_k"(%{{.+}}) <{k = 2 : i64}> : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  %6:2 = chlo.top_k(%x, k = 2) : tensor<4x8xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
  // CHECK: "stablehlo.fft"(%{{.+}}) <{fft_length = array<i64: 8>, fft_type = "RFFT"}> : (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>
  %7 = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<4x8xf32>) -> tensor<4x5xcomplex<f32>>
  // CHECK: "stablehlo.real"(%{{.+}}) : (tensor<4x5xcomplex<f32>>) -> tensor<4x5xf32>
  %8 = stablehlo.real %7 : (tensor<4x5xcomplex<f32>>) -> tensor<4x5xf32>
  // CHECK: "stablehlo.complex"(%{{.+}}, %{{.+}}) : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xcomplex<f32>>
  %9 = stablehlo.complex %8, %8 : tensor<4x5xcomplex<f32>>
  // What these dialects do not have yet has fields, too.
  // CHECK: "stablehlo.tomorrow"(%{{.+}}) <{how = ["FAST", 3, true], where = {side = "LEFT"}}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = stablehlo.tomorrow %x, how = [FAST, 3, true], where = <side = LEFT> : tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @forms
func.func @forms(%x: tensor<4x8xf32>, %p: tensor<4x8xi1>, %s: tensor<i1>, %v: tensor<f32>, %k: tensor<3x1x8xf32>, %y: tensor<2x4x8xf32>) {
  // CHECK: "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<2xf32>}> : () -> tensor<2xf32>
  %0 = stablehlo.constant dense<1.0> : tensor<2xf32>
  // Booleans as a byte each, which later releases of LLVM write, and as a bit each.
  // CHECK: "stablehlo.constant"() <{value = dense<{{\[\[}}false, true, true], [false, false, true]]> : tensor<2x3xi1>}>
  %bytes = stablehlo.constant dense<"0x000101000001"> : tensor<2x3xi1>
  // CHECK: "stablehlo.constant"() <{value = dense<[true, false, false, true, false, false, false, false, true]> : tensor<9xi1>}>
  %bits = stablehlo.constant dense<"0x0901"> : tensor<9xi1>
  // CHECK: "stablehlo.compare"(%{{.+}}, %{{.+}}) <{compare_type = "TOTALORDER", comparison_direction = "LT"}>
  %1 = stablehlo.compare LT, %x, %x, TOTALORDER : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK: "stablehlo.select"(%{{.+}}, %{{.+}}, %{{.+}}) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.select %p, %x, %x : tensor<4x8xi1>, tensor<4x8xf32>
  // CHECK: "stablehlo.slice"(%{{.+}}) <{limit_indices = array<i64: 1, 8>, start_indices = array<i64: 0, 2>, strides = array<i64: 1, 3>}>
  %3 = stablehlo.slice %x [0:1, 2:8:3] : (tensor<4x8xf32>) -> tensor<1x2xf32>
  // CHECK: "stablehlo.dot_general"(%{{.+}}, %{{.+}}) <{algorithm = {lhs_precision_type = "tf32", num_primitive_operations = 1 : i64}, dot_dimension_numbers = {lhs_batching_dimensions = array<i64: 0>, lhs_contracting_dimensions = array<i64: 2>, rhs_batching_dimensions = array<i64: 0>, rhs_contracting_dimensions = array<i64: 2>}, precision_config = ["DEFAULT", "HIGHEST"]}>
  %4 = stablehlo.dot_general %y, %y, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, HIGHEST], algorithm = <lhs_precision_type = tf32, num_primitive_operations = 1> : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
  // CHECK: "stablehlo.convolution"(%{{.+}}, %{{.+}}) <{batch_group_count = 1 : i64, dimension_numbers = {lhs = ["b", 0, "f"], result = ["b", 0, "f"], rhs = [0, "i", "o"]}, feature_group_count = 8 : i64, padding = dense<1> : tensor<1x2xi64>, window_reversal = array<i1: false>, window_strides = array<i64: 1>}>
  %5 = stablehlo.convolution(%y, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[1, 1]], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 8 : i64} : (tensor<2x4x8xf32>, tensor<3x1x8xf32>) -> tensor<2x4x8xf32>
  // CHECK: "stablehlo.reduce_precision"(%{{.+}}) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = stablehlo.reduce_precision %x, format = e5m10 : tensor<4x8xf32>
  // CHECK: "stablehlo.custom_call"(%{{.+}}) <{api_version = 2 : i32, call_target_name = "name"}> {mhlo.sharding = "{replicated}"}
  %7 = stablehlo.custom_call @name(%x) {api_version = 2 : i32, mhlo.sharding = "{replicated}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: "stablehlo.composite"(%{{.+}}, %{{.+}}) <{decomposition = @f, name = "a.b"}>
  %8 = stablehlo.composite "a.b" %x, %v {decomposition = @f} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  // CHECK: %{{.+}}:2 = "stablehlo.optimization_barrier"(%{{.+}}, %{{.+}}) : (tensor<4x8xf32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<f32>)
  %9:2 = stablehlo.optimization_barrier %x, %v : tensor<4x8xf32>, tensor<f32>
  // CHECK: "stablehlo.tuple"(%{{.+}}, %{{.+}}) : (tensor<4x8xf32>, tensor<f32>) -> tuple<tensor<4x8xf32>, tensor<f32>>
  %10 = stablehlo.tuple %x, %v : tuple<tensor<4x8xf32>, tensor<f32>>
  // CHECK: "stablehlo.get_tuple_element"(%{{.+}}) <{index = 1 : i32}>
  %11 = stablehlo.get_tuple_element %10[1] : (tuple<tensor<4x8xf32>, tensor<f32>>) -> tensor<f32>
  // CHECK: "stablehlo.create_token"() : () -> !stablehlo.token
  %12 = stablehlo.create_token : !stablehlo.token
  return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<4x8xf32>, %n: tensor<4x8xi32>, %v: tensor<f32>, %i: tensor<i32>) {
  // CHECK: "stablehlo.reduce"(%{{.+}}, %{{.+}}) <{dimensions = array<i64: 1>}> ({
  // CHECK-NEXT: ^bb0(%[[A:.+]]: tensor<f32>, %[[B:.+]]: tensor<f32>):
  // CHECK-NEXT: %[[SUM:.+]] = "stablehlo.add"(%[[A]], %[[B]]) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: "stablehlo.return"(%[[SUM]]) : (tensor<f32>) -> ()
  // CHECK-NEXT: }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = stablehlo.reduce(%x init: %v) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: "stablehlo.reduce"(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) <{dimensions = array<i64: 0>}> ({
  // CHECK-NEXT: ^bb0(%[[A:.+]]: tensor<f32>, %[[C:.+]]: tensor<i32>, %[[B:.+]]: tensor<f32>, %[[D:.+]]: tensor<i32>):
  // CHECK-NEXT: "stablehlo.return"(%[[B]], %[[C]]) : (tensor<f32>, tensor<i32>) -> ()
  %1:2 = stablehlo.reduce(%x init: %v), (%n init: %i) across dimensions = [0] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
   reducer(%a: tensor<f32> loc("a"), %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>)  {
    stablehlo.return %b, %c : tensor<f32>, tensor<i32>
  }
  // CHECK: %{{.+}}:2 = "stablehlo.while"(%{{.+}}, %{{.+}}) ({
  // CHECK-NEXT: ^bb0(%[[I:.+]]: tensor<i32>, %{{.+}}: tensor<f32>):
  // CHECK-NEXT: "stablehlo.compare"(%[[I]], %[[I]])
  // CHECK: }, {
  // CHECK-NEXT: ^bb0(%{{.+}}: tensor<i32>, %{{.+}}: tensor<f32>):
  // CHECK: }) {mhlo.frontend_attributes = {a = "b"}} : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
  %2:2 = stablehlo.while(%j = %i, %w = %v) : tensor<i32>, tensor<f32> attributes {mhlo.frontend_attributes = {a = "b"}}
   cond {
    %p = stablehlo.compare LT, %j, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %j, %w : tensor<i32>, tensor<f32>
  }
  return
}

// Attributes of the generic form, in the form of builtin attributes.
// CHECK-LABEL: func.func @attributes
func.func @attributes(%x: tensor<4x8xf32>, %i: tensor<4x1xi32>) {
  // CHECK: dimension_numbers = {collapsed_slice_dims = array<i64: 0>, index_vector_dim = 1 : i64, offset_dims = array<i64: 1>, start_index_map = array<i64: 0>}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>
  // CHECK: "stablehlo.custom_call"(%{{.+}}) {a = "HIGH", b = "FLOAT", c = {handle = 1 : i64, type = 0 : i64}, call_target_name = "a.b", d = {lhs = ["b", 0, "f"], result = ["b", 0, "f"], rhs = [0, "i", "o"]}, e = "NO_TRANSPOSE", f = {mode = "HIGHEST"}
  %1 = "stablehlo.custom_call"(%x) {call_target_name = "a.b", a = #stablehlo<precision HIGH>, b = #stablehlo.comparison_type<FLOAT>, c = #stablehlo.channel_handle<handle = 1, type = 0>, d = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, e = #stablehlo<transpose NO_TRANSPOSE>, f = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // What is in no form known stays text.
  // CHECK: g = #stablehlo.odd<a b []>
  "stablehlo.tomorrow"() {g = #stablehlo.odd<a b []>} : () -> ()
  return
}
