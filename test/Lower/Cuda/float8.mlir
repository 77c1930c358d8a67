// With fp8, f8E4M3FN is multiplied as such where cuBLASLt does that, and a remark
// says why where not.

// RUN: tp-opt %s --tp-lower-to-step="target=cuda fp8=true" --verify-diagnostics | FileCheck %s

// A weight that lies along k is read in place; any number of rows will do; a bias
// of the result's type and a relu follow.
// CHECK-LABEL: step.program @in_place
// CHECK-NOT:   step.rows
// CHECK:       step.matmul {{.*}} then [#step<post add>, #step<post relu>] with({{.*}} : memref<1x1x1x5x48xbf16, strided<[0, 0, 0, 0, 1]>>) : memref<1x1x1x5x32xf8E4M3FN, strided<[0, 0, 0, 32, 1]>>, memref<1x1x1x32x48xf8E4M3FN, strided<[0, 0, 0, 1, 32]>> into memref<1x1x1x5x48xbf16{{.*}}>
// CHECK-NOT:   step.rows
func.func @in_place(%x: tensor<5x32xf8E4M3FN>, %w: tensor<48x32xf8E4M3FN>,
                    %b: tensor<48xbf16>) -> tensor<5x48xbf16> {
  %0 = tp.einsum "md,ed->me" %x, %w : (tensor<5x32xf8E4M3FN>, tensor<48x32xf8E4M3FN>) -> tensor<5x48xbf16>
  %1 = tp.broadcast %b dims = [1] : tensor<48xbf16> -> tensor<5x48xbf16>
  %2 = tp.add %0, %1 : tensor<5x48xbf16>
  %3 = tp.relu %2 : tensor<5x48xbf16>
  return %3 : tensor<5x48xbf16>
}

// A weight of which the columns lie together is brought along k first.
// CHECK-LABEL: step.program @along_k
// CHECK:       %[[COPY:.+]] = step.alloc : memref<48x32xf8E4M3FN>
// CHECK:       step.rows [48, 32]
// CHECK:       step.matmul {{.*}} : memref<1x1x1x5x32xf8E4M3FN{{.*}}>, memref<1x1x1x32x48xf8E4M3FN, strided<[0, 0, 0, 1, 32]>> into memref<1x1x1x5x48xf16{{.*}}>
func.func @along_k(%x: tensor<5x32xf8E4M3FN>, %w: tensor<32x48xf8E4M3FN>) -> tensor<5x48xf16> {
  %0 = tp.einsum "md,de->me" %x, %w : (tensor<5x32xf8E4M3FN>, tensor<32x48xf8E4M3FN>) -> tensor<5x48xf16>
  return %0 : tensor<5x48xf16>
}

// So are rows that do not begin at multiples of 16 bytes, and a slice that does
// not.
// CHECK-LABEL: step.program @odd_places
// CHECK:       step.rows [5, 32]
// CHECK:       step.rows [48, 32]
// CHECK:       step.matmul {{.*}} : memref<1x1x1x5x32xf8E4M3FN, strided<[0, 0, 0, 32, 1]>>, memref<1x1x1x32x48xf8E4M3FN, strided<[0, 0, 0, 1, 32]>>
func.func @odd_places(%x: tensor<5x40xf8E4M3FN>, %w: tensor<48x64xf8E4M3FN>) -> tensor<5x48xf32> {
  %0 = tp.slice %x starts = [0, 0] strides = [1, 1] : tensor<5x40xf8E4M3FN> -> tensor<5x32xf8E4M3FN>
  %1 = tp.slice %w starts = [0, 8] strides = [1, 1] : tensor<48x64xf8E4M3FN> -> tensor<48x32xf8E4M3FN>
  %2 = tp.einsum "md,ed->me" %0, %1 : (tensor<5x32xf8E4M3FN>, tensor<48x32xf8E4M3FN>) -> tensor<5x48xf32>
  return %2 : tensor<5x48xf32>
}

// A slice that does is read in place.
// CHECK-LABEL: step.program @even_places
// CHECK-NOT:   step.rows
// CHECK:       step.matmul {{.*}} : memref<1x1x1x5x32xf8E4M3FN, strided<[0, 0, 0, 48, 1], offset: 16>>
func.func @even_places(%x: tensor<5x48xf8E4M3FN>, %w: tensor<48x32xf8E4M3FN>) -> tensor<5x48xf32> {
  %0 = tp.slice %x starts = [0, 16] strides = [1, 1] : tensor<5x48xf8E4M3FN> -> tensor<5x32xf8E4M3FN>
  %1 = tp.einsum "md,ed->me" %0, %w : (tensor<5x32xf8E4M3FN>, tensor<48x32xf8E4M3FN>) -> tensor<5x48xf32>
  return %1 : tensor<5x48xf32>
}

