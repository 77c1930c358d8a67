// RUN: tp-opt %s --tp-schedule="machine=%S/Inputs/slow-link.json" --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-schedule="machine=%S/Inputs/slow-link.json in-flight=511B" --split-input-file | FileCheck %s --check-prefix=FULL

// What a second buffer has no room for stays in its iteration.
// FULL: step.loop 5
// FULL: step.loop 2

// In each program, a long step writes over what the iteration gathered, so that no other order of
// steps would hide the gather.

// Five iterations are two pairs and a last iteration. Each gathers for the next one, the
// first before the loop; a counter and what moves with the loop know their iteration.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @five
// CHECK-SAME:  exposed = [[#EXPOSED:]]>
// CHECK:       %[[W0:.*]] = step.view %[[W:.*]] : memref<5x64xf32> as memref<64xf32>
// CHECK:       step.collective_start all_gather <{"x"}> %[[W0]] to %[[A:.*]] :
// CHECK:       step.loop 2 {
// CHECK:         step.rows [128] reads(%[[A]] : memref<128xf32>)
// CHECK:           %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK:           %[[PAIR:.*]] = step.counter 0
// CHECK:           %[[TWICE:.*]] = arith.muli %[[PAIR]], %c2_i64
// CHECK:           arith.addi %[[TWICE]], %[[ZERO]]
// CHECK:         %[[W1:.*]] = step.view %[[W]] by 128 of loop 0 : memref<5x64xf32> as memref<64xf32, strided<[1], offset: 64>>
// CHECK:         %[[T1:.*]] = step.collective_start all_gather <{"x"}> %[[W1]] to %[[B:.*]] :
// CHECK:         step.copy
// CHECK:         step.view %{{.*}} by 256 of loop 0 : memref<5x128xf32> as memref<128xf32, strided<[1], offset: 128>>
// CHECK:         step.collective_done %[[T1]]
// CHECK:         step.rows [128] reads(%[[B]] : memref<128xf32>)
// CHECK:           arith.constant 1 : i64
// CHECK:         %[[W2:.*]] = step.view %[[W]] by 128 of loop 0 : memref<5x64xf32> as memref<64xf32, strided<[1], offset: 128>>
// CHECK:         %[[T2:.*]] = step.collective_start all_gather <{"x"}> %[[W2]] to %[[A]] :
// CHECK:         step.copy
// CHECK:         step.collective_done %[[T2]]
// CHECK-NEXT:  }
// CHECK-NOT:   step.collective_start
// CHECK:       step.rows [128] reads(%[[A]] : memref<128xf32>)
// CHECK-NOT:   step.counter
// CHECK:         arith.constant 4 : i64
step.program @five on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>, #step.input<"w", parameter, tensor<5x64xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<5x128xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %w: memref<5x64xf32>, %y: memref<1024x1024xf32>, %z: memref<5x128xf32>):
  %corner = step.view %y : memref<1024x1024xf32> as memref<128xf32>
  step.loop 5 {
    %a = step.alloc : memref<128xf32>
    %v = step.view %w by 64 of loop 0 : memref<5x64xf32> as memref<64xf32>
    %t = step.collective_start all_gather <{"x"}> %v to %a : memref<64xf32> to memref<128xf32>
    step.collective_done %t
    %row = step.view %z by 128 of loop 0 : memref<5x128xf32> as memref<128xf32>
    step.rows [128] reads(%a : memref<128xf32>) writes(%row : memref<128xf32>) {
    ^bb0(%in: memref<128xf32>, %out: memref<128xf32>):
      %0 = step.counter 0
      %1 = arith.sitofp %0 : i64 to f32
      %2 = step.load %in : memref<128xf32>
      %3 = arith.mulf %1, %2 : f32
      step.store %3 to %out : f32, memref<128xf32>
    }
    step.copy %a to %corner : memref<128xf32> to memref<128xf32>
    step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  }
}

// -----

