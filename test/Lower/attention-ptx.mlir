// The kernels of attention use what the hardware has for it.

// RUN: tp-opt %s --tp-emit-ptx="chip=sm_80 file=%t.ptx" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: FileCheck %s --input-file=%t.ptx --check-prefix=KEYS
// RUN: FileCheck %s --input-file=%t.ptx --check-prefix=VALUES
// RUN: FileCheck %s --input-file=%t.ptx --check-prefix=PRODUCTS
// RUN: FileCheck %s --input-file=%t.ptx --check-prefix=MEMORY

// RUN: tp-opt %s --tp-emit-ptx="chip=sm_90a file=%t.90a.ptx" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.90a.ptx --check-prefix=HOPPER
// RUN: FileCheck %s --input-file=%t.90a.ptx --check-prefix=MEMORY

// CHECK: // attention0: 16 blocks of 128 threads
// CHECK: // attention1: 128 blocks of 32 threads
// CHECK: // attention2: 4 blocks of 128 threads
// CHECK: // attention3: 16 blocks of 128 threads
// CHECK: // attention5: 256 blocks of 32 threads
// CHECK: // attention6: 256 blocks of 64 threads

// CHECK-LABEL: .entry attention0(
// CHECK-DAG:     cp.async.cg.shared.global
// CHECK-DAG:     cp.async.commit_group
// CHECK-DAG:     cp.async.wait_group 1
// CHECK-DAG:     ex2.approx
// CHECK-DAG:     cvt.rn.bf16x2.f32

// With 64 features, the keys and the values of a tile of 64 keys are loaded once
// for the 32 rows of a warp, and each of the two products is 2 x 32 matrix
// instructions.
// KEYS-LABEL:        .entry attention0(
// KEYS-COUNT-16:     ldmatrix.sync.aligned.m8n8.x4.shared.b16
// KEYS-NOT:          ldmatrix.sync.aligned.m8n8.x4.shared.b16
// KEYS-LABEL:        .entry attention1(
// VALUES-LABEL:      .entry attention0(
// VALUES-COUNT-16:   ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// VALUES-NOT:        ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// VALUES-LABEL:      .entry attention1(
// PRODUCTS-LABEL:    .entry attention0(
// PRODUCTS-COUNT-128: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// PRODUCTS-NOT:      mma.sync
// PRODUCTS-LABEL:    .entry attention1(

// A group's four queries are rows of one warp, which shares the keys' parts.
// CHECK-LABEL: .entry attention1(
// CHECK:         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

// The block that ends last combines the parts. It loads what other blocks have stored,
// so fences surround the counter, and loads come behind them, of memory that no other
// cache than L1 keeps.
// CHECK:         st.global.v2.b32
// CHECK-NOT:     ld.global
// CHECK:         {{bar.sync|barrier.sync}}
// CHECK-NOT:     ld.global
// CHECK:         fence.acq_rel.gpu
// CHECK-NEXT:    atom.global.inc.u32 [[BEFORE:%r[0-9]+]], [%rd{{[0-9]+}}], 15
// CHECK-NEXT:    fence.acq_rel.gpu
// CHECK-NEXT:    st.shared.b32 [{{.*}}], [[BEFORE]]
// CHECK-NOT:     ld.global
// CHECK:         {{bar.sync|barrier.sync}}
// CHECK-NOT:     ld.global.nc
// CHECK-COUNT-16: ld.global.v4.b32
// CHECK-NOT:     ld.global

// f32 keeps its precision.
// CHECK-LABEL: .entry attention2(
// CHECK-NOT:     mma.sync
// CHECK:         fma.rn.f32

// On Hopper, warpgroups multiply where there are rows for them.
// HOPPER: // attention0: 16 blocks of 256 threads
// HOPPER: // attention1: 128 blocks of 32 threads
// HOPPER: // attention2: 4 blocks of 128 threads
// HOPPER: // attention3: 8 blocks of 256 threads
// HOPPER: // attention4: 8 blocks of 256 threads
// HOPPER-LABEL: .entry attention0(
// HOPPER-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// HOPPER:         ex2.approx.ftz
// HOPPER:         wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// HOPPER-LABEL: .entry attention1(
// HOPPER-NOT:     wgmma
// HOPPER:         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// HOPPER-LABEL: .entry attention3(
// HOPPER-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16

// Nothing lies in the memory of a thread.
// MEMORY-NOT: .local