// There is no bias in f32, and nothing beside a residual: row programs.
// CHECK-LABEL: step.program @wide_bias
// CHECK:       step.matmul
// CHECK-NOT:   then
// CHECK:       step.rows
// CHECK:       arith.addf
func.func @wide_bias(%x: tensor<5x32xf8E4M3FN>, %w: tensor<48x32xf8E4M3FN>, %b: tensor<48xf32>) -> tensor<5x48xf32> {
  %0 = tp.einsum "md,ed->me" %x, %w : (tensor<5x32xf8E4M3FN>, tensor<48x32xf8E4M3FN>) -> tensor<5x48xf32>
  %1 = tp.broadcast %b dims = [1] : tensor<48xf32> -> tensor<5x48xf32>
  %2 = tp.add %0, %1 : tensor<5x48xf32>
  return %2 : tensor<5x48xf32>
}

// CHECK-LABEL: step.program @residual
// CHECK:       step.matmul {{.*}} then [#step<post add>] with({{.*}} : memref<1x1x1x5x48xf32{{.*}}>)
// CHECK:       step.rows
// CHECK:       arith.maximumf
func.func @residual(%x: tensor<5x32xf8E4M3FN>, %w: tensor<48x32xf8E4M3FN>, %r: tensor<5x48xf32>) -> tensor<5x48xf32> {
  %0 = tp.einsum "md,ed->me" %x, %w : (tensor<5x32xf8E4M3FN>, tensor<48x32xf8E4M3FN>) -> tensor<5x48xf32>
  %1 = tp.add %0, %r : tensor<5x48xf32>
  %2 = tp.relu %1 : tensor<5x48xf32>
  return %2 : tensor<5x48xf32>
}

// Columns that make 32 together are one matrix, though the residual's are apart.
// CHECK-LABEL: step.program @columns_apart
// CHECK:       step.rows
// CHECK:       step.matmul {{.*}} then [#step<post add>] {{.*}} into memref<1x1x1x3x32xf32{{.*}}>
func.func @columns_apart(%x: tensor<3x16xf8E4M3FN>, %w: tensor<4x8x16xf8E4M3FN>, %r: tensor<3x4x9xf32>) -> tensor<3x4x8xf32> {
  %0 = tp.einsum "bd,hed->bhe" %x, %w : (tensor<3x16xf8E4M3FN>, tensor<4x8x16xf8E4M3FN>) -> tensor<3x4x8xf32>
  %1 = tp.slice %r starts = [0, 0, 0] strides = [1, 1, 1] : tensor<3x4x9xf32> -> tensor<3x4x8xf32>
  %2 = tp.add %0, %1 : tensor<3x4x8xf32>
  return %2 : tensor<3x4x8xf32>
}

// Batches, of operands that change sides.
// CHECK-LABEL: step.program @batches
// CHECK:       step.matmul {{.*}} : memref<1x1x3x7x16xf8E4M3FN, strided<[0, 0, 112, 16, 1]>>, memref<1x1x3x16x32xf8E4M3FN, strided<[0, 0, 512, 1, 16]>> into memref<1x1x3x7x32xf32
func.func @batches(%w: tensor<3x32x16xf8E4M3FN>, %x: tensor<3x7x16xf8E4M3FN>) -> tensor<3x7x32xf32> {
  %0 = tp.einsum "bed,bmd->bme" %w, %x : (tensor<3x32x16xf8E4M3FN>, tensor<3x7x16xf8E4M3FN>) -> tensor<3x7x32xf32>
  return %0 : tensor<3x7x32xf32>
}

// The library would clamp a result in 8 bits: it is f32, and rounded behind.
// CHECK-LABEL: step.program @narrow
// CHECK:       step.matmul {{.*}} : memref<1x1x1x5x32xf8E4M3FN{{.*}}>, {{.*}} into memref<1x1x1x5x48xf32{{.*}}>
// CHECK:       step.rows
func.func @narrow(%x: tensor<5x32xf8E4M3FN>, %w: tensor<48x32xf8E4M3FN>) -> tensor<5x48xf8E4M3FN> {
  %0 = tp.einsum "md,ed->me" %x, %w : (tensor<5x32xf8E4M3FN>, tensor<48x32xf8E4M3FN>) -> tensor<5x48xf8E4M3FN>
  return %0 : tensor<5x48xf8E4M3FN>
}