// Two iterations need no loop. What packs a source goes ahead with it, while the device
// waits for the gather before, and a loop inside keeps its iterations, whose views count
// loops from the inside.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @two
// CHECK:       step.copy %{{.*}} to %[[P:.*]] : memref<64xf32> to memref<64xf32>
// CHECK:       step.collective_start all_gather <{"x"}> %[[P]] to %[[A:.*]] :
// CHECK:       step.copy %{{.*}} to %[[Q:.*]] : memref<64xf32, strided<[1], offset: 64>> to memref<64xf32>
// CHECK:       %[[T:.*]] = step.collective_start all_gather <{"x"}> %[[Q]] to %[[B:.*]] :
// CHECK:       step.copy %[[A]]
// CHECK:       step.loop 3 {
// CHECK-NEXT:    step.view %{{.*}} by 128 of loop 0
// CHECK-NEXT:    step.copy %[[A]]
// CHECK:       step.collective_done %[[T]]
// CHECK-NEXT:  step.copy %[[B]] to %{{.*}} : memref<128xf32> to memref<128xf32, strided<[1], offset: 384>>
// CHECK:       step.loop 3 {
// CHECK-NEXT:    step.view %{{.*}} by 128 of loop 0
// CHECK-NEXT:    step.copy %[[B]]
// CHECK-NOT:   step.collective_start
step.program @two on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>, #step.input<"w", parameter, tensor<2x64xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<3x128xf32>>, #step.output<"u", tensor<2x3x128xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %w: memref<2x64xf32>, %y: memref<1024x1024xf32>, %z: memref<3x128xf32>, %u: memref<2x3x128xf32>):
  %corner = step.view %y : memref<1024x1024xf32> as memref<128xf32>
  step.loop 2 {
    %a = step.alloc : memref<128xf32>
    %p = step.alloc : memref<64xf32>
    %v = step.view %w by 64 of loop 0 : memref<2x64xf32> as memref<64xf32>
    step.copy %v to %p : memref<64xf32> to memref<64xf32>
    %t = step.collective_start all_gather <{"x"}> %p to %a : memref<64xf32> to memref<128xf32>
    step.collective_done %t
    %own = step.view %u by 384 of loop 0 : memref<2x3x128xf32> as memref<128xf32>
    step.copy %a to %own : memref<128xf32> to memref<128xf32>
    step.loop 3 {
      %row = step.view %z by 128 of loop 0 : memref<3x128xf32> as memref<128xf32>
      step.copy %a to %row : memref<128xf32> to memref<128xf32>
    }
    step.copy %a to %corner : memref<128xf32> to memref<128xf32>
    step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  }
}

// -----

// Three iterations around a loop: what moves with the outer one inside the inner one, and
// with a loop around both.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @three
// CHECK:       step.loop 2 {
// CHECK-NOT:     step.loop 3
// CHECK:         step.view %{{.*}} by 192 of loop 0 : memref<2x3x64xf32> as memref<64xf32>
// CHECK:         step.loop 4 {
// CHECK-NEXT:      step.view %[[Z:.*]] : memref<2x3x4x128xf32> as memref<128xf32>
// CHECK-NEXT:      step.view %[[Z]] by 1536 of loop 1 : memref<2x3x4x128xf32> as memref<128xf32>
// CHECK:         step.loop 4 {
// CHECK-NEXT:      step.view %[[Z]] : memref<2x3x4x128xf32> as memref<128xf32, strided<[1], offset: 512>>
// CHECK-NEXT:      step.view %[[Z]] by 1536 of loop 1 : memref<2x3x4x128xf32> as memref<128xf32>
// CHECK:         step.loop 4 {
// CHECK-NEXT:      step.view %[[Z]] : memref<2x3x4x128xf32> as memref<128xf32, strided<[1], offset: 1024>>
step.program @three on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>, #step.input<"w", parameter, tensor<2x3x64xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<2x3x4x128xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %w: memref<2x3x64xf32>, %y: memref<1024x1024xf32>, %z: memref<2x3x4x128xf32>):
  %corner = step.view %y : memref<1024x1024xf32> as memref<128xf32>
  step.loop 2 {
    step.loop 3 {
      %a = step.alloc : memref<128xf32>
      %outer = step.view %w by 192 of loop 1 : memref<2x3x64xf32> as memref<64xf32>
      %v = step.collective_start all_gather <{"x"}> %outer to %a : memref<64xf32> to memref<128xf32>
      step.collective_done %v
      step.loop 4 {
        %row = step.view %z by 512 of loop 1 : memref<2x3x4x128xf32> as memref<128xf32>
        %same = step.view %z by 1536 of loop 2 : memref<2x3x4x128xf32> as memref<128xf32>
        step.copy %a to %row : memref<128xf32> to memref<128xf32>
        step.copy %a to %same : memref<128xf32> to memref<128xf32>
      }
      step.copy %a to %corner : memref<128xf32> to memref<128xf32>
      step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
    }
  }
}

