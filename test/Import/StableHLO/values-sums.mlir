// RUN: %python %S/evaluate.py %s

// Contractions, with batches, several summed dimensions, and other result types
func.func @main() -> (tensor<2x2x2xf32>, tensor<f32>, tensor<2x2xi32>, tensor<2xf32>) {
  // EXPECT: [[[1, 2], [3, 4]], [[10, 12], [14, 16]]]
  // EXPECT: 1 + 4 + 9 + 16
  // EXPECT: [[127 * 127 + 1, -127], [-127, 1]]
  // EXPECT: [5, 11]
  %a = stablehlo.constant dense<[[[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 2.0]]]> : tensor<2x2x2xf32>
  %b = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]> : tensor<2x2x2xf32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x2x2xf32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %m = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = stablehlo.dot_general %m, %m, contracting_dims = [0, 1] x [0, 1] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<f32>
  %i = stablehlo.constant dense<[[127, -1], [-1, 0]]> : tensor<2x2xi8>
  %2 = stablehlo.dot_general %i, %i, contracting_dims = [1] x [1] : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  %v = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %3 = stablehlo.dot %m, %v : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0, %1, %2, %3 : tensor<2x2x2xf32>, tensor<f32>, tensor<2x2xi32>, tensor<2xf32>
}

// -----

// A convolution with stride, padding, dilation and a kernel turned round
func.func @main() -> (tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x2xf32>, tensor<2x2x2xf32>) {
  // EXPECT: [2 * 0 + 0 * 1 + 2 * 2, 2 * 2 + 0 * 3 + 2 * 0]
  // EXPECT: [1 * 3 + 2 * 1, 2 * 3 + 3 * 1]
  // EXPECT: [[1 * 1 + 2 * 2, 3 * 1], [3 * 1 + 4 * 2, 3 * 3]]
  // EXPECT: [[[1, 20], [2, 40]], [[3, 60], [4, 80]]]
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
  %k = stablehlo.constant dense<[[[2.0]], [[0.0]], [[2.0]]]> : tensor<3x1x1xf32>
  // Positions -1, 0, 1 and 1, 2, 3 of 1 2 3.
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 1]]} : (tensor<1x3x1xf32>, tensor<3x1x1xf32>) -> tensor<1x2x1xf32>
  %j = stablehlo.constant dense<[[[1.0]], [[3.0]]]> : tensor<2x1x1xf32>
  // 1 0 2 0 3 0 at 0 and 2, then 2 and 4, by 3 and 1.
  %1 = stablehlo.convolution(%x, %j) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[0, 1]], lhs_dilate = [2], rhs_dilate = [2], reverse = [true]} : (tensor<1x3x1xf32>, tensor<2x1x1xf32>) -> tensor<1x2x1xf32>
  // Patches side by side, into two features.
  %p = stablehlo.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  %w = stablehlo.constant dense<[[[1.0, 3.0]], [[2.0, 0.0]]]> : tensor<2x1x2xf32>
  %2 = stablehlo.convolution(%p, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} : (tensor<1x4x1xf32>, tensor<2x1x2xf32>) -> tensor<1x2x2xf32>
  // Two groups of features, each with its own weight.
  %g = stablehlo.constant dense<[[[1.0, 2.0], [2.0, 4.0]], [[3.0, 6.0], [4.0, 8.0]]]> : tensor<2x2x2xf32>
  %h = stablehlo.constant dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf32>
  %3 = stablehlo.convolution(%g, %h) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 2 : i64} : (tensor<2x2x2xf32>, tensor<1x1x2xf32>) -> tensor<2x2x2xf32>
  return %0, %1, %2, %3 : tensor<1x2x1xf32>, tensor<1x2x1xf32>, tensor<1x2x2xf32>, tensor<2x2x2xf32>
}

// -----

