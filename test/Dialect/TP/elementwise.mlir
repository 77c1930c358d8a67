// RUN: tp-opt %s --verify-roundtrip | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

// Functions of one value.
// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<4x16xf32>, %i: tensor<4xi32>) {
  // CHECK: tp.neg %{{.+}} : tensor<4x16xf32>
  %0 = tp.neg %x : tensor<4x16xf32>
  // CHECK: tp.abs %{{.+}} : tensor<4x16xf32>
  %1 = tp.abs %x : tensor<4x16xf32>
  // CHECK: tp.sign %{{.+}} : tensor<4x16xf32>
  %2 = tp.sign %x : tensor<4x16xf32>
  // CHECK: tp.exp %{{.+}} : tensor<4x16xf32>
  %3 = tp.exp %x : tensor<4x16xf32>
  // CHECK: tp.expm1 %{{.+}} : tensor<4x16xf32>
  %4 = tp.expm1 %x : tensor<4x16xf32>
  // CHECK: tp.log %{{.+}} : tensor<4x16xf32>
  %5 = tp.log %x : tensor<4x16xf32>
  // CHECK: tp.log1p %{{.+}} : tensor<4x16xf32>
  %6 = tp.log1p %x : tensor<4x16xf32>
  // CHECK: tp.sqrt %{{.+}} : tensor<4x16xf32>
  %7 = tp.sqrt %x : tensor<4x16xf32>
  // CHECK: tp.rsqrt %{{.+}} : tensor<4x16xf32>
  %8 = tp.rsqrt %x : tensor<4x16xf32>
  // CHECK: tp.sin %{{.+}} : tensor<4x16xf32>
  %9 = tp.sin %x : tensor<4x16xf32>
  // CHECK: tp.cos %{{.+}} : tensor<4x16xf32>
  %10 = tp.cos %x : tensor<4x16xf32>
  // CHECK: tp.tanh %{{.+}} : tensor<4x16xf32>
  %11 = tp.tanh %x : tensor<4x16xf32>
  // CHECK: tp.erf %{{.+}} : tensor<4x16xf32>
  %12 = tp.erf %x : tensor<4x16xf32>
  // CHECK: tp.logistic %{{.+}} : tensor<4x16xf32>
  %13 = tp.logistic %x : tensor<4x16xf32>
  // CHECK: tp.floor %{{.+}} : tensor<4x16xf32>
  %14 = tp.floor %x : tensor<4x16xf32>
  // CHECK: tp.ceil %{{.+}} : tensor<4x16xf32>
  %15 = tp.ceil %x : tensor<4x16xf32>
  // CHECK: tp.round_even %{{.+}} : tensor<4x16xf32>
  %16 = tp.round_even %x : tensor<4x16xf32>
  // CHECK: tp.stop_gradient %{{.+}} : tensor<4x16xf32>
  %stopped = tp.stop_gradient %x : tensor<4x16xf32>
  // CHECK: tp.not %{{.+}} : tensor<4xi32>
  %17 = tp.not %i : tensor<4xi32>
  // CHECK: tp.cbrt %{{.+}} : tensor<4x16xf32>
  %18 = tp.cbrt %x : tensor<4x16xf32>
  // CHECK: tp.tan %{{.+}} : tensor<4x16xf32>
  %19 = tp.tan %x : tensor<4x16xf32>
  // CHECK: tp.popcount %{{.+}} : tensor<4xi32>
  %20 = tp.popcount %i : tensor<4xi32>
  // CHECK: tp.count_leading_zeros %{{.+}} : tensor<4xi32>
  %21 = tp.count_leading_zeros %i : tensor<4xi32>
  return
}

