// RUN: %python %S/evaluate.py %s

// Element-wise operations have the values that Python gives.
// Functions of one float
func.func @main() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  // EXPECT: [math.exp(x) for x in (-1.5, 0.5, 2)]
  // EXPECT: [math.expm1(x) for x in (-1.5, 0.5, 2)]
  // EXPECT: [math.cos(x) for x in (-1.5, 0.5, 2)]
  // EXPECT: [math.tan(x) for x in (-1.5, 0.5, 2)]
  // EXPECT: [-(1.5 ** (1 / 3)), 0.5 ** (1 / 3), 2 ** (1 / 3)]
  // EXPECT: [1 / (1 + math.exp(-x)) for x in (-1.5, 0.5, 2)]
  // EXPECT: [-1, 1, 1]
  %x = stablehlo.constant dense<[-1.5, 0.5, 2.0]> : tensor<3xf32>
  %0 = stablehlo.exponential %x : tensor<3xf32>
  %1 = stablehlo.exponential_minus_one %x : tensor<3xf32>
  %2 = stablehlo.cosine %x : tensor<3xf32>
  %3 = stablehlo.tan %x : tensor<3xf32>
  %4 = stablehlo.cbrt %x : tensor<3xf32>
  %5 = stablehlo.logistic %x : tensor<3xf32>
  %6 = stablehlo.sign %x : tensor<3xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// Rounding, with ties and both zeros
func.func @main() -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<3xf32>) {
  // EXPECT: [-3, -1, -0.0, 1, 3, 4]
  // EXPECT: [-2, 0, -0.0, 0, 2, 4]
  // EXPECT: [-3, -1, -0.0, 0, 2, 3]
  // EXPECT: [-2, 0, -0.0, 1, 3, 4]
  // EXPECT: [1.0009765625, 0.099975586, math.inf]
  %x = stablehlo.constant dense<[-2.5, -0.5, -0.0, 0.5, 2.5, 3.75]> : tensor<6xf32>
  %0 = stablehlo.round_nearest_afz %x : tensor<6xf32>
  %1 = stablehlo.round_nearest_even %x : tensor<6xf32>
  %2 = stablehlo.floor %x : tensor<6xf32>
  %3 = stablehlo.ceil %x : tensor<6xf32>
  %y = stablehlo.constant dense<[1.001, 0.1, 1.0e6]> : tensor<3xf32>
  %4 = stablehlo.reduce_precision %y, format = e5m10 : tensor<3xf32>
  return %0, %1, %2, %3, %4 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<3xf32>
}

// -----

// Functions of two numbers
func.func @main() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  // EXPECT: [math.atan2(y, x) for y, x in ((1, 2), (-1, -2), (0.5, -3), (2, 1))]
  // EXPECT: [math.fmod(y, x) for y, x in ((1, 2), (-1, -2), (0.5, -3), (2, 1))]
  // EXPECT: [3, -3, 0, -1]
  // EXPECT: [1, -1, 2, 5]
  // EXPECT: [343, -343, 8, 1]
  %y = stablehlo.constant dense<[1.0, -1.0, 0.5, 2.0]> : tensor<4xf32>
  %x = stablehlo.constant dense<[2.0, -2.0, -3.0, 1.0]> : tensor<4xf32>
  %0 = stablehlo.atan2 %y, %x : tensor<4xf32>
  %1 = stablehlo.remainder %y, %x : tensor<4xf32>
  %i = stablehlo.constant dense<[7, -7, 2, 5]> : tensor<4xi32>
  %j = stablehlo.constant dense<[2, 2, 3, 0]> : tensor<4xi32>
  %k = stablehlo.constant dense<[3, 3, 3, 0]> : tensor<4xi32>
  %2 = stablehlo.divide %i, %j : tensor<4xi32>
  %3 = stablehlo.remainder %i, %j : tensor<4xi32>
  %4 = stablehlo.power %i, %k : tensor<4xi32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// -----

