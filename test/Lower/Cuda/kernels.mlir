// What real models compute beside matrix products, as kernels: memory is read
// through the read-only cache and written, 16 bytes at a time where the narrower
// of a kernel's types allows it; functions and quotients are instructions.

// RUN: tp-opt %s --tp-lower-to-step="target=cuda" --tp-emit-ptx="chip=sm_90 file=%t.ptx" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: FileCheck %s --input-file=%t.ptx --check-prefix=NONE

// Nothing is spilled or called, and nothing read otherwise.
// NONE-NOT: .local
// NONE-NOT: call
// NONE-NOT: ld.global.v4

// The sum with the residual and its norm are one kernel: each is read once and
// written once, and the row's sum takes one barrier.
// CHECK-LABEL:   .entry rows0(
// CHECK-COUNT-4: ld.global.nc.v4.b32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK:         bar.sync
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK-NOT:     bar.sync
func.func @residual_norm(%x: tensor<512x4096xbf16>, %r: tensor<512x4096xbf16>, %g: tensor<4096xbf16>) -> (tensor<512x4096xbf16>, tensor<512x4096xbf16>) {
  %0 = tp.add %x, %r : tensor<512x4096xbf16>
  %1 = tp.rms_norm %0, %g epsilon = 1.0e-5 : (tensor<512x4096xbf16>, tensor<4096xbf16>) -> tensor<512x4096xbf16>
  return %0, %1 : tensor<512x4096xbf16>, tensor<512x4096xbf16>
}

// CHECK-LABEL:   .entry rows1(
// CHECK:         ld.global.nc.v4.b32
// CHECK-COUNT-8: ex2.approx.f32
// CHECK-COUNT-8: div.full.f32
// CHECK:         ld.global.nc.v4.b32
// CHECK:         st.global.v4.b32
func.func @gated(%g: tensor<512x14336xbf16>, %u: tensor<512x14336xbf16>) -> tensor<512x14336xbf16> {
  %0 = tp.gated silu %g, %u : tensor<512x14336xbf16>
  return %0 : tensor<512x14336xbf16>
}

