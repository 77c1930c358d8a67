// How the kernels of sorts are launched, and what they do with memory.

// RUN: tp-opt %s --tp-emit-ptx="chip=sm_80 file=%t.ptx" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: FileCheck %s --input-file=%t.ptx --check-prefix=MEMORY

// A thread for each element that is counted, or for eight of a tile; a block for
// each row or part.
// CHECK:      // sort0: 128 blocks of 128 threads
// CHECK-NEXT: // sort1: 512 blocks of 32 threads
// CHECK-NEXT: // sort2: 4 blocks of 512 threads
// CHECK-NEXT: // sort3: 300 blocks of 1024 threads
// CHECK-NEXT: // sort_parts4: 320 blocks of 512 threads
// CHECK-NEXT: // sort_parts5: 3 blocks of 256 threads
// CHECK-NEXT: // sort6: 2 blocks of 256 threads
// CHECK-NEXT: // merge7: 1 blocks of 512 threads
// CHECK-NEXT: // merge8: 512 blocks of 256 threads

// CHECK-LABEL: .entry sort0(
// CHECK-NOT:   bar.sync

// Experts of a router: eight are in order before they are stored, and five
// rounds of two barriers each halve the runs of eight.
// CHECK-LABEL:    .entry sort1(
// CHECK-COUNT-11: bar.sync
// CHECK-NOT:      bar.sync

// A whole tile is eight sorted where they are loaded, and 27 rounds.
// CHECK-LABEL:    .entry sort2(
// CHECK-COUNT-8:  ld.global.nc.b32
// CHECK-NOT:      ld.global
// CHECK-COUNT-28: bar.sync
// CHECK-NOT:      bar.sync
// CHECK-LABEL:    .entry sort3(

// Runs that are merged by bisection need none.
// CHECK-LABEL: .entry merge8(
// CHECK-NOT:   bar.sync

// Nothing lies in the memory of a thread, and no atomics decide an order.
// MEMORY-NOT: .local
// MEMORY-NOT: atom

step.program @main inputs [] outputs [] {
  %x0 = step.alloc : memref<512x32xbf16>
  %v0 = step.alloc : memref<512x4xbf16>
  %i0 = step.alloc : memref<512x4xi32>
  step.sort descending %x0 into %v0, %i0
      : memref<512x32xbf16> into memref<512x4xbf16>, memref<512x4xi32>
  %x1 = step.alloc : memref<512x256xbf16>
  %v1 = step.alloc : memref<512x8xbf16>
  %i1 = step.alloc : memref<512x8xi32>
  step.sort descending %x1 into %v1, %i1
      : memref<512x256xbf16> into memref<512x8xbf16>, memref<512x8xi32>
  %x2 = step.alloc : memref<4x4096xf32>
  %v2 = step.alloc : memref<4x4096xf32>
  %i2 = step.alloc : memref<4x4096xi32>
  step.sort %x2 into %v2, %i2
      : memref<4x4096xf32> into memref<4x4096xf32>, memref<4x4096xi32>
  %x3 = step.alloc : memref<300x32000xbf16>
  %v3 = step.alloc : memref<300x50xbf16>
  %i3 = step.alloc : memref<300x50xi32>
  step.sort descending %x3 into %v3, %i3
      : memref<300x32000xbf16> into memref<300x50xbf16>, memref<300x50xi32>
  %x4 = step.alloc : memref<64x131072xf32>
  %v4 = step.alloc : memref<64x2560xf32>
  %i4 = step.alloc : memref<64x2560xi32>
  step.sort_parts descending %x4 parts 26215 keep 512 into %v4, %i4
      : memref<64x131072xf32> into memref<64x2560xf32>, memref<64x2560xi32>
  %x5 = step.alloc : memref<1x5000xf64>
  %v5 = step.alloc : memref<1x5000xf64>
  %i5 = step.alloc : memref<1x5000xi32>
  step.sort_parts %x5 parts 2048 keep 2048 into %v5, %i5
      : memref<1x5000xf64> into memref<1x5000xf64>, memref<1x5000xi32>
  %x6 = step.alloc : memref<2x70000xi64>
  %v6 = step.alloc : memref<2x256xi64>
  %i6 = step.alloc : memref<2x256xi32>
  step.sort %x6 into %v6, %i6
      : memref<2x70000xi64> into memref<2x256xi64>, memref<2x256xi32>
  %x7 = step.alloc : memref<1x16384xf32>
  %p7 = step.alloc : memref<1x16384xi32>
  %v7 = step.alloc : memref<1x512xf32>
  %i7 = step.alloc : memref<1x512xi32>
  step.merge descending %x7, %p7 runs 512 ways 32 into %v7, %i7
      : memref<1x16384xf32>, memref<1x16384xi32> into memref<1x512xf32>, memref<1x512xi32>
  %x8 = step.alloc : memref<1x131072xf32>
  %p8 = step.alloc : memref<1x131072xi32>
  %v8 = step.alloc : memref<1x131072xf32>
  %i8 = step.alloc : memref<1x131072xi32>
  step.merge %x8, %p8 runs 4096 ways 4 into %v8, %i8
      : memref<1x131072xf32>, memref<1x131072xi32> into memref<1x131072xf32>, memref<1x131072xi32>
}