// Bits
func.func @main() -> (tensor<3xui32>, tensor<3xui32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) {
  // EXPECT: [0xf0, 0, 0]
  // EXPECT: [0, 0x0fffffff, 0]
  // EXPECT: [0, -1, -1]
  // EXPECT: [4, 32, 1]
  // EXPECT: [28, 0, 0]
  // EXPECT: [~15, 0, 2**31 - 1]
  %a = stablehlo.constant dense<[15, 4294967295, 2147483648]> : tensor<3xui32>
  %s = stablehlo.constant dense<[4, 32, 33]> : tensor<3xui32>
  %t = stablehlo.constant dense<[4, 4, 32]> : tensor<3xui32>
  %0 = stablehlo.shift_left %a, %s : tensor<3xui32>
  %1 = stablehlo.shift_right_logical %a, %t : tensor<3xui32>
  %i = stablehlo.constant dense<[15, -1, -2147483648]> : tensor<3xi32>
  %j = stablehlo.constant dense<[4, 4, 40]> : tensor<3xi32>
  %2 = stablehlo.shift_right_arithmetic %i, %j : tensor<3xi32>
  %3 = stablehlo.popcnt %i : tensor<3xi32>
  %4 = stablehlo.count_leading_zeros %i : tensor<3xi32>
  %5 = stablehlo.not %i : tensor<3xi32>
  return %0, %1, %2, %3, %4, %5 : tensor<3xui32>, tensor<3xui32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>
}

// -----

// Bits of other types: wider, narrower and as wide
func.func @main() -> (tensor<2xi32>, tensor<2x2xui16>, tensor<2xf32>, tensor<1x4xi8>) {
  // EXPECT: [0x3f800000, -0x80000000]
  // EXPECT: [0, 0x3f80, 0, 0x8000]
  // EXPECT: [1.0, -0.0]
  // EXPECT: [4, 3, 2, -1]
  %x = stablehlo.constant dense<[1.0, -0.0]> : tensor<2xf32>
  %0 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2xi32>
  %1 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2x2xui16>
  %2 = stablehlo.bitcast_convert %1 : (tensor<2x2xui16>) -> tensor<2xf32>
  %i = stablehlo.constant dense<[-16645372]> : tensor<1xi32>
  %3 = stablehlo.bitcast_convert %i : (tensor<1xi32>) -> tensor<1x4xi8>
  return %0, %1, %2, %3 : tensor<2xi32>, tensor<2x2xui16>, tensor<2xf32>, tensor<1x4xi8>
}

// -----

// Comparisons: with NaN, with unsigned numbers, and in the total order of floats
func.func @main() -> (tensor<5xi1>, tensor<5xi1>, tensor<2xi1>, tensor<5xi1>) {
  // EXPECT: [True, False, False, False, False]
  // EXPECT: [True, False, True, True, True]
  // EXPECT: [False, True]
  // EXPECT: [True, True, True, False, False]
  %x = stablehlo.constant dense<[1.0, -0.0, 0xFFC00000, 0x7FC00000, 3.0]> : tensor<5xf32>
  %y = stablehlo.constant dense<[2.0, 0.0, 1.0, 1.0, -3.0]> : tensor<5xf32>
  %0 = stablehlo.compare LT, %x, %y, FLOAT : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %1 = stablehlo.compare NE, %x, %y : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %a = stablehlo.constant dense<[4294967295, 1]> : tensor<2xui32>
  %b = stablehlo.constant dense<[1, 2]> : tensor<2xui32>
  %2 = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xi1>
  %3 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  return %0, %1, %2, %3 : tensor<5xi1>, tensor<5xi1>, tensor<2xi1>, tensor<5xi1>
}

// -----

