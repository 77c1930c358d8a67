// RUN: tp-opt %s --pass-pipeline="builtin.module(step.program(tp-assign-buffers))" | FileCheck %s

// Buffers of different times share memory; those that live together do not.

// CHECK-LABEL: step.program @chain
// CHECK-SAME:  arena 128
// CHECK:       %[[A:.*]] = step.alloc at 0
// CHECK:       %[[B:.*]] = step.alloc at 64
// CHECK:       %[[C:.*]] = step.alloc at 0
step.program @chain inputs [#step.input<"x", input, tensor<16xf32>>] outputs [#step.output<"y", tensor<16xf32>>] {
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
step.program @gap inputs [#step.input<"x", input, tensor<64xf32>>] outputs [] {
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

// What a loop reads is in use for all of its turns, and so is what it carries: %in
// and %out lie apart from %inner, which is gone at the end of a turn. Behind the
// loop its place is free.
// CHECK-LABEL: step.program @loop
// CHECK-SAME:  arena 192
// CHECK:       %[[IN:.*]] = step.alloc at 0
// CHECK:       %[[OUT:.*]] = step.alloc at 64
// CHECK:       step.loop
// CHECK:         step.alloc at 128
// CHECK:         step.alloc at 128
// CHECK:       step.alloc at 0
step.program @loop inputs [#step.input<"x", input, tensor<16xf32>>] outputs [#step.output<"y", tensor<16xf32>>] {
^bb0(%x: memref<16xf32>, %y: memref<16xf32>):
  %in = step.alloc : memref<16xf32>
  %out = step.alloc : memref<16xf32>
  step.copy %x to %in : memref<16xf32> to memref<16xf32>
  step.loop 3 {
    %inner = step.alloc : memref<16xf32>
    step.copy %in to %inner : memref<16xf32> to memref<16xf32>
    step.copy %inner to %out : memref<16xf32> to memref<16xf32>
    %later = step.alloc : memref<16xf32>
    step.fill %later with 0.0 : f32 in memref<16xf32>
  }
  %after = step.alloc : memref<16xf32>
  step.copy %out to %after : memref<16xf32> to memref<16xf32>
  step.copy %after to %y : memref<16xf32> to memref<16xf32>
}

// The two sides of a choice share memory; a predicate that a loop reads again stays.
// CHECK-LABEL: step.program @sides
// CHECK-SAME:  arena 128
// CHECK:       step.alloc at 64 : memref<i1>
// CHECK:       step.while
// CHECK:       step.if
// CHECK:         step.alloc at 0
// CHECK:       } else {
// CHECK:         step.alloc at 0
step.program @sides inputs [#step.input<"x", input, tensor<16xf32>>, #step.input<"q", input, tensor<i1>>] outputs [] {
^bb0(%x: memref<16xf32>, %q: memref<i1>):
  %p = step.alloc : memref<i1>
  step.while %p cond {
    step.copy %q to %p : memref<i1> to memref<i1>
  } do {
    step.if %q {
      %a = step.alloc : memref<16xf32>
      step.copy %x to %a : memref<16xf32> to memref<16xf32>
    } else {
      %b = step.alloc : memref<16xf32>
      step.copy %x to %b : memref<16xf32> to memref<16xf32>
    } : memref<i1>
  } : memref<i1>
}
