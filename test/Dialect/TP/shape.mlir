// RUN: tp-opt %s --verify-roundtrip | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

// Tensors from nothing: one value everywhere, listed elements, a count. After
// Localize a constant's type has an encoding that its value cannot carry.
// CHECK-LABEL: func.func @sources
func.func @sources() {
  // CHECK: tp.constant dense<1.000000e+00> : tensor<4x16xf32>
  %0 = tp.constant dense<1.0> : tensor<4x16xf32>
  // CHECK: tp.constant dense<[1, 2, 3]> : tensor<3xi8>
  %1 = tp.constant dense<[1, 2, 3]> : tensor<3xi8>
  // CHECK: tp.constant dense<true> : tensor<i1>
  %2 = tp.constant dense<true> : tensor<i1>
  // CHECK: tp.constant dense<0> : tensor<2xi32> as tensor<2xi32, #spmd.local<@m, [{"x"}], global=[4]>>
  %3 = tp.constant dense<0> : tensor<2xi32> as tensor<2xi32, #spmd.local<@m, [{"x"}], global=[4]>>
  // CHECK: tp.iota dim = 1 : tensor<4x16xi32>
  %4 = tp.iota dim = 1 : tensor<4x16xi32>
  return
}

// Ops that move elements, and that empty tensors and scalars are tensors.
// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<4x16xf32>, %b: tensor<16xf32>, %s: tensor<f32>, %e: tensor<0x16xf32>) {
  // CHECK: tp.broadcast %{{.+}} dims = [1] : tensor<16xf32> -> tensor<4x16xf32>
  %0 = tp.broadcast %b dims = [1] : tensor<16xf32> -> tensor<4x16xf32>
  // CHECK: tp.broadcast %{{.+}} dims = [] : tensor<f32> -> tensor<4x16xf32>
  %1 = tp.broadcast %s dims = [] : tensor<f32> -> tensor<4x16xf32>
  // CHECK: tp.transpose %{{.+}} [1, 0] : tensor<4x16xf32> -> tensor<16x4xf32>
  %2 = tp.transpose %x [1, 0] : tensor<4x16xf32> -> tensor<16x4xf32>
  // CHECK: tp.reshape %{{.+}} : tensor<4x16xf32> -> tensor<2x2x4x4xf32>
  %3 = tp.reshape %x : tensor<4x16xf32> -> tensor<2x2x4x4xf32>
  // CHECK: tp.reshape %{{.+}} : tensor<f32> -> tensor<1x1xf32>
  %4 = tp.reshape %s : tensor<f32> -> tensor<1x1xf32>
  // CHECK: tp.slice %{{.+}} starts = [0, 1] strides = [1, 5] : tensor<4x16xf32> -> tensor<4x3xf32>
  %5 = tp.slice %x starts = [0, 1] strides = [1, 5] : tensor<4x16xf32> -> tensor<4x3xf32>
  // CHECK: tp.slice %{{.+}} starts = [4, 0] strides = [1, 1] : tensor<4x16xf32> -> tensor<0x16xf32>
  %6 = tp.slice %x starts = [4, 0] strides = [1, 1] : tensor<4x16xf32> -> tensor<0x16xf32>
  // CHECK: tp.concat %{{.+}}, %{{.+}} dim = 0 : (tensor<4x16xf32>, tensor<0x16xf32>) -> tensor<4x16xf32>
  %7 = tp.concat %x, %e dim = 0 : (tensor<4x16xf32>, tensor<0x16xf32>) -> tensor<4x16xf32>
  // CHECK: tp.splice %{{.+}}, %{{.+}}, %{{.+}} dim = 1 starts = [15, 0, 0] sizes = [1, 3, 16] : (tensor<4x16xf32>, tensor<f32>, tensor<4x16xf32>) -> tensor<4x20xf32>
  %9 = tp.splice %x, %s, %x dim = 1 starts = [15, 0, 0] sizes = [1, 3, 16] : (tensor<4x16xf32>, tensor<f32>, tensor<4x16xf32>) -> tensor<4x20xf32>
  // CHECK: tp.splice %{{.+}}, %{{.+}} dim = 0 starts = [3, 0] sizes = [4, 2] strides = [-1, 2] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<6x16xf32>
  %10 = tp.splice %x, %x dim = 0 starts = [3, 0] sizes = [4, 2] strides = [-1, 2] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<6x16xf32>
  // CHECK: tp.window %{{.+}}, %{{.+}} dims = [0, 1] low = [1, -2] strides = [1, 2] dilations = [2, 1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x3x7x2xf32>
  %11 = tp.window %x, %s dims = [0, 1] low = [1, -2] strides = [1, 2] dilations = [2, 1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x3x7x2xf32>
  // CHECK: tp.window %{{.+}} dims = [1] low = [0] strides = [4] dilations = [1] : (tensor<4x16xf32>) -> tensor<4x4x4xf32>
  %12 = tp.window %x dims = [1] low = [0] strides = [4] dilations = [1] : (tensor<4x16xf32>) -> tensor<4x4x4xf32>
  // CHECK: tp.dilate %{{.+}}, %{{.+}} dim = 1 low = -2 spacing = 3 : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x44xf32>
  %13 = tp.dilate %x, %s dim = 1 low = -2 spacing = 3 : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x44xf32>
  // CHECK: tp.pad %{{.+}}, %{{.+}} low = [0, 1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<5x18xf32>
  %8 = tp.pad %x, %s low = [0, 1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<5x18xf32>
  return
}