// Choices, with scalars that stand for all, and truth values
func.func @main() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xi1>, tensor<4xi1>, tensor<4xi1>) {
  // EXPECT: [1, 2, 3]
  // EXPECT: [-1, 0.5, 1]
  // EXPECT: [True, False, False]
  // EXPECT: [False, True, True, True]
  // EXPECT: [False, False, False, True]
  %p = stablehlo.constant dense<true> : tensor<i1>
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %y = stablehlo.constant dense<[-4.0, 0.5, 6.0]> : tensor<3xf32>
  %0 = stablehlo.select %p, %x, %y : tensor<i1>, tensor<3xf32>
  %low = stablehlo.constant dense<-1.0> : tensor<f32>
  %high = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.clamp %low, %y, %high : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %z = stablehlo.constant dense<[1.0, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  %2 = stablehlo.is_finite %z : (tensor<3xf32>) -> tensor<3xi1>
  %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %3 = stablehlo.add %a, %b : tensor<4xi1>
  %4 = stablehlo.minimum %a, %b : tensor<4xi1>
  return %0, %1, %2, %3, %4 : tensor<3xf32>, tensor<3xf32>, tensor<3xi1>, tensor<4xi1>, tensor<4xi1>
}

// -----

// Functions of chlo
func.func @main() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  // EXPECT: [math.erf(x) for x in (-0.75, 0.25, 0.5)]
  // EXPECT: [math.erfc(x) for x in (-0.75, 0.25, 0.5)]
  // EXPECT: [math.asin(x) for x in (-0.75, 0.25, 0.5)]
  // EXPECT: [math.atanh(x) for x in (-0.75, 0.25, 0.5)]
  // EXPECT: [math.sinh(x) for x in (-0.75, 0.25, 0.5)]
  // EXPECT: [math.lgamma(x) for x in (-0.75, 0.25, 0.5)]
  // EXPECT: [-0.8134198475976185, 0.22531205501217808, 0.4769362762044699]
  // EXPECT: [x * x for x in (-0.75, 0.25, 0.5)]
  %x = stablehlo.constant dense<[-0.75, 0.25, 0.5]> : tensor<3xf32>
  %0 = chlo.erf %x : tensor<3xf32> -> tensor<3xf32>
  %1 = chlo.erfc %x : tensor<3xf32> -> tensor<3xf32>
  %2 = chlo.asin %x : tensor<3xf32> -> tensor<3xf32>
  %3 = chlo.atanh %x : tensor<3xf32> -> tensor<3xf32>
  %4 = chlo.sinh %x : tensor<3xf32> -> tensor<3xf32>
  %5 = chlo.lgamma %x : tensor<3xf32> -> tensor<3xf32>
  %6 = chlo.erf_inv %x : tensor<3xf32> -> tensor<3xf32>
  %7 = chlo.square %x : tensor<3xf32> -> tensor<3xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// The complementary error function in doubles, near, in the middle, and far out
func.func @main() -> (tensor<6xf64>) {
  // EXPECT: [math.erfc(x) for x in (-3.5, -0.75, 0.5, 1.25, 6.0, 30.0)]
  %x = stablehlo.constant dense<[-3.5, -0.75, 0.5, 1.25, 6.0, 30.0]> : tensor<6xf64>
  %0 = chlo.erfc %x : tensor<6xf64> -> tensor<6xf64>
  return %0 : tensor<6xf64>
}

// -----

// More functions of chlo
func.func @main() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>) {
  // EXPECT: [math.acosh(x) for x in (1, 2.5, 40)]
  // EXPECT: [math.asinh(x) for x in (1, 2.5, 40)]
  // EXPECT: [math.atan(x) for x in (1, 2.5, 40)]
  // EXPECT: [-0.5772156649015329, 0.7031566406452432, 3.6763273740345493]
  // EXPECT: [0.20791041534970844, 0.206584649531, 0.062481955519]
  // EXPECT: [math.pi ** 2 / 6, math.pi ** 4 / 90]
  // EXPECT: [-1, 1]
  // EXPECT: [math.pi ** 2 / 6, -2.4041138063191886]
  %x = stablehlo.constant dense<[1.0, 2.5, 40.0]> : tensor<3xf32>
  %0 = chlo.acosh %x : tensor<3xf32> -> tensor<3xf32>
  %1 = chlo.asinh %x : tensor<3xf32> -> tensor<3xf32>
  %2 = chlo.atan %x : tensor<3xf32> -> tensor<3xf32>
  %3 = chlo.digamma %x : tensor<3xf32> -> tensor<3xf32>
  %4 = chlo.bessel_i1e %x : tensor<3xf32> -> tensor<3xf32>
  %s = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %5 = chlo.zeta %s, %one : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %i = stablehlo.constant dense<[-2147483648, 65536]> : tensor<2xi32>
  %j = stablehlo.constant dense<[2, 65536]> : tensor<2xi32>
  %6 = chlo.mulhi %i, %j : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
  %n = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %7 = chlo.polygamma %n, %one : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>
}

// -----

