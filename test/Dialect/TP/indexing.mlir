// RUN: tp-opt %s --verify-roundtrip | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

// Lookups with and without batch dimensions, and their inverse in four kinds.
// CHECK-LABEL: func.func @gather_scatter
func.func @gather_scatter(%x: tensor<512x32xf32>, %i: tensor<4x8xi32>,
                          %y: tensor<4x512x32xf32>, %u: tensor<4x8x32xf32>) {
  // CHECK: tp.gather %{{.+}}, %{{.+}} axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>) -> tensor<4x8x32xf32>
  %0 = tp.gather %x, %i axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>) -> tensor<4x8x32xf32>
  // CHECK: tp.gather %{{.+}}, %{{.+}} axis = 1 batch = 1 : (tensor<4x512x32xf32>, tensor<4x8xi32>) -> tensor<4x8x32xf32>
  %1 = tp.gather %y, %i axis = 1 batch = 1 : (tensor<4x512x32xf32>, tensor<4x8xi32>) -> tensor<4x8x32xf32>
  // CHECK: tp.scatter set %{{.+}}, %{{.+}}, %{{.+}} axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>, tensor<4x8x32xf32>) -> tensor<512x32xf32>
  %2 = tp.scatter set %x, %i, %u axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>, tensor<4x8x32xf32>) -> tensor<512x32xf32>
  // CHECK: tp.scatter add {{.+}} axis = 1 batch = 1
  %3 = tp.scatter add %y, %i, %u axis = 1 batch = 1 : (tensor<4x512x32xf32>, tensor<4x8xi32>, tensor<4x8x32xf32>) -> tensor<4x512x32xf32>
  // CHECK: tp.scatter max
  %4 = tp.scatter max %x, %i, %u axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>, tensor<4x8x32xf32>) -> tensor<512x32xf32>
  // CHECK: tp.scatter min
  %5 = tp.scatter min %x, %i, %u axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>, tensor<4x8x32xf32>) -> tensor<512x32xf32>
  return
}

// A part that starts where scalars say, read and written; and of a scalar.
// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%c: tensor<64x16xbf16>, %k: tensor<1x16xbf16>, %p: tensor<i32>, %s: tensor<f32>) {
  // CHECK: tp.dynamic_slice %{{[^ ]+}}[%{{.+}}, %{{.+}}] : (tensor<64x16xbf16>, tensor<i32>, tensor<i32>) -> tensor<1x16xbf16>
  %0 = tp.dynamic_slice %c [%p, %p] : (tensor<64x16xbf16>, tensor<i32>, tensor<i32>) -> tensor<1x16xbf16>
  // CHECK: tp.dynamic_update_slice %{{.+}}, %{{[^ ]+}}[%{{.+}}, %{{.+}}] : (tensor<64x16xbf16>, tensor<1x16xbf16>, tensor<i32>, tensor<i32>) -> tensor<64x16xbf16>
  %1 = tp.dynamic_update_slice %c, %k [%p, %p] : (tensor<64x16xbf16>, tensor<1x16xbf16>, tensor<i32>, tensor<i32>) -> tensor<64x16xbf16>
  // CHECK: tp.dynamic_slice %{{[^ ]+}}[] : (tensor<f32>) -> tensor<f32>
  %2 = tp.dynamic_slice %s [] : (tensor<f32>) -> tensor<f32>
  return
}

// Both orders, and the first k.
// CHECK-LABEL: func.func @sorting
func.func @sorting(%x: tensor<4x16xf32>) {
  // CHECK: tp.sort %{{.+}} dim = 0 : tensor<4x16xf32> -> tensor<4x16xf32>, tensor<4x16xi32>
  %v, %i = tp.sort %x dim = 0 : tensor<4x16xf32> -> tensor<4x16xf32>, tensor<4x16xi32>
  // CHECK: tp.sort %{{.+}} dim = 1 descending : tensor<4x16xf32>
  %w, %j = tp.sort %x dim = 1 descending : tensor<4x16xf32> -> tensor<4x16xf32>, tensor<4x16xi32>
  // CHECK: tp.top_k %{{.+}} : tensor<4x16xf32> -> tensor<4x2xf32>, tensor<4x2xi32>
  %t, %k = tp.top_k %x : tensor<4x16xf32> -> tensor<4x2xf32>, tensor<4x2xi32>
  return
}
