// RUN: tp-opt %s --tp-import-stablehlo --tp-raise | FileCheck %s

// PyTorch/XLA writes a layer norm as a batch norm whose features are the rows.

// CHECK-LABEL: func.func @layer
// CHECK: %[[ROWS:.+]] = tp.reshape %{{.+}} : tensor<1x12x24xf32> -> tensor<12x24xf32>
// CHECK: tp.layer_norm %[[ROWS]], %{{.+}}, %{{.+}} epsilon = 9.99
// CHECK-NOT: tp.reduce
func.func @layer(%x: tensor<2x6x24xf32>, %w: tensor<24xf32>, %b: tensor<24xf32>) -> tensor<2x6x24xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<12xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<12xf32>
  %0 = stablehlo.reshape %x : (tensor<2x6x24xf32>) -> tensor<1x12x24xf32>
  %1:3 = "stablehlo.batch_norm_training"(%0, %one, %zero) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<1x12x24xf32>, tensor<12xf32>, tensor<12xf32>) -> (tensor<1x12x24xf32>, tensor<12xf32>, tensor<12xf32>)
  %2 = stablehlo.reshape %1#0 : (tensor<1x12x24xf32>) -> tensor<2x6x24xf32>
  %3 = stablehlo.broadcast_in_dim %w, dims = [2] : (tensor<24xf32>) -> tensor<2x6x24xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<2x6x24xf32>
  %5 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<24xf32>) -> tensor<2x6x24xf32>
  %6 = stablehlo.add %5, %4 : tensor<2x6x24xf32>
  return %6 : tensor<2x6x24xf32>
}
