// RUN: tp-opt %s --tp-lower-to-step=target=cuda --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-lower-to-step=target=cpu --split-input-file | FileCheck %s --check-prefix=CPU

// Two entries share a bundle: a product of each takes both weights, and its users
// read the columns that are theirs.
// CHECK-LABEL: step.program @first
// CHECK:       ^bb0(%[[X:.*]]: memref<2x4xf32>, %[[A:.*]]: memref<4x3x8xf32>, %[[B:.*]]: memref<4x8xf32>,
// CHECK:       %[[W:.*]] = step.bundle %[[A]], %[[B]] rows 4 : memref<4x3x8xf32>, memref<4x8xf32> as memref<4x32xf32>
// CHECK:       step.matmul
// CHECK-SAME:  constant_b
// CHECK-NOT:   step.matmul
// CHECK:       step.rows {{.*}} reads(%{{.*}}, %{{.*}} : memref<2x8xf32, strided<[32, 1], offset: {{8|24}}>>
// CHECK-LABEL: step.program @second
// CHECK:       step.bundle %{{.*}}, %{{.*}} rows 4
// CPU-LABEL:   step.program @first
// CPU:         step.bundle
// CPU-LABEL:   step.program @second
// CPU:         step.bundle
func.func @first(%x: tensor<2x4xf32> {tp.name = "x"}, %a: tensor<4x3x8xf32> {tp.name = "a", tp.role = "parameter"}, %b: tensor<4x8xf32> {tp.name = "b", tp.role = "parameter"}) -> tensor<2x8xf32> {
  %0 = tp.einsum "xd,dgh->xgh" %x, %a : (tensor<2x4xf32>, tensor<4x3x8xf32>) -> tensor<2x3x8xf32>
  %1 = tp.einsum "xd,dh->xh" %x, %b : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %2 = tp.slice %0 starts = [0, 1, 0] strides = [1, 1, 1] : tensor<2x3x8xf32> -> tensor<2x1x8xf32>
  %3 = tp.reshape %2 : tensor<2x1x8xf32> -> tensor<2x8xf32>
  %4 = tp.exp %3 : tensor<2x8xf32>
  %5 = tp.exp %1 : tensor<2x8xf32>
  %6 = tp.sub %4, %5 : tensor<2x8xf32>
  return %6 : tensor<2x8xf32>
}
func.func @second(%x: tensor<3x4xf32> {tp.name = "y"}, %a: tensor<4x3x8xf32> {tp.name = "a", tp.role = "parameter"}, %b: tensor<4x8xf32> {tp.name = "b", tp.role = "parameter"}) -> tensor<3x8xf32> {
  %0 = tp.einsum "xd,dgh->xgh" %x, %a : (tensor<3x4xf32>, tensor<4x3x8xf32>) -> tensor<3x3x8xf32>
  %1 = tp.einsum "xd,dh->xh" %x, %b : (tensor<3x4xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  %2 = tp.reduce sum %0 dims = [1] : tensor<3x3x8xf32> -> tensor<3x8xf32>
  %3 = tp.sub %2, %1 : tensor<3x8xf32>
  return %3 : tensor<3x8xf32>
}

// -----

// An entry that takes one of them elsewhere keeps them apart in all.
// CHECK-LABEL:   step.program @first
// CHECK-NOT:     step.bundle
// CHECK-COUNT-2: step.matmul
// CHECK-LABEL:   step.program @second
// CHECK-NOT:     step.bundle
func.func @first(%x: tensor<2x4xf32> {tp.name = "x"}, %a: tensor<4x8xf32> {tp.name = "a", tp.role = "parameter"}, %b: tensor<4x8xf32> {tp.name = "b", tp.role = "parameter"}) -> tensor<2x8xf32> {
  %0 = tp.einsum "xd,dh->xh" %x, %a : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = tp.einsum "xd,dh->xh" %x, %b : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %2 = tp.sub %0, %1 : tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}
func.func @second(%a: tensor<4x8xf32> {tp.name = "a", tp.role = "parameter"}) -> tensor<4x8xf32> {
  %0 = tp.exp %a : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// So do weights that are overwritten, read twice, or bound anew for each run, and
// products of other activations, of other types, or that the caller takes.
// CHECK-LABEL:   step.program @apart
// CHECK-NOT:     step.bundle
// CHECK-COUNT-7: step.matmul
// CPU-LABEL:     step.program @apart
// CPU-NOT:       step.bundle
// CPU-COUNT-7:   step.matmul
func.func @apart(%x: tensor<2x4xf32>, %z: tensor<2x4xf32>, %i: tensor<4x8xf32>,
                 %a: tensor<4x8xf32> {tp.role = "parameter", tp.donated = 0 : i64},
                 %b: tensor<4x8xf32> {tp.role = "parameter"}, %c: tensor<4x8xf32> {tp.role = "parameter"},
                 %d: tensor<4x8xf32> {tp.role = "parameter"}, %e: tensor<4x8xf32> {tp.role = "parameter"})
    -> (tensor<4x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
  %0 = tp.einsum "xd,dh->xh" %x, %a : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %1 = tp.einsum "xd,dh->xh" %x, %b : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %2 = tp.einsum "xd,dh->xh" %z, %b : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %3 = tp.einsum "xd,dh->xh" %x, %i : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %4 = tp.einsum "xd,dh->xh" %z, %c : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %5 = tp.einsum "xd,dh->xh" %x, %d : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %6 = tp.einsum "xd,dh->xh" %x, %e : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %7 = tp.sub %0, %1 : tensor<2x8xf32>
  %8 = tp.sub %2, %3 : tensor<2x8xf32>
  %9 = tp.sub %4, %5 : tensor<2x8xf32>
  %10 = tp.sub %7, %8 : tensor<2x8xf32>
  %11 = tp.sub %10, %9 : tensor<2x8xf32>
  %12 = tp.exp %a : tensor<4x8xf32>
  return %12, %11, %6 : tensor<4x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// A bias of each is one of all; an activation behind one of them stays with it,
// where the library computes it.
// CHECK-LABEL: step.program @epilogues
// CHECK:       step.bundle {{.*}} rows 1 : memref<8x4xf32>, memref<12x4xf32> as memref<20x4xf32>
// CHECK:       step.bundle {{.*}} rows 1 : memref<8xf32>, memref<12xf32> as memref<20xf32>
// CHECK:       step.matmul {{.*}} then [#step<post add>]
// CHECK:       step.bundle {{.*}} rows 4 : memref<4x8xf32>, memref<4x8xf32> as memref<4x16xf32>
// CHECK:       step.matmul
// CHECK-NOT:   step.matmul
// CPU-LABEL:   step.program @epilogues
// CPU-COUNT-2: step.bundle
// CPU:         step.matmul
// CPU-NOT:     step.bundle
// CPU:         step.matmul
// CPU:         step.matmul {{.*}} then [#step<post silu>, #step<post multiply>]
func.func @epilogues(%x: tensor<2x4xf32>, %a: tensor<8x4xf32> {tp.role = "parameter"}, %b: tensor<12x4xf32> {tp.role = "parameter"},
                     %p: tensor<8xf32> {tp.role = "parameter"}, %q: tensor<12xf32> {tp.role = "parameter"},
                     %c: tensor<4x8xf32> {tp.role = "parameter"}, %d: tensor<4x8xf32> {tp.role = "parameter"})
    -> (tensor<2x8xf32>, tensor<2x12xf32>, tensor<2x8xf32>) {
  %0 = tp.einsum "xd,hd->xh" %x, %a : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
  %1 = tp.broadcast %p dims = [1] : tensor<8xf32> -> tensor<2x8xf32>
  %2 = tp.add %0, %1 : tensor<2x8xf32>
  %3 = tp.einsum "xd,hd->xh" %x, %b : (tensor<2x4xf32>, tensor<12x4xf32>) -> tensor<2x12xf32>
  %4 = tp.broadcast %q dims = [1] : tensor<12xf32> -> tensor<2x12xf32>
  %5 = tp.add %3, %4 : tensor<2x12xf32>
  %6 = tp.exp %2 : tensor<2x8xf32>
  %7 = tp.exp %5 : tensor<2x12xf32>
  %8 = tp.einsum "xd,dh->xh" %x, %c : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %9 = tp.einsum "xd,dh->xh" %x, %d : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %10 = tp.silu %8 : tensor<2x8xf32>
  %11 = tp.mul %10, %9 : tensor<2x8xf32>
  return %6, %7, %11 : tensor<2x8xf32>, tensor<2x12xf32>, tensor<2x8xf32>
}
