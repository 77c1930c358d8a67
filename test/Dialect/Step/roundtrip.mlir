// RUN: tp-opt %s --verify-roundtrip | FileCheck %s

// Every step prints as it was read.
// CHECK-LABEL: step.program @all on @mesh
// CHECK: step.copy
// CHECK: step.fill
// CHECK: step.constant
// CHECK: step.view
// CHECK: step.matmul
// CHECK: step.choose {
// CHECK:   step.matmul
// CHECK: } or {
// CHECK:   step.skinny_matmul {{.*}} then [#step<post relu>]
// CHECK: step.collective_start all_reduce sum
// CHECK: step.collective_done
// CHECK: step.collective_start collective_permute {{.*}} from [1, -1] :
// CHECK-NEXT: step.collective_start all_reduce max {{.*}} joined :
// CHECK: step.rows [2, 4]
// CHECK: step.coordinate
spmd.mesh @mesh <["x"=2]>
step.program @all on @mesh inputs [#step.input<"x", input, tensor<2x4xf32>>, #step.input<"c", state, tensor<2x4xf32>>]
    outputs [#step.output<"y", tensor<2x4xf32>>, #step.output<"d", tensor<2x4xf32>, alias = 1>] arena 192 {
^bb0(%x: memref<2x4xf32>, %c: memref<2x4xf32>, %y: memref<2x4xf32>):
  %a = step.alloc at 0 : memref<2x4xf32>
  %b = step.alloc at 64 : memref<2x4xf32>
  %e = step.alloc at 128 : memref<2xi32>
  step.copy %x to %a : memref<2x4xf32> to memref<2x4xf32>
  step.fill %b with 1.0 : f32 in memref<2x4xf32>
  %k = step.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> as memref<4xf32>
  %k2 = step.view %k : memref<4xf32> as memref<2x4xf32, strided<[0, 1]>>
  %m = step.view %x : memref<2x4xf32> as memref<1x1x1x2x4xf32, strided<[0, 0, 0, 4, 1]>>
  %n = step.view %x : memref<2x4xf32> as memref<1x1x1x4x2xf32, strided<[0, 0, 0, 1, 4]>>
  %o = step.view %b : memref<2x4xf32> as memref<1x1x1x2x2xf32, strided<[0, 0, 0, 2, 1]>>
  step.matmul %m, %n into %o then [#step<post relu>] : memref<1x1x1x2x4xf32, strided<[0, 0, 0, 4, 1]>>, memref<1x1x1x4x2xf32, strided<[0, 0, 0, 1, 4]>> into memref<1x1x1x2x2xf32, strided<[0, 0, 0, 2, 1]>>
  step.choose {
    step.matmul %m, %n into %o then [#step<post relu>] : memref<1x1x1x2x4xf32, strided<[0, 0, 0, 4, 1]>>, memref<1x1x1x4x2xf32, strided<[0, 0, 0, 1, 4]>> into memref<1x1x1x2x2xf32, strided<[0, 0, 0, 2, 1]>>
  } or {
    step.skinny_matmul %m, %n into %o then [#step<post relu>] : memref<1x1x1x2x4xf32, strided<[0, 0, 0, 4, 1]>>, memref<1x1x1x4x2xf32, strided<[0, 0, 0, 1, 4]>> into memref<1x1x1x2x2xf32, strided<[0, 0, 0, 2, 1]>>
  }
  %t = step.collective_start all_reduce sum <{"x"}> %a to %a : memref<2x4xf32> to memref<2x4xf32>
  step.collective_done %t
  %u = step.collective_start collective_permute <{"x"}> %a to %c from [1, -1] : memref<2x4xf32> to memref<2x4xf32>
  %v = step.collective_start all_reduce max <{"x"}> %e to %e joined : memref<2xi32> to memref<2xi32>
  step.collective_done %u
  step.collective_done %v
  step.rows [2, 4] reads(%a, %k2 : memref<2x4xf32>, memref<2x4xf32, strided<[0, 1]>>) writes(%y : memref<2x4xf32>) {
  ^bb0(%p: memref<2x4xf32>, %q: memref<2x4xf32, strided<[0, 1]>>, %r: memref<2x4xf32>):
    %i = step.index 0
    %d = step.coordinate <"x">
    %0 = step.load %p[%i, %d] : memref<2x4xf32>
    %1 = step.load %q : memref<2x4xf32, strided<[0, 1]>>
    %2 = arith.addf %0, %1 : f32
    %3 = step.reduce max %2 : f32
    %4 = arith.subf %2, %3 : f32
    step.store %4 to %r : f32, memref<2x4xf32>
    // CHECK: step.reduce umin
    %5 = step.reduce umin %d : i64
  }
}

// CHECK-LABEL: step.program @regions
// CHECK: step.loop 3 {
// CHECK:   step.view %{{.*}} by 16 of loop 0
// CHECK:   step.loop 2 {
// CHECK:     step.view %{{.*}} by -16 of loop 1
// CHECK:       step.counter 1
// CHECK: step.while %{{.*}} cond {
// CHECK: } do {
// CHECK: } : memref<i1>
// CHECK: step.if %{{.*}} {
// CHECK: } else {
// CHECK: step.scatter max
// CHECK: step.sort descending
// CHECK: step.sort %
// CHECK: step.sort_parts descending %{{.*}} parts 6 keep 1 into
// CHECK: step.sort_parts %{{.*}} parts 16 keep 3 into
// CHECK: step.merge descending %{{.*}}, %{{.*}} runs 1 ways 3 into
// CHECK: step.merge %{{.*}}, %{{.*}} runs 1 ways 2 into
step.program @regions inputs [#step.input<"w", parameter, tensor<3x16xf32>>, #step.input<"p", input, tensor<i1>>, #step.input<"i", input, tensor<1x6xi64>>] outputs [] {
^bb0(%w: memref<3x16xf32>, %p: memref<i1>, %i: memref<1x6xi64>):
  %y = step.alloc : memref<16xf32>
  %c = step.alloc : memref<16xi64>
  step.loop 3 {
    %0 = step.view %w by 16 of loop 0 : memref<3x16xf32> as memref<16xf32>
    step.copy %0 to %y : memref<16xf32> to memref<16xf32>
    step.loop 2 {
      %1 = step.view %w by -16 of loop 1 : memref<3x16xf32> as memref<16xf32, strided<[1], offset: 32>>
      step.copy %1 to %y : memref<16xf32, strided<[1], offset: 32>> to memref<16xf32>
      step.rows [16] writes(%c : memref<16xi64>) {
      ^bb0(%a: memref<16xi64>):
        %2 = step.counter 1
        step.store %2 to %a : i64, memref<16xi64>
      }
    }
  }
  %q = step.alloc : memref<i1>
  step.while %q cond {
    step.copy %p to %q : memref<i1> to memref<i1>
  } do {
    step.fill %y with 1.0 : f32 in memref<16xf32>
  } : memref<i1>
  step.if %q {
    step.fill %y with 1.0 : f32 in memref<16xf32>
  } else {
  } : memref<i1>
  %u = step.alloc : memref<1x1x6x4xf32>
  %d = step.alloc : memref<1x1x9x4xf32>
  step.scatter max %u at %i into %d : memref<1x1x6x4xf32>, memref<1x6xi64> into memref<1x1x9x4xf32>
  %v = step.alloc : memref<3x2xf32>
  %k = step.alloc : memref<3x2xi32>
  step.sort descending %w into %v, %k : memref<3x16xf32> into memref<3x2xf32>, memref<3x2xi32>
  step.sort %w into %v, %k : memref<3x16xf32> into memref<3x2xf32>, memref<3x2xi32>
  %v1 = step.alloc : memref<3x3xf32>
  %k1 = step.alloc : memref<3x3xi32>
  step.sort_parts descending %w parts 6 keep 1 into %v1, %k1 : memref<3x16xf32> into memref<3x3xf32>, memref<3x3xi32>
  step.sort_parts %w parts 16 keep 3 into %v1, %k1 : memref<3x16xf32> into memref<3x3xf32>, memref<3x3xi32>
  step.merge descending %v1, %k1 runs 1 ways 3 into %v, %k : memref<3x3xf32>, memref<3x3xi32> into memref<3x2xf32>, memref<3x2xi32>
  %v2 = step.alloc : memref<3x3xf32>
  %k2 = step.alloc : memref<3x3xi32>
  step.merge %v1, %k1 runs 1 ways 2 into %v2, %k2 : memref<3x3xf32>, memref<3x3xi32> into memref<3x3xf32>, memref<3x3xi32>
  step.random seed -1 scale 0.5 first 3 stride 9 into %v : memref<3x2xf32>
  step.combine max %v, %v, %v into %v : memref<3x2xf32>, memref<3x2xf32>, memref<3x2xf32> into memref<3x2xf32>
}

// CHECK-LABEL: step.program @bundles
// CHECK: step.bundle %{{.*}}, %{{.*}} rows 2 : memref<2x4xf32>, memref<2x2xf32> as memref<2x6xf32>
// CHECK: step.together reads(
// CHECK-COUNT-2: step.rows
step.program @bundles inputs [#step.input<"x", parameter, tensor<2x4xf32>>, #step.input<"z", parameter, tensor<2x2xf32>>]
    outputs [#step.output<"y", tensor<2x4xf32>>, #step.output<"u", tensor<2x2xf32>>] {
^bb0(%x: memref<2x4xf32>, %z: memref<2x2xf32>, %y: memref<2x4xf32>, %u: memref<2x2xf32>):
  %b = step.bundle %x, %z rows 2 : memref<2x4xf32>, memref<2x2xf32> as memref<2x6xf32>
  %p = step.view %b : memref<2x6xf32> as memref<2x4xf32, strided<[6, 1]>>
  %q = step.view %b : memref<2x6xf32> as memref<2x2xf32, strided<[6, 1], offset: 4>>
  step.together reads(%p, %q : memref<2x4xf32, strided<[6, 1]>>, memref<2x2xf32, strided<[6, 1], offset: 4>>)
      writes(%y, %u : memref<2x4xf32>, memref<2x2xf32>) {
  ^bb0(%a: memref<2x4xf32, strided<[6, 1]>>, %c: memref<2x2xf32, strided<[6, 1], offset: 4>>, %d: memref<2x4xf32>, %e: memref<2x2xf32>):
    step.rows [2, 4] reads(%a : memref<2x4xf32, strided<[6, 1]>>) writes(%d : memref<2x4xf32>) {
    ^bb0(%f: memref<2x4xf32, strided<[6, 1]>>, %g: memref<2x4xf32>):
      %0 = step.load %f : memref<2x4xf32, strided<[6, 1]>>
      step.store %0 to %g : f32, memref<2x4xf32>
    }
    step.rows [2, 2] reads(%c : memref<2x2xf32, strided<[6, 1], offset: 4>>) writes(%e : memref<2x2xf32>) {
    ^bb0(%f: memref<2x2xf32, strided<[6, 1], offset: 4>>, %g: memref<2x2xf32>):
      %0 = step.load %f : memref<2x2xf32, strided<[6, 1], offset: 4>>
      step.store %0 to %g : f32, memref<2x2xf32>
    }
  }
}