// -----

// Four iterations are one pair, without a loop, and two more; both weights of the next iteration
// travel behind the products of this one.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @four
// CHECK-NOT:   step.loop
// CHECK-COUNT-8: step.collective_start
// CHECK-NOT:   step.collective_start
step.program @four on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>, #step.input<"w", parameter, tensor<4x64xf32>>, #step.input<"u", parameter, tensor<4x64xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<4x256xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %w: memref<4x64xf32>, %u: memref<4x64xf32>, %y: memref<1024x1024xf32>, %z: memref<4x256xf32>):
  %corner = step.view %y : memref<1024x1024xf32> as memref<128xf32>
  step.loop 4 {
    %a = step.alloc : memref<128xf32>
    %b = step.alloc : memref<128xf32>
    %v = step.view %w by 64 of loop 0 : memref<4x64xf32> as memref<64xf32>
    %t = step.collective_start all_gather <{"x"}> %v to %a : memref<64xf32> to memref<128xf32>
    step.collective_done %t
    %front = step.view %z by 256 of loop 0 : memref<4x256xf32> as memref<128xf32>
    step.copy %a to %front : memref<128xf32> to memref<128xf32>
    %r = step.view %u by -64 of loop 0 : memref<4x64xf32> as memref<64xf32, strided<[1], offset: 192>>
    %s = step.collective_start all_gather <{"x"}> %r to %b : memref<64xf32, strided<[1], offset: 192>> to memref<128xf32>
    step.collective_done %s
    %back = step.view %z by 256 of loop 0 : memref<4x256xf32> as memref<128xf32, strided<[1], offset: 128>>
    step.copy %b to %back : memref<128xf32> to memref<128xf32, strided<[1], offset: 128>>
    step.copy %a to %corner : memref<128xf32> to memref<128xf32>
    step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  }
}

// -----

// Weights that an iteration writes, results that another collective sends on, and what
// stands in a `while` stay where they are.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @stay
// CHECK:       step.loop 4 {
// CHECK:         step.collective_start
// CHECK:         step.collective_start
// CHECK:         step.collective_start
// CHECK-NOT:     step.collective_start
// CHECK:       step.while
step.program @stay on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>, #step.input<"w", parameter, tensor<4x64xf32>>, #step.input<"u", parameter, tensor<4x64xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<128xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %w: memref<4x64xf32>, %u: memref<4x64xf32>, %y: memref<1024x1024xf32>, %z: memref<128xf32>):
  %p = step.alloc : memref<i1>
  step.loop 4 {
    %a = step.alloc : memref<128xf32>
    %v = step.view %w by 64 of loop 0 : memref<4x64xf32> as memref<64xf32>
    %s = step.collective_start all_gather <{"x"}> %v to %a : memref<64xf32> to memref<128xf32>
    step.collective_done %s
    step.copy %a to %z : memref<128xf32> to memref<128xf32>
    step.fill %v with 0.0 : f32 in memref<64xf32>
    %b = step.alloc : memref<2x128xf32>
    %first = step.view %b : memref<2x128xf32> as memref<128xf32>
    %second = step.view %b : memref<2x128xf32> as memref<128xf32, strided<[1], offset: 128>>
    %r = step.view %u by 64 of loop 0 : memref<4x64xf32> as memref<64xf32>
    %t = step.collective_start all_gather <{"x"}> %r to %first : memref<64xf32> to memref<128xf32>
    step.collective_done %t
    %q = step.collective_start all_reduce sum <{"x"}> %first to %second : memref<128xf32> to memref<128xf32, strided<[1], offset: 128>>
    step.collective_done %q
    step.copy %first to %z : memref<128xf32> to memref<128xf32>
    step.copy %second to %z : memref<128xf32, strided<[1], offset: 128>> to memref<128xf32>
    step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  }
  step.while %p cond {
    step.fill %p with false in memref<i1>
  } do {
    %a = step.alloc : memref<128xf32>
    %v = step.view %u : memref<4x64xf32> as memref<64xf32>
    %s = step.collective_start all_gather <{"x"}> %v to %a : memref<64xf32> to memref<128xf32>
    step.collective_done %s
    step.copy %a to %z : memref<128xf32> to memref<128xf32>
  } : memref<i1>
}