// Functions of two values, of floats and of integers.
// CHECK-LABEL: func.func @binary
func.func @binary(%a: tensor<4x16xbf16>, %i: tensor<4xui4>) {
  // CHECK: tp.add %{{.+}}, %{{.+}} : tensor<4x16xbf16>
  %0 = tp.add %a, %a : tensor<4x16xbf16>
  // CHECK: tp.sub %{{.+}}, %{{.+}} : tensor<4x16xbf16>
  %1 = tp.sub %a, %a : tensor<4x16xbf16>
  // CHECK: tp.mul %{{.+}}, %{{.+}} : tensor<4x16xbf16>
  %2 = tp.mul %a, %a : tensor<4x16xbf16>
  // CHECK: tp.div %{{.+}}, %{{.+}} : tensor<4x16xbf16>
  %3 = tp.div %a, %a : tensor<4x16xbf16>
  // CHECK: tp.max %{{.+}}, %{{.+}} : tensor<4x16xbf16>
  %4 = tp.max %a, %a : tensor<4x16xbf16>
  // CHECK: tp.min %{{.+}}, %{{.+}} : tensor<4x16xbf16>
  %5 = tp.min %a, %a : tensor<4x16xbf16>
  // CHECK: tp.pow %{{.+}}, %{{.+}} : tensor<4x16xbf16>
  %6 = tp.pow %a, %a : tensor<4x16xbf16>
  // CHECK: tp.rem %{{.+}}, %{{.+}} : tensor<4x16xbf16>
  %7 = tp.rem %a, %a : tensor<4x16xbf16>
  // CHECK: tp.and %{{.+}}, %{{.+}} : tensor<4xui4>
  %8 = tp.and %i, %i : tensor<4xui4>
  // CHECK: tp.or %{{.+}}, %{{.+}} : tensor<4xui4>
  %9 = tp.or %i, %i : tensor<4xui4>
  // CHECK: tp.xor %{{.+}}, %{{.+}} : tensor<4xui4>
  %10 = tp.xor %i, %i : tensor<4xui4>
  // CHECK: tp.atan2 %{{.+}}, %{{.+}} : tensor<4x16xbf16>
  %11 = tp.atan2 %a, %a : tensor<4x16xbf16>
  // CHECK: tp.shift_left %{{.+}}, %{{.+}} : tensor<4xui4>
  %12 = tp.shift_left %i, %i : tensor<4xui4>
  // CHECK: tp.shift_right_arithmetic %{{.+}}, %{{.+}} : tensor<4xui4>
  %13 = tp.shift_right_arithmetic %i, %i : tensor<4xui4>
  // CHECK: tp.shift_right_logical %{{.+}}, %{{.+}} : tensor<4xui4>
  %14 = tp.shift_right_logical %i, %i : tensor<4xui4>
  return
}

// Every predicate; a choice by what they say.
// CHECK-LABEL: func.func @compare
func.func @compare(%a: tensor<4xi32>, %x: tensor<4xf16>) {
  // CHECK: tp.compare eq %{{.+}}, %{{.+}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %0 = tp.compare eq %a, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK: tp.compare ne %{{.+}}, %{{.+}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %1 = tp.compare ne %a, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK: tp.compare lt %{{.+}}, %{{.+}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %2 = tp.compare lt %a, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK: tp.compare le %{{.+}}, %{{.+}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %3 = tp.compare le %a, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK: tp.compare gt %{{.+}}, %{{.+}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %4 = tp.compare gt %a, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK: tp.compare ge %{{.+}}, %{{.+}} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %5 = tp.compare ge %a, %a : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  // CHECK: tp.select %{{.+}}, %{{.+}}, %{{.+}} : (tensor<4xi1>, tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %6 = tp.select %0, %x, %x : (tensor<4xi1>, tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return
}