// The next float, up, down, across zero and nowhere
func.func @main() -> (tensor<5xi32>) {
  // EXPECT: [0x3f800001, 0x3f7fffff, 1, -0x7fffffff, 0x40000000]
  %x = stablehlo.constant dense<[1.0, 1.0, 0.0, 0.0, 2.0]> : tensor<5xf32>
  %y = stablehlo.constant dense<[2.0, -2.0, 1.0, -1.0, 2.0]> : tensor<5xf32>
  %0 = chlo.next_after %x, %y : tensor<5xf32>, tensor<5xf32> -> tensor<5xf32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<5xf32>) -> tensor<5xi32>
  return %1 : tensor<5xi32>
}

// -----

// A region of scalars on every element
func.func @main() -> (tensor<3xf32>) {
  // EXPECT: [2 * a + b for a, b in ((1, 4), (2, 5), (3, 6))]
  %a = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[4.0, 5.0, 6.0]> : tensor<3xf32>
  %0 = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %1 = stablehlo.multiply %x, %two : tensor<f32>
    %2 = stablehlo.add %1, %y : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// Numbers of fewer bits, as XLA rounds to them: too large is infinite, and what
// would be a denormal is zero
func.func @main() -> (tensor<11xf32>, tensor<11xf32>, tensor<11xf32>, tensor<11xf32>, tensor<11xf32>, tensor<4xf64>, tensor<4xf64>, tensor<11xbf16>) {
  // EXPECT: [1.0, 0.10009765625, math.inf, -0.0, 6.198883056640625e-05, math.nan, -math.inf, 0.0, math.inf, 1.0078125, 1.015625]
  // EXPECT: [1.0, 0.1015625, math.inf, -0.0, 0.0, math.nan, -math.inf, 0.0, math.inf, 1.0, 1.0]
  // EXPECT: [1.0, 0.10009765625, 999424.0, -3.0040740966796875e-05, 6.198883056640625e-05, math.nan, -70144.0, 3.03057137321371e-39, 65536.0, 1.0078125, 1.015625]
  // EXPECT: [1.0, 0.0, math.inf, -0.0, 0.0, math.nan, -math.inf, 0.0, math.inf, 1.0, 1.0]
  // EXPECT: [1.0, 0.125, 1048576.0, -3.0517578125e-05, 6.103515625e-05, math.nan, -65536.0, 0.0, 65536.0, 1.0, 1.0]
  // EXPECT: [0.33333333333333326, 1e+300, 1.00000000000005e-310, -2.5]
  // EXPECT: [0.333251953125, math.inf, 0.0, -2.5]
  // EXPECT: [1.0, 0.10009765625, math.inf, -0.0, 6.198883056640625e-05, math.nan, -math.inf, 0.0, math.inf, 1.0078125, 1.015625]
  %x = stablehlo.constant dense<[1.001, 0.1, 1.0e6, -3.0e-5, 6.2e-5, 0x7FC00000, -70000.0, 3.0e-39, 65519.0, 1.0078125, 1.01171875]> : tensor<11xf32>
  %0 = stablehlo.reduce_precision %x, format = e5m7 : tensor<11xf32>
  %1 = stablehlo.reduce_precision %x, format = e4m3 : tensor<11xf32>
  %2 = stablehlo.reduce_precision %x, format = e8m7 : tensor<11xf32>
  %3 = stablehlo.reduce_precision %x, format = e2m0 : tensor<11xf32>
  %4 = stablehlo.reduce_precision %x, format = e8m0 : tensor<11xf32>
  %y = stablehlo.constant dense<[0.3333333333333333, 1.0e300, 1.0e-310, -2.5]> : tensor<4xf64>
  %5 = stablehlo.reduce_precision %y, format = e11m51 : tensor<4xf64>
  %6 = stablehlo.reduce_precision %y, format = e5m10 : tensor<4xf64>
  %b = stablehlo.convert %x : (tensor<11xf32>) -> tensor<11xbf16>
  %7 = stablehlo.reduce_precision %b, format = e5m9 : tensor<11xbf16>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<11xf32>, tensor<11xf32>, tensor<11xf32>, tensor<11xf32>, tensor<11xf32>, tensor<4xf64>, tensor<4xf64>, tensor<11xbf16>
}