// What was widened to be multiplied is multiplied as it was.
// CHECK-LABEL: step.program @widened
// CHECK-NOT:   step.rows
// CHECK:       step.matmul {{.*}} : memref<1x1x1x5x32xf8E4M3FN{{.*}}> into memref<1x1x1x5x48xf32{{.*}}>
func.func @widened(%x: tensor<5x32xf8E4M3FN>, %w: tensor<48x32xf8E4M3FN>) -> tensor<5x48xf32> {
  %0 = tp.convert %x : tensor<5x32xf8E4M3FN> -> tensor<5x32xf32>
  %1 = tp.convert %w : tensor<48x32xf8E4M3FN> -> tensor<48x32xf32>
  %2 = tp.einsum "md,ed->me" %0, %1 : (tensor<5x32xf32>, tensor<48x32xf32>) -> tensor<5x48xf32>
  return %2 : tensor<5x48xf32>
}

// Uneven sizes, and the other 8-bit float, take bf16, or f32 if they are that.
// CHECK-LABEL: step.program @uneven
// CHECK:       step.matmul {{.*}} : memref<1x1x1x16x40xbf16{{.*}}>, {{.*}} into memref<1x1x1x16x24xbf16
// CHECK:       step.matmul {{.*}} : memref<1x1x1x16x40xf32{{.*}}>, {{.*}} into memref<1x1x1x16x24xf32
func.func @uneven(%x: tensor<16x40xf8E4M3FN>, %w: tensor<24x40xf8E4M3FN>) -> (tensor<16x24xbf16>, tensor<16x24xf32>) {
  // expected-remark @below {{'f8E4M3FN' is converted to a wider type before it is multiplied: cuBLASLt multiplies m x k by k x n matrices of 8-bit floats only if k and n are multiples of 16, got 40 and 24}}
  %0 = tp.einsum "md,ed->me" %x, %w : (tensor<16x40xf8E4M3FN>, tensor<24x40xf8E4M3FN>) -> tensor<16x24xbf16>
  %1 = tp.convert %x : tensor<16x40xf8E4M3FN> -> tensor<16x40xf32>
  %2 = tp.convert %w : tensor<24x40xf8E4M3FN> -> tensor<24x40xf32>
  // expected-remark @below {{'f8E4M3FN' is converted to a wider type before it is multiplied:}}
  %3 = tp.einsum "md,ed->me" %1, %2 : (tensor<16x40xf32>, tensor<24x40xf32>) -> tensor<16x24xf32>
  return %0, %3 : tensor<16x24xbf16>, tensor<16x24xf32>
}

// CHECK-LABEL: step.program @longer
// CHECK:       step.matmul {{.*}} : memref<1x1x1x16x32xbf16{{.*}}>
func.func @longer(%x: tensor<16x32xf8E5M2>, %w: tensor<16x32xf8E5M2>) -> tensor<16x16xf32> {
  // expected-remark @below {{'f8E5M2' is converted to a wider type before it is multiplied: cuBLASLt supports 8-bit floats only if both operands are f8E4M3FN}}
  %0 = tp.einsum "md,ed->me" %x, %w : (tensor<16x32xf8E5M2>, tensor<16x32xf8E5M2>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// Where nothing is summed there is nothing to say.
// CHECK-LABEL: step.program @scaled
// CHECK-NOT:   step.matmul
func.func @scaled(%x: tensor<5x7xf8E4M3FN>, %s: tensor<7xf8E4M3FN>) -> tensor<5x7xf8E4M3FN> {
  %0 = tp.einsum "md,d->md" %x, %s : (tensor<5x7xf8E4M3FN>, tensor<7xf8E4M3FN>) -> tensor<5x7xf8E4M3FN>
  return %0 : tensor<5x7xf8E4M3FN>
}

// Of stacked weights, each turn's begins where the library reads it, or is copied.
// CHECK-LABEL: step.program @stacked
// CHECK:       step.loop
// CHECK:       step.matmul {{.*}} : memref<1x1x1x5x16xf8E4M3FN{{.*}}>, memref<1x1x1x16x16xf8E4M3FN, strided<[0, 0, 0, 1, 16]>> into memref<1x1x1x5x16xf32
func.func @stacked(%x: tensor<5x16xf8E4M3FN>, %w: tensor<3x16x16xf8E4M3FN>) -> tensor<5x16xf8E4M3FN> {
  %z = tp.constant dense<0> : tensor<i32>
  %r = tp.for 3 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<5x16xf8E4M3FN>):
    %0 = tp.dynamic_slice %w[%i, %z, %z] : (tensor<3x16x16xf8E4M3FN>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf8E4M3FN>
    %1 = tp.reshape %0 : tensor<1x16x16xf8E4M3FN> -> tensor<16x16xf8E4M3FN>
    %2 = tp.einsum "md,ed->me" %h, %1 : (tensor<5x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<5x16xf8E4M3FN>
    tp.yield %2 : tensor<5x16xf8E4M3FN>
  } : (tensor<5x16xf8E4M3FN>) -> tensor<5x16xf8E4M3FN>
  return %r : tensor<5x16xf8E4M3FN>
}
