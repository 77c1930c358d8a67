// RUN: tp-opt %s --tp-lower-to-step --split-input-file | FileCheck %s

// Rotary embedding is one program that reads each pair of features and the
// angles once, and writes both halves where they belong: nothing is copied.
// CHECK-LABEL: step.program @rotary
// CHECK-NOT:   step.copy
// CHECK:       step.rows [2, 4, 3, 8]
// CHECK-SAME:  writes({{.*}} : memref<2x4x3x8xf32, strided<[192, 48, 16, 1]>>, memref<2x4x3x8xf32, strided<[192, 48, 16, 1], offset: 8>>)
// CHECK-COUNT-4: step.load
// CHECK-COUNT-2: step.store
// CHECK-NOT:   step.rows
// CHECK-NOT:   step.copy
func.func @rotary(%x: tensor<2x4x3x16xf32>, %cos: tensor<4x8xf32>, %sin: tensor<4x8xf32>) -> tensor<2x4x3x16xf32> {
  %0 = tp.rotary %x, %cos, %sin : (tensor<2x4x3x16xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x3x16xf32>
  return %0 : tensor<2x4x3x16xf32>
}

// -----

// In bf16, too: features are widened where they are read, halves are narrowed
// where they are written.
// CHECK-LABEL: step.program @rotary_bf16
// CHECK:       step.rows [2, 4, 3, 8]
// CHECK-SAME:  reads({{.*}}memref<2x4x3x8xbf16{{.*}}) writes({{.*}}memref<2x4x3x8xbf16
// CHECK:         arith.extf
// CHECK:         arith.truncf
// CHECK-NOT:   step.rows
// CHECK-NOT:   step.copy
func.func @rotary_bf16(%x: tensor<2x4x3x16xbf16>, %cos: tensor<4x8xbf16>, %sin: tensor<4x8xbf16>) -> tensor<2x4x3x16xbf16> {
  %0 = tp.rotary %x, %cos, %sin : (tensor<2x4x3x16xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<2x4x3x16xbf16>
  return %0 : tensor<2x4x3x16xbf16>
}

// -----

// An op with operands from two programs makes one of them.
// CHECK-LABEL: step.program @two_operands
// CHECK:       step.rows
// CHECK:         math.exp
// CHECK:         math.tanh
// CHECK:         arith.addf
// CHECK-NOT:   step.rows
func.func @two_operands(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tp.exp %x : tensor<4x4xf32>
  %1 = tp.tanh %y : tensor<4x4xf32>
  %2 = tp.add %0, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// Not where one is read in another order: all of it must be in memory before.
// CHECK-LABEL: step.program @transposed
// CHECK:       step.rows
// CHECK:         math.exp
// CHECK:       step.rows
// CHECK:         math.tanh
// CHECK:         arith.addf
func.func @transposed(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tp.exp %x : tensor<4x4xf32>
  %1 = tp.transpose %0 [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = tp.tanh %y : tensor<4x4xf32>
  %3 = tp.add %1, %2 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// Parts of a concatenation are computed where they belong, also by a product;
// an input, and one that is used elsewhere, too, are copied.
// CHECK-LABEL: step.program @parts
// CHECK:       step.matmul {{.*}} into memref<1x1x1x4x8xf32, strided<[{{.*}}], offset: 32>>
// CHECK-COUNT-2: step.copy {{.*}} : memref<32xf32> to memref<32xf32
// CHECK-NOT:   step.copy
func.func @parts(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<12x8xf32>, tensor<4x8xf32>) {
  %0 = tp.einsum "ik,kj->ij" %b, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tp.exp %a : tensor<4x8xf32>
  %2 = tp.concat %a, %0, %1 dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
  return %2, %1 : tensor<12x8xf32>, tensor<4x8xf32>
}

// -----

// A causal mask is a comparison of places in the softmax's program, and no
// tensor.
// CHECK-LABEL: step.program @causal
// CHECK:       step.matmul
// CHECK:       step.rows [{{.*}}] reads(%{{[^,]*}}) writes
// CHECK:         step.index
// CHECK:         arith.cmpi sle
// CHECK-NOT:   step.rows
func.func @causal(%q: tensor<1x16x2x1x8xf32>, %k: tensor<1x16x2x8xf32>, %v: tensor<1x16x2x8xf32>) -> tensor<1x16x2x1x8xf32> {
  %0 = tp.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<1x16x2x1x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>) -> tensor<1x16x2x1x8xf32>
  return %0 : tensor<1x16x2x1x8xf32>
}

// -----

// Over a long sequence it is computed in blocks of queries, each over the keys
// that it sees; every block writes its part of the result.
// CHECK-LABEL: step.program @long
// CHECK-NOT:   step.copy
// CHECK:       step.matmul {{.*}} into memref<1x1x1x128x128xf32
// CHECK:       step.matmul {{.*}} into memref<1x1x1x128x8xf32
// CHECK:       step.matmul {{.*}} into memref<1x1x1x128x256xf32
// CHECK:       step.matmul {{.*}} into memref<1x1x1x128x8xf32{{.*}}offset: 1024>>
// CHECK:       step.matmul {{.*}} into memref<1x1x1x44x300xf32
// CHECK:       step.matmul {{.*}} into memref<1x1x1x44x8xf32{{.*}}offset: 2048>>
// CHECK-NOT:   step.copy
func.func @long(%q: tensor<1x300x1x1x8xf32>, %k: tensor<1x300x1x8xf32>, %v: tensor<1x300x1x8xf32>) -> tensor<1x300x1x1x8xf32> {
  %0 = tp.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<1x300x1x1x8xf32>, tensor<1x300x1x8xf32>, tensor<1x300x1x8xf32>) -> tensor<1x300x1x1x8xf32>
  return %0 : tensor<1x300x1x1x8xf32>
}

// -----

// 16-bit keys and values are contracted as they are: no copy of a cache in f32.
// CHECK-LABEL: step.program @narrow
// CHECK:       step.matmul {{.*}}bf16{{.*}}bf16{{.*}} into memref<1x1x2x1x16xf32
// CHECK:       step.rows {{.*}}f32{{.*}} writes({{.*}}bf16
// CHECK:       step.matmul {{.*}}bf16{{.*}}bf16{{.*}} into memref<{{.*}}bf16
// CHECK-NOT:   step.rows
func.func @narrow(%q: tensor<1x1x2x1x8xbf16>, %k: tensor<1x16x2x8xbf16>, %v: tensor<1x16x2x8xbf16>) -> tensor<1x1x2x1x8xbf16> {
  %0 = tp.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<1x1x2x1x8xbf16>, tensor<1x16x2x8xbf16>, tensor<1x16x2x8xbf16>) -> tensor<1x1x2x1x8xbf16>
  return %0 : tensor<1x1x2x1x8xbf16>
}

// -----

// A long element-wise program has rows that threads can share.
// CHECK-LABEL: step.program @long_row
// CHECK:       step.rows [192, 4096]
func.func @long_row(%x: tensor<512x1536xf32>) -> tensor<512x1536xf32> {
  %0 = tp.exp %x : tensor<512x1536xf32>
  return %0 : tensor<512x1536xf32>
}