// Both halves of a head by one thread; its tables are f32, which are what is 16
// bytes wide.
// CHECK-LABEL: .entry rows2(
// CHECK:       ld.global.nc.v4.b16
// CHECK:       ld.global.nc.v4.b32
// CHECK:       ld.global.nc.v4.b16
// CHECK:       ld.global.nc.v4.b32
// CHECK:       st.global.v2.b32
// CHECK:       st.global.v2.b32
func.func @rotary(%q: tensor<1x512x32x128xbf16>, %c: tensor<512x64xf32>, %s: tensor<512x64xf32>) -> tensor<1x512x32x128xbf16> {
  %0 = tp.rotary %q, %c, %s : (tensor<1x512x32x128xbf16>, tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<1x512x32x128xbf16>
  return %0 : tensor<1x512x32x128xbf16>
}

// One index for a row, which is then contiguous.
// CHECK-LABEL: .entry rows3(
// CHECK:       ld.global.nc.b32
// CHECK:       ld.global.nc.v4.b32
// CHECK:       st.global.v4.b32
func.func @embedding(%t: tensor<128256x4096xbf16>, %i: tensor<1x512xi32>) -> tensor<1x512x4096xbf16> {
  %0 = tp.embedding %t, %i : (tensor<128256x4096xbf16>, tensor<1x512xi32>) -> tensor<1x512x4096xbf16>
  return %0 : tensor<1x512x4096xbf16>
}

// A row of a vocabulary is read twice: for the maximum and the label's logit,
// and for the sum.
// CHECK-LABEL: .entry rows4(
// CHECK:       ld.global.nc.b32
// CHECK:       ld.global.nc.v4.b32
// CHECK:       bar.sync
// CHECK:       ld.global.nc.v4.b32
// CHECK:       ex2.approx.f32
// CHECK:       bar.sync
// CHECK:       st.global.b32
func.func @cross_entropy(%l: tensor<512x128256xf32>, %i: tensor<512xi32>) -> tensor<512xf32> {
  %0 = tp.cross_entropy %l, %i : (tensor<512x128256xf32>, tensor<512xi32>) -> tensor<512xf32>
  return %0 : tensor<512xf32>
}

// CHECK-LABEL: .entry rows5(
// CHECK:       ld.global.nc.v4.b16
// CHECK:       st.global.v4.b32
func.func @widen(%x: tensor<512x4096xbf16>) -> tensor<512x4096xf32> {
  %0 = tp.convert %x : tensor<512x4096xbf16> -> tensor<512x4096xf32>
  return %0 : tensor<512x4096xf32>
}

// What is new is written into the cache, at a place that memory says.
// CHECK-LABEL: .entry rows6(
// CHECK:       ld.global.nc.b32
// CHECK:       ld.global.nc.v4.b32
// CHECK:       st.global.v4.b32
func.func @cache(%c: tensor<1x1024x8x128xbf16> {tp.donated = 0 : i64}, %k: tensor<1x1x8x128xbf16>, %p: tensor<i32>) -> tensor<1x1024x8x128xbf16> {
  %zero = tp.constant dense<0> : tensor<i32>
  %0 = tp.dynamic_update_slice %c, %k [%zero, %p, %zero, %zero] : (tensor<1x1024x8x128xbf16>, tensor<1x1x8x128xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1024x8x128xbf16>
  return %0 : tensor<1x1024x8x128xbf16>
}

// Rows that 16 bytes do not divide are read in pieces that do, and stored by
// nobody twice: here, single elements.
// CHECK-LABEL: .entry rows7(
// CHECK-NOT:   .v4
// CHECK:       ld.global.nc.b16
// CHECK:       st.global.b16
func.func @uneven(%x: tensor<3x50257xbf16>) -> tensor<3x50257xbf16> {
  %0 = tp.softmax %x dim = 1 : tensor<3x50257xbf16>
  return %0 : tensor<3x50257xbf16>
}

// CHECK-LABEL: .entry scatter8(
// CHECK-NOT:   atom
// CHECK:       ld.global.nc.b64
// CHECK:       ld.global.b32
// CHECK:       st.global.b32
func.func @scatter(%x: tensor<512x32xf32>, %i: tensor<64xi64>, %u: tensor<64x32xf32>) -> tensor<512x32xf32> {
  %0 = tp.scatter add %x, %i, %u axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<64xi64>, tensor<64x32xf32>) -> tensor<512x32xf32>
  return %0 : tensor<512x32xf32>
}

// The experts of a router are counted: threads do not wait for each other.
// CHECK-LABEL: .entry sort9(
// CHECK-NOT:   bar.sync
// CHECK:       ld.global.nc.b16
// CHECK:       st.global.b16
// CHECK:       st.global.b32
func.func @router(%x: tensor<512x32xbf16>) -> (tensor<512x4xbf16>, tensor<512x4xi32>) {
  %v, %i = tp.top_k %x : tensor<512x32xbf16> -> tensor<512x4xbf16>, tensor<512x4xi32>
  return %v, %i : tensor<512x4xbf16>, tensor<512x4xi32>
}

// Of a vocabulary each element is read once. Eight are put in order where they
// are loaded; runs of eight are all that is kept, so each round halves them.
// CHECK-LABEL: .entry sort_parts10(
// CHECK-COUNT-8: ld.global.nc.b32
// CHECK-NOT:     ld.global
// CHECK-COUNT-8: st.shared.b64
// CHECK:         bar.sync
// CHECK-COUNT-16: ld.shared.b64
// CHECK:         bar.sync
// CHECK-COUNT-8: st.shared.b64
// CHECK:         bar.sync
// CHECK:         st.global.b32
// CHECK-LABEL: .entry merge11(
// CHECK:         bar.sync
func.func @top_k(%x: tensor<4x32000xf32>) -> (tensor<4x8xf32>, tensor<4x8xi32>) {
  %v, %i = tp.top_k %x : tensor<4x32000xf32> -> tensor<4x8xf32>, tensor<4x8xi32>
  return %v, %i : tensor<4x8xf32>, tensor<4x8xi32>
}
