// RUN: tp-opt %s --verify-roundtrip | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

// The ops at both ends of a transformer.
// CHECK-LABEL: func.func @ends
func.func @ends(%t: tensor<512x32xbf16>, %ids: tensor<4x8xi32>, %l: tensor<24x256xf32>, %y: tensor<24xi64>) {
  // CHECK: tp.embedding %{{.+}}, %{{.+}} : (tensor<512x32xbf16>, tensor<4x8xi32>) -> tensor<4x8x32xbf16>
  %0 = tp.embedding %t, %ids : (tensor<512x32xbf16>, tensor<4x8xi32>) -> tensor<4x8x32xbf16>
  // CHECK: tp.cross_entropy %{{.+}}, %{{.+}} : (tensor<24x256xf32>, tensor<24xi64>) -> tensor<24xf32>
  %1 = tp.cross_entropy %l, %y : (tensor<24x256xf32>, tensor<24xi64>) -> tensor<24xf32>
  return
}

// Norms and softmax.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<4x16xf32>, %s: tensor<16xf32>) {
  // CHECK: tp.layer_norm %{{.+}}, %{{.+}}, %{{.+}} epsilon = 1.000000e-05 : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %0 = tp.layer_norm %x, %s, %s epsilon = 1.0e-5 : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  // CHECK: tp.rms_norm %{{.+}}, %{{.+}} epsilon = 0.000000e+00 : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %1 = tp.rms_norm %x, %s epsilon = 0.0 : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  // CHECK: tp.softmax %{{.+}} dim = 1 : tensor<4x16xf32>
  %2 = tp.softmax %x dim = 1 : tensor<4x16xf32>
  return
}

// Angles per position and per batch entry, halves and neighbours, all features
// and a part.
// CHECK-LABEL: func.func @rotary
func.func @rotary(%q: tensor<2x16x8x64xf32>, %a: tensor<16x32xf32>, %b: tensor<2x16x16xf32>) {
  // CHECK: tp.rotary %{{.+}}, %{{.+}}, %{{.+}} : (tensor<2x16x8x64xf32>, tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x8x64xf32>
  %0 = tp.rotary %q, %a, %a : (tensor<2x16x8x64xf32>, tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x8x64xf32>
  // CHECK: tp.rotary interleaved %{{.+}}, %{{.+}}, %{{.+}} : (tensor<2x16x8x64xf32>, tensor<2x16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x8x64xf32>
  %1 = tp.rotary interleaved %q, %b, %b : (tensor<2x16x8x64xf32>, tensor<2x16x16xf32>, tensor<2x16x16xf32>) -> tensor<2x16x8x64xf32>
  return
}

// The log-sum-exp, and the gradients that are computed from it.
// CHECK-LABEL: func.func @attention_gradients
func.func @attention_gradients(%q: tensor<2x8x3x2x4xbf16>, %k: tensor<2x6x3x4xbf16>, %v: tensor<2x6x3x5xbf16>,
                               %g: tensor<2x8x3x2x5xbf16>, %d: tensor<2x8x3x2xf32>, %p: tensor<2xi32>, %m: tensor<2x8x6xi1>) {
  // CHECK: %{{.+}}, %{{.+}} = tp.attention {{.+}} -> tensor<2x8x3x2x5xbf16>, tensor<2x8x3x2xf32>
  %o, %l = tp.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<2x8x3x2x4xbf16>, tensor<2x6x3x4xbf16>, tensor<2x6x3x5xbf16>) -> tensor<2x8x3x2x5xbf16>, tensor<2x8x3x2xf32>
  // CHECK: tp.attention_query_gradient {{.+}} offset(%{{.+}} : tensor<2xi32>) mask(%{{.+}} : tensor<2x8x6xi1>) {causal, scale = 5.000000e-01 : f64, window = 3 : i64}
  %0 = tp.attention_query_gradient %q, %k, %v, %g, %l, %d offset(%p : tensor<2xi32>) mask(%m : tensor<2x8x6xi1>) {causal, scale = 0.5 : f64, window = 3 : i64}
      : (tensor<2x8x3x2x4xbf16>, tensor<2x6x3x4xbf16>, tensor<2x6x3x5xbf16>, tensor<2x8x3x2x5xbf16>, tensor<2x8x3x2xf32>, tensor<2x8x3x2xf32>) -> tensor<2x8x3x2x4xbf16>
  // CHECK: tp.attention_key_value_gradient {{.+}} lengths(%{{.+}} : tensor<2xi32>) {scale = 5.000000e-01 : f64}
  %1, %2 = tp.attention_key_value_gradient %q, %k, %v, %g, %l, %d lengths(%p : tensor<2xi32>) {scale = 0.5 : f64}
      : (tensor<2x8x3x2x4xbf16>, tensor<2x6x3x4xbf16>, tensor<2x6x3x5xbf16>, tensor<2x8x3x2x5xbf16>, tensor<2x8x3x2xf32>, tensor<2x8x3x2xf32>) -> (tensor<2x6x3x4xbf16>, tensor<2x6x3x5xbf16>)
  return
}

// Everything optional alone and together; offsets for all and per batch entry.
// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x16x3x3x64xf32>, %k: tensor<2x64x3x64xf32>, %v: tensor<2x64x3x8xf32>,
                     %p: tensor<i32>, %n: tensor<2xi64>, %m: tensor<2x16x64xi1>) {
  // CHECK: tp.attention %{{.+}}, %{{.+}}, %{{.+}} {scale = 1.250000e-01 : f64} : (tensor<2x16x3x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x16x3x3x64xf32>
  %0 = tp.attention %q, %k, %k {scale = 0.125 : f64} : (tensor<2x16x3x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x16x3x3x64xf32>
  // CHECK: tp.attention {{.+}} offset(%{{.+}} : tensor<i32>) {causal, scale = 1.250000e-01 : f64, window = 8 : i64}
  %1 = tp.attention %q, %k, %v offset(%p : tensor<i32>) {causal, scale = 0.125 : f64, window = 8 : i64} : (tensor<2x16x3x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x8xf32>) -> tensor<2x16x3x3x8xf32>
  // CHECK: tp.attention {{.+}} offset(%{{.+}} : tensor<2xi64>) lengths(%{{.+}} : tensor<2xi64>) mask(%{{.+}} : tensor<2x16x64xi1>)
  %2 = tp.attention %q, %k, %v offset(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>) mask(%m : tensor<2x16x64xi1>) {causal, scale = 0.125 : f64} : (tensor<2x16x3x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x8xf32>) -> tensor<2x16x3x3x8xf32>
  return
}