// -----

// What only a result wants travels an iteration behind: the second buffer is what is sent.
// The steps that use what is received go with it.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @behind
// CHECK:       %[[A:.*]] = step.alloc : memref<128xf32>
// CHECK:       %[[B:.*]] = step.alloc : memref<128xf32>
// CHECK:       step.rows [128] {{.*}} writes(%[[A]] : memref<128xf32>)
// CHECK:       step.loop 2 {
// CHECK:         %[[C0:.*]] = step.alloc : memref<64xf32>
// CHECK:         %[[T0:.*]] = step.collective_start reduce_scatter sum <{"x"}> %[[A]] to %[[C0]]
// CHECK:         step.copy
// CHECK:         step.rows [128] {{.*}} writes(%[[B]] : memref<128xf32>)
// CHECK:         step.view %{{.*}} by 128 of loop 0 : memref<6x64xf32> as memref<64xf32>
// CHECK:         step.collective_done %[[T0]]
// CHECK:         step.copy %[[C0]]
// CHECK:         %[[T1:.*]] = step.collective_start reduce_scatter sum <{"x"}> %[[B]] to
// CHECK:         step.rows [128] {{.*}} writes(%[[A]] : memref<128xf32>)
// CHECK:         step.collective_done %[[T1]]
// CHECK:       }
// CHECK:       step.collective_start reduce_scatter sum <{"x"}> %[[A]] to
// CHECK:       step.rows [128] {{.*}} writes(%[[B]] : memref<128xf32>)
// CHECK:       step.collective_start reduce_scatter sum <{"x"}> %[[B]] to
// CHECK-NOT:   step.rows
step.program @behind on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<6x64xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<6x64xf32>):
  step.loop 6 {
    step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
    %made = step.view %y : memref<1024x1024xf32> as memref<128xf32>
    %a = step.alloc : memref<128xf32>
    step.rows [128] reads(%made : memref<128xf32>) writes(%a : memref<128xf32>) {
    ^bb0(%in: memref<128xf32>, %out: memref<128xf32>):
      %0 = step.counter 0
      %1 = arith.sitofp %0 : i64 to f32
      %2 = step.load %in : memref<128xf32>
      %3 = arith.mulf %1, %2 : f32
      step.store %3 to %out : f32, memref<128xf32>
    }
    %c = step.alloc : memref<64xf32>
    %t = step.collective_start reduce_scatter sum <{"x"}> %a to %c : memref<128xf32> to memref<64xf32>
    step.collective_done %t
    %row = step.view %z by 64 of loop 0 : memref<6x64xf32> as memref<64xf32>
    step.copy %c to %row : memref<64xf32> to memref<64xf32>
  }
}

// -----

