// Row programs become GPU kernels: how they are launched, and what they do with
// memory, threads and functions.

// RUN: tp-opt %s --tp-lower-to-step --tp-emit-ptx="chip=sm_90 file=%t.ptx" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: tp-opt %s --tp-lower-to-step --tp-emit-ptx="chip=sm_80 file=%t.80.ptx" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.80.ptx --check-prefix=AMPERE
// RUN: not tp-opt %s --tp-lower-to-step --tp-emit-ptx="chip=sm_70 file=%t.70.ptx" 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not tp-opt %s --tp-lower-to-step --tp-emit-ptx="file=%t/no/folder/x.ptx" 2>&1 | FileCheck %s --check-prefix=FILE

// CHECK:      // rows0: 512 blocks of 256 threads
// CHECK-NEXT: // rows1: 512 blocks of 256 threads
// CHECK-NEXT: // rows2: 128 blocks of 128 threads
// CHECK-NEXT: // rows3: 2 blocks of 128 threads
// CHECK-NEXT: // rows4: 4 blocks of 512 threads
// CHECK-NEXT: // rows5: 3 blocks of 128 threads
// CHECK:      .target sm_90
// No function of a library is called.
// CHECK-NOT:  .extern

// AMPERE:         .target sm_80
// AMPERE-COUNT-6: .entry rows
// CHIP: [TP0821] the GPU 'sm_70' is not supported: write chips=sm_80 or a later one
// FILE: [TP0612] cannot write '{{.*}}x.ptx'

// A row of 4096 is in the registers of 256 threads: read once and written once,
// 16 bytes at a time; each reduction is five exchanges in a warp and one barrier.
// CHECK-LABEL: .entry rows0(
// CHECK-COUNT-4:  ld.global.nc.v4.b32
// CHECK-COUNT-5:  shfl.sync.bfly.b32
// CHECK:          bar.sync
// CHECK-COUNT-16: ex2.approx
// CHECK-COUNT-5:  shfl.sync.bfly.b32
// CHECK:          bar.sync
// One division for the row, none for its elements.
// CHECK:          {{rcp|div}}.rn.f32
// CHECK-NOT:      {{rcp|div}}.rn.f32
// CHECK-COUNT-4:  st.global.v4.b32
// CHECK-NOT:      {{ld|st}}.global
func.func @softmax(%x: tensor<512x4096xf32>) -> tensor<512x4096xf32> {
  %0 = tp.softmax %x dim = 1 : tensor<512x4096xf32>
  return %0 : tensor<512x4096xf32>
}

// So is one of rms_norm, whose scale is read once the sum is known.
// CHECK-LABEL: .entry rows1(
// CHECK-COUNT-4: ld.global.nc.v4.b32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK:         bar.sync
// CHECK:         sqrt.rn.f32
// CHECK:         ld.global.nc.v4.b32
// CHECK:         st.global.v4.b32
// CHECK-NOT:     bar.sync
func.func @rms_norm(%x: tensor<512x4096xf32>, %g: tensor<4096xf32>) -> tensor<512x4096xf32> {
  %0 = tp.rms_norm %x, %g epsilon = 1.0e-5 : (tensor<512x4096xf32>, tensor<4096xf32>) -> tensor<512x4096xf32>
  return %0 : tensor<512x4096xf32>
}

// Without a reduction a thread has one chunk: 8 elements of 2 bytes.
// CHECK-LABEL: .entry rows2(
// CHECK-NOT:   shfl
// CHECK:       ld.global.nc.v4
// CHECK:       ex2.approx
// CHECK:       cvt.rn.bf16
// CHECK:       st.global.v4.b32
func.func @silu(%x: tensor<32x4096xbf16>) -> tensor<32x4096xbf16> {
  %0 = tp.silu %x : tensor<32x4096xbf16>
  return %0 : tensor<32x4096xbf16>
}

// A row of up to 1024 is a warp's, without barriers. Seven rows are two blocks
// of four, of which one warp has nothing to do; threads beyond the row's end
// store nothing.
// CHECK-LABEL: .entry rows3(
// CHECK:       setp
// CHECK-NOT:   bar.sync
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-NOT:   bar.sync
func.func @short(%x: tensor<7x131xf32>) -> tensor<7x131xf32> {
  %0 = tp.softmax %x dim = 1 : tensor<7x131xf32>
  return %0 : tensor<7x131xf32>
}

// A row that no registers hold is read again in every phase.
// CHECK-LABEL: .entry rows4(
// CHECK:       ld.global.nc.v4.b32
// CHECK:       bar.sync
// CHECK:       ld.global.nc.v4.b32
// CHECK:       bar.sync
// CHECK:       ld.global.nc.v4.b32
// CHECK:       st.global.v4.b32
func.func @long(%x: tensor<4x49152xf32>) -> tensor<4x49152xf32> {
  %0 = tp.softmax %x dim = 1 : tensor<4x49152xf32>
  return %0 : tensor<4x49152xf32>
}

// Sine and cosine take whole turns off in f64, and are instructions from there
// on: neither calls nor tables in local memory.
// CHECK-LABEL: .entry rows5(
// CHECK:       fma.rn.f64
// CHECK-NOT:   call
// CHECK-NOT:   .local
func.func @tables(%x: tensor<12x100xf32>) -> (tensor<12x100xf32>, tensor<12x100xf32>) {
  %0 = tp.sin %x : tensor<12x100xf32>
  %1 = tp.cos %x : tensor<12x100xf32>
  return %0, %1 : tensor<12x100xf32>, tensor<12x100xf32>
}
