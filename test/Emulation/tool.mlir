// Each different kernel of the steps is a function of its name, and the
// emulator finds the table that it fills.

// RUN: tp-emulate-kernels %s -o %t.so
// RUN: llvm-nm --dynamic --defined-only %t.so | FileCheck %s --implicit-check-not=rows

// CHECK: T rows0
// CHECK-NEXT: T rows1
// CHECK-NEXT: B tpEmulatorCalls

// RUN: not tp-emulate-kernels %s -o /no/such/folder/kernels.so 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: /no/such/folder/kernels.so

step.program @main inputs [] outputs [] {
  %x = step.alloc : memref<4x16xf32>
  %y = step.alloc : memref<4x16xf32>
  step.rows [4, 16] reads(%x : memref<4x16xf32>) writes(%y : memref<4x16xf32>) {
  ^bb0(%a: memref<4x16xf32>, %b: memref<4x16xf32>):
    %0 = step.load %a : memref<4x16xf32>
    %1 = step.reduce max %0 : f32
    %2 = arith.subf %0, %1 : f32
    step.store %2 to %b : f32, memref<4x16xf32>
  }
  step.rows [4, 16] reads(%x : memref<4x16xf32>) writes(%y : memref<4x16xf32>) {
  ^bb0(%a: memref<4x16xf32>, %b: memref<4x16xf32>):
    %0 = step.load %a : memref<4x16xf32>
    %1 = arith.addf %0, %0 : f32
    step.store %1 to %b : f32, memref<4x16xf32>
  }
  step.rows [4, 16] reads(%y : memref<4x16xf32>) writes(%x : memref<4x16xf32>) {
  ^bb0(%a: memref<4x16xf32>, %b: memref<4x16xf32>):
    %0 = step.load %a : memref<4x16xf32>
    %1 = arith.addf %0, %0 : f32
    step.store %1 to %b : f32, memref<4x16xf32>
  }
}