// A gather of all layers in front of two loops is made layer by layer in the first, straight
// to where the copy would have put it. Those of the second loop find all.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @stacked
// CHECK:       %[[S:.*]] = step.alloc : memref<5x51200xf32>
// CHECK:       %[[W0:.*]] = step.view %[[W:.*]] : memref<5x25600xf32> as memref<25600xf32>
// CHECK:       %[[S0:.*]] = step.view %[[S]] : memref<5x51200xf32> as memref<51200xf32>
// CHECK:       step.collective_start all_gather <{"x"}> %[[W0]] to %[[S0]]
// CHECK:       step.loop 2 {
// CHECK:         %[[W1:.*]] = step.view %[[W]] by 51200 of loop 0 : memref<5x25600xf32> as memref<25600xf32, strided<[1], offset: 25600>>
// CHECK:         %[[S1:.*]] = step.view %[[S]] by 102400 of loop 0 : memref<5x51200xf32> as memref<51200xf32, strided<[1], offset: 51200>>
// CHECK:         %[[T:.*]] = step.collective_start all_gather <{"x"}> %[[W1]] to %[[S1]]
// CHECK:         step.copy
// CHECK:         step.copy
// CHECK:         step.collective_done %[[T]]
// CHECK:         step.collective_start all_gather
// CHECK-NOT:     step.collective_start
// CHECK:       }
// CHECK-NOT:   step.collective_start
// CHECK:       step.loop 5 {
// CHECK-NOT:     step.collective_start
step.program @stacked on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>, #step.input<"w", parameter, tensor<5x25600xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<51200xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %w: memref<5x25600xf32>, %y: memref<1024x1024xf32>, %z: memref<51200xf32>):
  %a = step.alloc : memref<2x5x25600xf32>
  %t = step.collective_start all_gather <{"x"}> %w to %a : memref<5x25600xf32> to memref<2x5x25600xf32>
  step.collective_done %t
  %s = step.alloc : memref<5x51200xf32>
  %beside = step.view %s : memref<5x51200xf32> as memref<2x5x25600xf32, strided<[25600, 51200, 1]>>
  step.copy %a to %beside : memref<2x5x25600xf32> to memref<2x5x25600xf32, strided<[25600, 51200, 1]>>
  step.loop 5 {
    %layer = step.view %s by 51200 of loop 0 : memref<5x51200xf32> as memref<51200xf32>
    step.copy %layer to %z : memref<51200xf32> to memref<51200xf32>
    step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  }
  step.loop 5 {
    %layer = step.view %s by -51200 of loop 0 : memref<5x51200xf32> as memref<51200xf32, strided<[1], offset: 204800>>
    step.copy %layer to %z : memref<51200xf32, strided<[1], offset: 204800>> to memref<51200xf32>
    step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  }
}

// -----

// It stays in front of a loop that reads another layer than its iteration's, or that is not
// the first to read.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @in_front
// CHECK-COUNT-2: step.collective_start all_gather <{"x"}> %{{.*}} : memref<5x25600xf32> to memref<2x5x25600xf32>
// CHECK:         step.loop 5 {
// CHECK-NOT:       step.collective_start
step.program @in_front on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>, #step.input<"w", parameter, tensor<5x25600xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<51200xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %w: memref<5x25600xf32>, %y: memref<1024x1024xf32>, %z: memref<51200xf32>):
  %a = step.alloc : memref<2x5x25600xf32>
  %t = step.collective_start all_gather <{"x"}> %w to %a : memref<5x25600xf32> to memref<2x5x25600xf32>
  step.collective_done %t
  %s = step.alloc : memref<5x51200xf32>
  %beside = step.view %s : memref<5x51200xf32> as memref<2x5x25600xf32, strided<[25600, 51200, 1]>>
  step.copy %a to %beside : memref<2x5x25600xf32> to memref<2x5x25600xf32, strided<[25600, 51200, 1]>>
  %b = step.alloc : memref<2x5x25600xf32>
  %u = step.collective_start all_gather <{"x"}> %w to %b : memref<5x25600xf32> to memref<2x5x25600xf32>
  step.collective_done %u
  %r = step.alloc : memref<5x51200xf32>
  %next = step.view %r : memref<5x51200xf32> as memref<2x5x25600xf32, strided<[25600, 51200, 1]>>
  step.copy %b to %next : memref<2x5x25600xf32> to memref<2x5x25600xf32, strided<[25600, 51200, 1]>>
  %last = step.view %s : memref<5x51200xf32> as memref<51200xf32, strided<[1], offset: 204800>>
  step.copy %last to %z : memref<51200xf32, strided<[1], offset: 204800>> to memref<51200xf32>
  step.loop 5 {
    %layer = step.view %s by 51200 of loop 0 : memref<5x51200xf32> as memref<51200xf32>
    step.copy %layer to %z : memref<51200xf32> to memref<51200xf32>
    %first = step.view %r : memref<5x51200xf32> as memref<51200xf32>
    step.copy %first to %z : memref<51200xf32> to memref<51200xf32>
    step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  }
}