step.program @main inputs [] outputs [] {
  %q = step.alloc : memref<1x256x4x2x64xbf16>
  %k = step.alloc : memref<1x256x4x64xbf16>
  %y = step.alloc : memref<1x256x4x2x64xbf16>
  step.attention %q, %k, %k into %y {causal, scale = 0.125 : f64}
      : memref<1x256x4x2x64xbf16>, memref<1x256x4x64xbf16>, memref<1x256x4x64xbf16> into memref<1x256x4x2x64xbf16>
  %q1 = step.alloc : memref<1x1x8x4x128xf16>
  %k1 = step.alloc : memref<1x2048x8x128xf16>
  %o1 = step.alloc : memref<i32>
  %y1 = step.alloc : memref<1x1x8x4x128xf16>
  %p1 = step.alloc : memref<16x1x1x8x4x128xf32>
  %s1 = step.alloc : memref<16x1x1x8x4x2xf32>
  %c1 = step.alloc : memref<1x1x8x4xi32>
  step.attention %q1, %k1, %k1 offset(%o1 : memref<i32>) into %y1 parts(%p1, %s1, %c1 : memref<16x1x1x8x4x128xf32>, memref<16x1x1x8x4x2xf32>, memref<1x1x8x4xi32>) {causal, scale = 0.125 : f64}
      : memref<1x1x8x4x128xf16>, memref<1x2048x8x128xf16>, memref<1x2048x8x128xf16> into memref<1x1x8x4x128xf16>
  %q2 = step.alloc : memref<1x64x1x1x64xf32>
  %k2 = step.alloc : memref<1x64x1x64xf32>
  %y2 = step.alloc : memref<1x64x1x1x64xf32>
  step.attention %q2, %k2, %k2 into %y2 {scale = 0.125 : f64}
      : memref<1x64x1x1x64xf32>, memref<1x64x1x64xf32>, memref<1x64x1x64xf32> into memref<1x64x1x1x64xf32>
  %q3 = step.alloc : memref<1x256x4x1x128xbf16>
  %k3 = step.alloc : memref<1x256x4x128xbf16>
  %y3 = step.alloc : memref<1x256x4x1x128xbf16>
  step.attention %q3, %k3, %k3 into %y3 {causal, scale = 0.125 : f64}
      : memref<1x256x4x1x128xbf16>, memref<1x256x4x128xbf16>, memref<1x256x4x128xbf16> into memref<1x256x4x1x128xbf16>
  %q4 = step.alloc : memref<1x256x2x2x128xf16>
  %k4 = step.alloc : memref<1x256x2x128xf16>
  %y4 = step.alloc : memref<1x256x2x2x128xf16>
  step.attention %q4, %k4, %k4 into %y4 {causal, scale = 0.125 : f64, window = 100 : i64}
      : memref<1x256x2x2x128xf16>, memref<1x256x2x128xf16>, memref<1x256x2x128xf16> into memref<1x256x2x2x128xf16>
  %q5 = step.alloc : memref<1x1x8x4x128xbf16>
  %k5 = step.alloc : memref<1x4096x8x128xbf16>
  %o5 = step.alloc : memref<i32>
  %y5 = step.alloc : memref<1x1x8x4x128xbf16>
  %p5 = step.alloc : memref<32x1x1x8x4x128xf32>
  %s5 = step.alloc : memref<32x1x1x8x4x2xf32>
  %c5 = step.alloc : memref<1x1x8x4xi32>
  step.attention %q5, %k5, %k5 offset(%o5 : memref<i32>) into %y5 parts(%p5, %s5, %c5 : memref<32x1x1x8x4x128xf32>, memref<32x1x1x8x4x2xf32>, memref<1x1x8x4xi32>) {causal, scale = 0.125 : f64}
      : memref<1x1x8x4x128xbf16>, memref<1x4096x8x128xbf16>, memref<1x4096x8x128xbf16> into memref<1x1x8x4x128xbf16>
  step.attention %q5, %k5, %k5 offset(%o5 : memref<i32>) into %y5 parts(%p5, %s5, %c5 : memref<32x1x1x8x4x128xf32>, memref<32x1x1x8x4x2xf32>, memref<1x1x8x4xi32>) {causal, scale = 0.125 : f64, two_warps}
      : memref<1x1x8x4x128xbf16>, memref<1x4096x8x128xbf16>, memref<1x4096x8x128xbf16> into memref<1x1x8x4x128xbf16>
  %q7 = step.alloc : memref<1x2x8x8x64xf32>
  %k7 = step.alloc : memref<1x4096x8x64xf32>
  %y7 = step.alloc : memref<1x2x8x8x64xf32>
  %p7 = step.alloc : memref<32x1x2x8x8x64xf32>
  %s7 = step.alloc : memref<32x1x2x8x8x2xf32>
  %c7 = step.alloc : memref<1x2x8x8xi32>
  step.attention %q7, %k7, %k7 into %y7 parts(%p7, %s7, %c7 : memref<32x1x2x8x8x64xf32>, memref<32x1x2x8x8x2xf32>, memref<1x2x8x8xi32>) {scale = 0.125 : f64}
      : memref<1x2x8x8x64xf32>, memref<1x4096x8x64xf32>, memref<1x4096x8x64xf32> into memref<1x2x8x8x64xf32>
  %q8 = step.alloc : memref<1x1x2x8x256xf16>
  %k8 = step.alloc : memref<1x4096x2x256xf16>
  %y8 = step.alloc : memref<1x1x2x8x256xf16>
  %p8 = step.alloc : memref<32x1x1x2x8x256xf32>
  %s8 = step.alloc : memref<32x1x1x2x8x2xf32>
  %c8 = step.alloc : memref<1x1x2x8xi32>
  step.attention %q8, %k8, %k8 into %y8 parts(%p8, %s8, %c8 : memref<32x1x1x2x8x256xf32>, memref<32x1x1x2x8x2xf32>, memref<1x1x2x8xi32>) {scale = 0.125 : f64, two_warps}
      : memref<1x1x2x8x256xf16>, memref<1x4096x2x256xf16>, memref<1x4096x2x256xf16> into memref<1x1x2x8x256xf16>
}
