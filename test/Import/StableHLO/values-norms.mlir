// RUN: %python %S/evaluate.py %s

// Batch normalisation of features in the last dimension, for inference and training
func.func @main() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) {
  // EXPECT: [2, 3 * 9 / 2 + 4, 6, 3 * 29 / 2 + 4]
  // EXPECT: [0, -3 * 10 / math.sqrt(103) - 1, 2, 3 * 10 / math.sqrt(103) - 1]
  // EXPECT: [2, 20]
  // EXPECT: [1, 100]
  %x = stablehlo.constant dense<[[1.0, 10.0], [3.0, 30.0]]> : tensor<2x2xf32>
  %scale = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %offset = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %far = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %mean = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %variance = stablehlo.constant dense<[-2.0, 1.0]> : tensor<2xf32>
  %0 = "stablehlo.batch_norm_inference"(%x, %scale, %far, %mean, %variance) <{epsilon = 3.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %1:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) <{epsilon = 3.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %0, %1#0, %1#1, %1#2 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// Of features between other dimensions, which are normalised together
func.func @main() -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<1x2x1xf64>) {
  // EXPECT: [-1, -1 / 3, 7, 7, 1 / 3, 1, 7, 7]
  // EXPECT: [4, 0]
  // EXPECT: [5, 0.5]
  // EXPECT: [7, -7]
  %x = stablehlo.constant dense<[[[1.0, 3.0], [-1.0, 0.0]], [[5.0, 7.0], [0.0, 1.0]]]> : tensor<2x2x2xf64>
  %scale = stablehlo.constant dense<[1.0, 0.0]> : tensor<2xf64>
  %offset = stablehlo.constant dense<[0.0, 7.0]> : tensor<2xf64>
  %0:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) <{epsilon = 4.0 : f32, feature_index = 1 : i64}> : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  // A feature of one element is its own mean.
  %one = stablehlo.constant dense<[[[5.0], [6.0]]]> : tensor<1x2x1xf64>
  %signs = stablehlo.constant dense<[7.0, -7.0]> : tensor<2xf64>
  %1:3 = "stablehlo.batch_norm_training"(%one, %scale, %signs) <{epsilon = 4.0 : f32, feature_index = 1 : i64}> : (tensor<1x2x1xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<1x2x1xf64>, tensor<2xf64>, tensor<2xf64>)
  return %0#0, %0#1, %0#2, %1#0 : tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<1x2x1xf64>
}

// -----

// The gradient
func.func @main() -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) {
  // EXPECT: [0.375, (-2 + 200 / 103) * 1.5 / math.sqrt(103), -0.375, (2 - 200 / 103) * 1.5 / math.sqrt(103)]
  // EXPECT: [-0.5, 20 / math.sqrt(103)]
  // EXPECT: [1, 2]
  %x = stablehlo.constant dense<[[1.0, 10.0], [3.0, 30.0]]> : tensor<2x2xf32>
  %scale = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %mean = stablehlo.constant dense<[2.0, 20.0]> : tensor<2xf32>
  %variance = stablehlo.constant dense<[1.0, 100.0]> : tensor<2xf32>
  %gradient = stablehlo.constant dense<[[1.0, 0.0], [0.0, 2.0]]> : tensor<2x2xf32>
  %0:3 = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %gradient) <{epsilon = 3.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>
}