// Reductions by one operation, with initial values that count
func.func @main() -> (tensor<2xf32>, tensor<3xi32>, tensor<i1>, tensor<2xi1>, tensor<f32>, tensor<2xi32>) {
  // EXPECT: [106, 115]
  // EXPECT: [4, 5, 6]
  // EXPECT: True
  // EXPECT: [False, True]
  // EXPECT: 720
  // EXPECT: [1 ^ 2 ^ 3, 4 ^ 5 ^ 6]
  %x = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %c = stablehlo.constant dense<100.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %i = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %low = stablehlo.constant dense<-2147483648> : tensor<i32>
  %1 = stablehlo.reduce(%i init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<3xi32>
  %b = stablehlo.constant dense<[[false, true], [true, true]]> : tensor<2x2xi1>
  %false = stablehlo.constant dense<false> : tensor<i1>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %2 = stablehlo.reduce(%b init: %false) applies stablehlo.or across dimensions = [0, 1] : (tensor<2x2xi1>, tensor<i1>) -> tensor<i1>
  %3 = stablehlo.reduce(%b init: %true) applies stablehlo.and across dimensions = [1] : (tensor<2x2xi1>, tensor<i1>) -> tensor<2xi1>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %4 = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [1, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  // Neither sum nor product: by pairs.
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %5 = stablehlo.reduce(%i init: %zero) applies stablehlo.xor across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  return %0, %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<3xi32>, tensor<i1>, tensor<2xi1>, tensor<f32>, tensor<2xi32>
}

// -----

// Nothing to reduce leaves the initial value.
func.func @main() -> (tensor<2xf32>, tensor<i1>) {
  // EXPECT: [7, 7]
  // EXPECT: False
  %x = stablehlo.constant dense<> : tensor<2x0xf32>
  %c = stablehlo.constant dense<7.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
  %b = stablehlo.constant dense<> : tensor<0xi1>
  %f = stablehlo.constant dense<false> : tensor<i1>
  %1 = stablehlo.reduce(%b init: %f) applies stablehlo.or across dimensions = [0] : (tensor<0xi1>, tensor<i1>) -> tensor<i1>
  return %0, %1 : tensor<2xf32>, tensor<i1>
}

// -----

// The greatest value and its first place, with ties and NaN, as JAX writes it
func.func @main() -> (tensor<3xf32>, tensor<3xi32>) {
  // EXPECT: [5, 7, math.nan]
  // EXPECT: [1, 0, 2]
  %x = stablehlo.constant dense<[[1.0, 5.0, 2.0, 5.0], [7.0, 7.0, -1.0, 0.0], [9.0, 1.0, 0x7FC00000, 0x7FC00000]]> : tensor<3x4xf32>
  %n = stablehlo.iota dim = 1 : tensor<3x4xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%x init: %low), (%n init: %zero) across dimensions = [1] : (tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {
    %1 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.or %1, %2 : tensor<i1>
    %4 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %4, %5 : tensor<i1>
    %7 = stablehlo.or %3, %6 : tensor<i1>
    %8 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<f32>
    %9 = stablehlo.select %7, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %8, %9 : tensor<f32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32>
}

// -----

// Windows: sums up to every place, maxima with stride, and dilated ones
func.func @main() -> (tensor<5xf32>, tensor<2x2xi32>, tensor<3xi32>, tensor<4xi32>) {
  // EXPECT: [1, 3, 6, 10, 15]
  // EXPECT: [[6, 8], [14, 16]]
  // EXPECT: [1 + 3, 2 + 4, 3 + 5]
  // EXPECT: [100 + 1, 100 + 1, 100 + 2, 100 + 2]
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %c) <{padding = dense<[[4, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 5>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  %m = stablehlo.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]]> : tensor<4x4xi32>
  %low = stablehlo.constant dense<-2147483648> : tensor<i32>
  %1 = "stablehlo.reduce_window"(%m, %low) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4x4xi32>, tensor<i32>) -> tensor<2x2xi32>
  %v = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %2 = "stablehlo.reduce_window"(%v, %zero) <{window_dimensions = array<i64: 2>, window_dilations = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<5xi32>, tensor<i32>) -> tensor<3xi32>
  // The initial value is once in every sum, and padding, of which there is some
  // between elements, in none: . 1 . 2 . by two.
  %w = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %h = stablehlo.constant dense<100> : tensor<i32>
  %3 = "stablehlo.reduce_window"(%w, %h) <{padding = dense<[[1, 1]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, base_dilations = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
  return %0, %1, %2, %3 : tensor<5xf32>, tensor<2x2xi32>, tensor<3xi32>, tensor<4xi32>
}

// -----

// Windows of padding alone have the initial value, whether the region is one
// operation or none that is known; two tensors at once
func.func @main() -> (tensor<6xi32>, tensor<6xf32>, tensor<6xi32>, tensor<6xi32>) {
  // EXPECT: [7, 7 * 2, 7 * 2 * 3, 7 * 3, 7, 7]
  // EXPECT: [2, math.hypot(2, 3), math.hypot(2, 3, 4), math.hypot(2, 4), 2, 2]
  // EXPECT: [5, 5 + 2, 5 + 2 + 3, 5 + 3, 5, 5]
  // EXPECT: [2, 2, 3, 3, 2, 2]
  %v = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%v, %seven) <{padding = dense<[[2, 3]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.multiply %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<2xi32>, tensor<i32>) -> tensor<6xi32>
  %1 = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %2 = stablehlo.constant dense<2.0> : tensor<f32>
  %3 = "stablehlo.reduce_window"(%1, %2) <{padding = dense<[[2, 3]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.multiply %a, %a : tensor<f32>
    %q = stablehlo.multiply %b, %b : tensor<f32>
    %s = stablehlo.add %p, %q : tensor<f32>
    %r = stablehlo.sqrt %s : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<2xf32>, tensor<f32>) -> tensor<6xf32>
  %4:2 = "stablehlo.reduce_window"(%v, %v, %five, %two) <{padding = dense<[[2, 3]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %s = stablehlo.add %a, %c : tensor<i32>
    %m = stablehlo.maximum %b, %d : tensor<i32>
    stablehlo.return %s, %m : tensor<i32>, tensor<i32>
  }) : (tensor<2xi32>, tensor<2xi32>, tensor<i32>, tensor<i32>) -> (tensor<6xi32>, tensor<6xi32>)
  return %0, %3, %4#0, %4#1 : tensor<6xi32>, tensor<6xf32>, tensor<6xi32>, tensor<6xi32>
}

// -----

// The gradient of a maximum over windows goes to the first of the greatest.
func.func @main() -> (tensor<1x5xf32>) {
  // EXPECT: [0, 1, 0, 2, 0]
  %x = stablehlo.constant dense<[[1.0, 4.0, 4.0, 9.0, 0.0]]> : tensor<1x5xf32>
  %s = stablehlo.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 3>, padding = dense<[[0, 0], [0, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<1x5xf32>, tensor<1x2xf32>, tensor<f32>) -> tensor<1x5xf32>
  return %0 : tensor<1x5xf32>
}

// -----

// Loops and branches: one that counts from 2, one that does not, an if, a case
func.func @main() -> (tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) {
  // EXPECT: 2 + 3 + 4
  // EXPECT: 128
  // EXPECT: 1
  // EXPECT: 30
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %two, %s = %zero) : tensor<i32>, tensor<i32>
  cond {
    %p = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.add %s, %i : tensor<i32>
    stablehlo.return %n, %t : tensor<i32>, tensor<i32>
  }
  %hundred = stablehlo.constant dense<100> : tensor<i32>
  %1 = stablehlo.while(%i = %one) : tensor<i32>
  cond {
    %p = stablehlo.compare LT, %i, %hundred, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %i, %i : tensor<i32>
    stablehlo.return %n : tensor<i32>
  }
  %true = stablehlo.constant dense<true> : tensor<i1>
  %a = stablehlo.constant dense<1.0> : tensor<f32>
  %b = stablehlo.constant dense<30.0> : tensor<f32>
  %2 = "stablehlo.if"(%true) ({
    stablehlo.return %a : tensor<f32>
  }, {
    stablehlo.return %b : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  // An index that no branch has takes the last one.
  %3 = "stablehlo.case"(%five) ({
    stablehlo.return %a : tensor<f32>
  }, {
    stablehlo.return %b : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %0#1, %1, %2, %3 : tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>
}

// -----

// Calls of composites and of functions that were none of StableHLO's, and values
// that are passed on
func.func private @square(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @main() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  // EXPECT: [4, 9]
  // EXPECT: [2, 3]
  // EXPECT: [math.erf(2), math.erf(3)]
  // EXPECT: [math.tan(2), math.tan(3)]
  // EXPECT: [math.asinh(2), math.asinh(3)]
  %x = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = stablehlo.composite "my.square" %x {decomposition = @square} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = stablehlo.optimization_barrier %x : tensor<2xf32>
  %2 = stablehlo.custom_call @mhlo.erf(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = stablehlo.custom_call @mhlo.tan(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  %4 = stablehlo.custom_call @mhlo.asinh(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %1, %2, %3, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// What is done to two elements is a function, which calls another one
func.func private @twice(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %a : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @combine(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = func.call @twice(%a) : (tensor<f32>) -> tensor<f32>
  %1 = stablehlo.add %0, %b : tensor<f32>
  return %1 : tensor<f32>
}
func.func private @sum(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0 : tensor<f32>
}
func.func @main() -> (tensor<3xf32>, tensor<f32>, tensor<2xf32>) {
  // EXPECT: [2 * 1 + 2, 2 * 2 + 3, 2 * 3 + 4]
  // EXPECT: 1 + 2 + 3 + 4
  // EXPECT: [2, 3]
  %v = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%v, %zero) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = func.call @combine(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = stablehlo.reduce(%v init: %zero) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>)  {
    %c = func.call @sum(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %c : tensor<f32>
  }
  %w = stablehlo.slice %v [1:3] : (tensor<4xf32>) -> tensor<2xf32>
  %2 = "stablehlo.map"(%w) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>):
    %c = func.call @twice(%a) : (tensor<f32>) -> tensor<f32>
    %half = stablehlo.constant dense<0.5> : tensor<f32>
    %d = stablehlo.multiply %c, %half : tensor<f32>
    stablehlo.return %d : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<f32>, tensor<2xf32>
}
