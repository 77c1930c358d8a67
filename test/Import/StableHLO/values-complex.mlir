// RUN: %python %S/evaluate.py %s

// A rotation of pairs, by numbers that are a constant, a sum and an exponential
func.func @main() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) {
  // EXPECT: [1 * 2 - 3 * -1, 2 * 2 - 4 * -1, 5 * 0 - 7 * 1, 6 * 0 - 8 * 1]
  // EXPECT: [1 * -1 + 3 * 2, 2 * -1 + 4 * 2, 5 * 1 + 7 * 0, 6 * 1 + 8 * 0]
  // EXPECT: [math.exp(2) * math.cos(-1), math.cos(1)]
  // EXPECT: [math.exp(2) * math.sin(-1), math.sin(1)]
  %re = stablehlo.constant dense<[[1.0, 2.0], [5.0, 6.0]]> : tensor<2x2xf32>
  %im = stablehlo.constant dense<[[3.0, 4.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %angles = stablehlo.constant dense<[(2.0, -1.0), (0.0, 1.0)]> : tensor<2xcomplex<f32>>
  %0 = stablehlo.complex %re, %im : tensor<2x2xcomplex<f32>>
  %1 = stablehlo.broadcast_in_dim %angles, dims = [0] : (tensor<2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  %2 = stablehlo.multiply %0, %1 : tensor<2x2xcomplex<f32>>
  %3 = stablehlo.real %2 : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  %4 = stablehlo.imag %2 : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  %5 = stablehlo.exponential %angles : tensor<2xcomplex<f32>>
  %6 = stablehlo.real %5 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  %7 = stablehlo.imag %5 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  return %3, %4, %6, %7 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// What only moves numbers or is a sum, in the order of the operations
func.func @main() -> (tensor<2x3xf64>, tensor<2x3xf64>) {
  // EXPECT: [7 - 5, 7 - 3, 7 - 0, 7 - 6, 7 - 4, 7 - 0]
  // EXPECT: [0 - 50, 0 - 30, 0 - 9, 0 - 60, 0 - 40, 0 - 9]
  %x = stablehlo.constant dense<[[(1.0, 10.0), (2.0, 20.0)], [(3.0, 30.0), (4.0, 40.0)], [(5.0, 50.0), (6.0, 60.0)]]> : tensor<3x2xcomplex<f64>>
  %seven = stablehlo.constant dense<7.0> : tensor<2x3xf64>
  %edge = stablehlo.constant dense<(0.0, 9.0)> : tensor<complex<f64>>
  %0 = stablehlo.reverse %x, dims = [0] : tensor<3x2xcomplex<f64>>
  %1 = stablehlo.slice %0 [0:2, 0:2] : (tensor<3x2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<2x2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>>
  %3 = stablehlo.pad %2, %edge, low = [0, 0], high = [0, 1], interior = [0, 0] : (tensor<2x2xcomplex<f64>>, tensor<complex<f64>>) -> tensor<2x3xcomplex<f64>>
  %4 = stablehlo.negate %3 : tensor<2x3xcomplex<f64>>
  %5 = stablehlo.convert %seven : (tensor<2x3xf64>) -> tensor<2x3xcomplex<f64>>
  %6 = stablehlo.add %5, %4 : tensor<2x3xcomplex<f64>>
  %7 = stablehlo.real %6 : (tensor<2x3xcomplex<f64>>) -> tensor<2x3xf64>
  %8 = stablehlo.imag %6 : (tensor<2x3xcomplex<f64>>) -> tensor<2x3xf64>
  return %7, %8 : tensor<2x3xf64>, tensor<2x3xf64>
}

// -----

// A product of matrices
func.func @main() -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  // EXPECT: [1 * 5 - 2 * 6 + 3 * 7 - 4 * 8]
  // EXPECT: [1 * 6 + 2 * 5 + 3 * 8 + 4 * 7]
  %x = stablehlo.constant dense<[[(1.0, 2.0), (3.0, 4.0)]]> : tensor<1x2xcomplex<f32>>
  %y = stablehlo.constant dense<[[(5.0, 6.0)], [(7.0, 8.0)]]> : tensor<2x1xcomplex<f32>>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1x2xcomplex<f32>>, tensor<2x1xcomplex<f32>>) -> tensor<1x1xcomplex<f32>>
  %1 = stablehlo.real %0 : (tensor<1x1xcomplex<f32>>) -> tensor<1x1xf32>
  %2 = stablehlo.imag %0 : (tensor<1x1xcomplex<f32>>) -> tensor<1x1xf32>
  return %1, %2 : tensor<1x1xf32>, tensor<1x1xf32>
}