// Between every two kinds of element types.
// CHECK-LABEL: func.func @convert
func.func @convert(%x: tensor<4xf64>) {
  // CHECK: tp.convert %{{.+}} : tensor<4xf64> -> tensor<4xf32>
  %0 = tp.convert %x : tensor<4xf64> -> tensor<4xf32>
  // CHECK: tp.convert %{{.+}} : tensor<4xf32> -> tensor<4xbf16>
  %1 = tp.convert %0 : tensor<4xf32> -> tensor<4xbf16>
  // CHECK: tp.convert %{{.+}} : tensor<4xbf16> -> tensor<4xf16>
  %2 = tp.convert %1 : tensor<4xbf16> -> tensor<4xf16>
  // CHECK: tp.convert %{{.+}} : tensor<4xf16> -> tensor<4xf8E4M3FN>
  %3 = tp.convert %2 : tensor<4xf16> -> tensor<4xf8E4M3FN>
  // CHECK: tp.convert %{{.+}} : tensor<4xf8E4M3FN> -> tensor<4xf8E5M2>
  %4 = tp.convert %3 : tensor<4xf8E4M3FN> -> tensor<4xf8E5M2>
  // CHECK: tp.convert %{{.+}} : tensor<4xf8E5M2> -> tensor<4xi64>
  %5 = tp.convert %4 : tensor<4xf8E5M2> -> tensor<4xi64>
  // CHECK: tp.convert %{{.+}} : tensor<4xi64> -> tensor<4xi32>
  %6 = tp.convert %5 : tensor<4xi64> -> tensor<4xi32>
  // CHECK: tp.convert %{{.+}} : tensor<4xi32> -> tensor<4xi16>
  %7 = tp.convert %6 : tensor<4xi32> -> tensor<4xi16>
  // CHECK: tp.convert %{{.+}} : tensor<4xi16> -> tensor<4xi8>
  %8 = tp.convert %7 : tensor<4xi16> -> tensor<4xi8>
  // CHECK: tp.convert %{{.+}} : tensor<4xi8> -> tensor<4xi4>
  %9 = tp.convert %8 : tensor<4xi8> -> tensor<4xi4>
  // CHECK: tp.convert %{{.+}} : tensor<4xi4> -> tensor<4xui64>
  %10 = tp.convert %9 : tensor<4xi4> -> tensor<4xui64>
  // CHECK: tp.convert %{{.+}} : tensor<4xui64> -> tensor<4xui4>
  %11 = tp.convert %10 : tensor<4xui64> -> tensor<4xui4>
  // CHECK: tp.convert %{{.+}} : tensor<4xui4> -> tensor<4xi1>
  %12 = tp.convert %11 : tensor<4xui4> -> tensor<4xi1>
  // CHECK: tp.convert %{{.+}} : tensor<4xi1> -> tensor<4xf32>
  %13 = tp.convert %12 : tensor<4xi1> -> tensor<4xf32>
  return
}

// Bits of a float as an integer, and back.
// CHECK-LABEL: func.func @bitcast
func.func @bitcast(%x: tensor<4xbf16>) {
  // CHECK: tp.bitcast %{{.+}} : tensor<4xbf16> -> tensor<4xui16>
  %0 = tp.bitcast %x : tensor<4xbf16> -> tensor<4xui16>
  // CHECK: tp.bitcast %{{.+}} : tensor<4xui16> -> tensor<4xf16>
  %1 = tp.bitcast %0 : tensor<4xui16> -> tensor<4xf16>
  return
}

// Activations, with the gelu's two formulas and the gate's four functions.
// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<4x16xf32>) {
  // CHECK: tp.gelu %{{.+}} : tensor<4x16xf32>
  %0 = tp.gelu %x : tensor<4x16xf32>
  // CHECK: tp.gelu tanh %{{.+}} : tensor<4x16xf32>
  %1 = tp.gelu tanh %x : tensor<4x16xf32>
  // CHECK: tp.silu %{{.+}} : tensor<4x16xf32>
  %2 = tp.silu %x : tensor<4x16xf32>
  // CHECK: tp.relu %{{.+}} : tensor<4x16xf32>
  %3 = tp.relu %x : tensor<4x16xf32>
  // CHECK: tp.gated silu %{{.+}}, %{{.+}} : tensor<4x16xf32>
  %4 = tp.gated silu %x, %x : tensor<4x16xf32>
  // CHECK: tp.gated gelu %{{.+}}, %{{.+}} : tensor<4x16xf32>
  %5 = tp.gated gelu %x, %x : tensor<4x16xf32>
  // CHECK: tp.gated gelu_tanh %{{.+}}, %{{.+}} : tensor<4x16xf32>
  %6 = tp.gated gelu_tanh %x, %x : tensor<4x16xf32>
  // CHECK: tp.gated relu %{{.+}}, %{{.+}} : tensor<4x16xf32>
  %7 = tp.gated relu %x, %x : tensor<4x16xf32>
  return
}
