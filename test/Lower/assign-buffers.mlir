// RUN: tp-opt %s --pass-pipeline="builtin.module(step.program(tp-assign-buffers))" | FileCheck %s

// Buffers of different times share memory; those that live together do not.

// CHECK-LABEL: step.program @chain
// CHECK-SAME:  arena 128
// CHECK:       %[[A:.*]] = step.alloc at 0
// CHECK:       %[[B:.*]] = step.alloc at 64
// CHECK:       %[[C:.*]] = step.alloc at 0
step.program @chain inputs [#step.input<"x", activation, tensor<16xf32>>] outputs [#step.output<"y", tensor<16xf32>>] {
^bb0(%x: memref<16xf32>, %y: memref<16xf32>):
  %a = step.alloc : memref<16xf32>
  step.copy %x to %a : memref<16xf32> to memref<16xf32>
  %b = step.alloc : memref<16xf32>
  step.copy %a to %b : memref<16xf32> to memref<16xf32>
  %c = step.alloc : memref<16xf32>
  step.copy %b to %c : memref<16xf32> to memref<16xf32>
  step.copy %c to %y : memref<16xf32> to memref<16xf32>
}

// The tightest gap: %small fits between, at the end of %first.
// CHECK-LABEL: step.program @gap
// CHECK-SAME:  arena 384
// CHECK:       step.alloc at 256 : memref<32xf32>
// CHECK:       step.alloc at 0 : memref<64xf32>
// CHECK:       step.alloc at 256 : memref<16xf32>
step.program @gap inputs [#step.input<"x", activation, tensor<64xf32>>] outputs [] {
^bb0(%x: memref<64xf32>):
  %first = step.alloc : memref<32xf32>
  %0 = step.view %x : memref<64xf32> as memref<32xf32>
  step.copy %0 to %first : memref<32xf32> to memref<32xf32>
  %big = step.alloc : memref<64xf32>
  step.copy %x to %big : memref<64xf32> to memref<64xf32>
  %1 = step.view %big : memref<64xf32> as memref<32xf32>
  step.copy %first to %1 : memref<32xf32> to memref<32xf32>
  %small = step.alloc : memref<16xf32>
  %2 = step.view %big : memref<64xf32> as memref<16xf32>
  step.copy %2 to %small : memref<16xf32> to memref<16xf32>
}