// -----

// A loop around it takes another stack in each iteration, so the gather stays whole.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @of_each_group
// CHECK:       step.collective_start all_gather <{"x"}> %{{.*}} : memref<5x25600xf32> to memref<2x5x25600xf32>
// CHECK:       step.loop 5 {
// CHECK-NOT:     step.collective_start
step.program @of_each_group on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>, #step.input<"w", parameter, tensor<2x5x25600xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<51200xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %w: memref<2x5x25600xf32>, %y: memref<1024x1024xf32>, %z: memref<51200xf32>):
  step.loop 2 {
    %a = step.alloc : memref<2x5x25600xf32>
    %group = step.view %w by 128000 of loop 0 : memref<2x5x25600xf32> as memref<5x25600xf32>
    %t = step.collective_start all_gather <{"x"}> %group to %a : memref<5x25600xf32> to memref<2x5x25600xf32>
    step.collective_done %t
    %s = step.alloc : memref<5x51200xf32>
    %beside = step.view %s : memref<5x51200xf32> as memref<2x5x25600xf32, strided<[25600, 51200, 1]>>
    step.copy %a to %beside : memref<2x5x25600xf32> to memref<2x5x25600xf32, strided<[25600, 51200, 1]>>
    step.loop 5 {
      %layer = step.view %s by 51200 of loop 0 : memref<5x51200xf32> as memref<51200xf32>
      step.copy %layer to %z : memref<51200xf32> to memref<51200xf32>
      step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
    }
  }
}

// -----

// A sum of all layers stays behind the loop if a step between them reads what it would change, or
// if an iteration writes another layer than its own.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @behind_the_loop
// CHECK-COUNT-2: step.loop 5 {
// CHECK:       step.collective_start all_reduce sum <{"x"}> %{{.*}} : memref<5x51200xf32> to memref<5x51200xf32>
// CHECK:       step.collective_start all_reduce sum <{"x"}> %{{.*}} : memref<5x51200xf32> to memref<5x51200xf32>
step.program @behind_the_loop on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<51200xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<51200xf32>):
  %part = step.view %x : memref<1024x1024xf32> as memref<51200xf32>
  %s = step.alloc : memref<5x51200xf32>
  %u = step.alloc : memref<5x51200xf32>
  step.fill %u with 0.0 : f32 in memref<5x51200xf32>
  step.loop 5 {
    %layer = step.view %s by 51200 of loop 0 : memref<5x51200xf32> as memref<51200xf32>
    step.copy %part to %layer : memref<51200xf32> to memref<51200xf32>
    step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  }
  step.loop 5 {
    %first = step.view %u : memref<5x51200xf32> as memref<51200xf32>
    step.copy %part to %first : memref<51200xf32> to memref<51200xf32>
    step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  }
  %own = step.view %s : memref<5x51200xf32> as memref<51200xf32>
  step.copy %own to %z : memref<51200xf32> to memref<51200xf32>
  %t = step.collective_start all_reduce sum <{"x"}> %s to %s : memref<5x51200xf32> to memref<5x51200xf32>
  step.collective_done %t
  %r = step.collective_start all_reduce sum <{"x"}> %u to %u : memref<5x51200xf32> to memref<5x51200xf32>
  step.collective_done %r
  %from = step.view %u : memref<5x51200xf32> as memref<51200xf32>
  step.copy %from to %z : memref<51200xf32> to memref<51200xf32>
  step.copy %own to %z : memref<51200xf32> to memref<51200xf32>
}
