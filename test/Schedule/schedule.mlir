// RUN: tp-opt %s --tp-schedule="machine=%S/Inputs/slow-link.json" --split-input-file | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-schedule | FileCheck %s --check-prefix=WRITTEN
// RUN: tp-opt %s --tp-schedule="machine=%S/Inputs/slow-link.json in-flight=6MB" --split-input-file \
// RUN:     | FileCheck %s --check-prefix=TIGHT

// Nothing moves in a program that no machine is known for.
// WRITTEN-NOT: overlap

// A start rises, but no further than the time that its link needs, and the done
// sinks to before the step that reads the destination. A view of the source goes
// with it.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @between
// CHECK-SAME:  overlap <written = {{[0-9]+}}, scheduled = {{[0-9]+}}, bound = {{[0-9]+}}, exposed = 0>
step.program @between on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<1024x1024xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<1024x1024xf32>):
  // CHECK: %[[A:.*]] = step.alloc
  %a = step.alloc : memref<8x8xf32>
  // CHECK: step.copy %[[X:.*]] to %[[Y:.*]] :
  // What packs the source goes with it.
  // CHECK: step.fill %[[A]]
  step.fill %a with 1.0 : f32 in memref<8x8xf32>
  step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  // CHECK: %[[V:.*]] = step.view %[[A]]
  // CHECK: %[[B:.*]] = step.alloc
  // CHECK: %[[T:.*]] = step.collective_start all_reduce sum <{"x"}> %[[V]] to %[[B]]
  // CHECK-NEXT: step.copy %[[X]] to %[[Z:.*]] :
  step.copy %x to %z : memref<1024x1024xf32> to memref<1024x1024xf32>
  %b = step.alloc : memref<64xf32>
  %v = step.view %a : memref<8x8xf32> as memref<64xf32>
  %t = step.collective_start all_reduce sum <{"x"}> %v to %b : memref<64xf32> to memref<64xf32>
  step.collective_done %t
  // CHECK: step.view %[[Z]]
  %w = step.view %z : memref<1024x1024xf32> as memref<64xf32>
  // CHECK-NEXT: step.collective_done %[[T]]
  // CHECK-NEXT: step.copy %[[B]]
  step.copy %b to %w : memref<64xf32> to memref<64xf32>
}

// -----

// The collectives of a launch move as one, with what packs the source of each.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @launch
step.program @launch on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>):
  %a = step.alloc : memref<64xf32>
  %b = step.alloc : memref<64xi32>
  %c = step.alloc : memref<128xi32>
  // CHECK: step.fill
  // CHECK-NEXT: step.fill
  // CHECK-NEXT: %[[T:.*]] = step.collective_start all_reduce
  // CHECK-NEXT: %[[U:.*]] = step.collective_start all_gather {{.*}} joined
  // CHECK-NEXT: step.copy
  step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  step.fill %a with 1.0 : f32 in memref<64xf32>
  step.fill %b with 1 : i32 in memref<64xi32>
  %t = step.collective_start all_reduce sum <{"x"}> %a to %a : memref<64xf32> to memref<64xf32>
  %u = step.collective_start all_gather <{"x"}> %b to %c joined : memref<64xi32> to memref<128xi32>
  step.collective_done %t
  step.collective_done %u
  // CHECK-NEXT: step.view
  %w = step.view %y : memref<1024x1024xf32> as memref<64xf32>
  // CHECK-NEXT: step.collective_done %[[T]]
  // CHECK-NEXT: step.collective_done %[[U]]
  // CHECK-NEXT: step.copy
  step.copy %a to %w : memref<64xf32> to memref<64xf32>
}

// -----

// A collective that sends what another receives waits for it; one whose
// destination somebody reads before stays behind the read.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @chain
step.program @chain on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<128xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<128xf32>):
  %a = step.alloc : memref<64xf32>
  %b = step.alloc : memref<32xf32>
  %c = step.alloc : memref<64xf32>
  step.fill %a with 1.0 : f32 in memref<64xf32>
  // CHECK: %[[S:.*]] = step.collective_start reduce_scatter
  // CHECK: step.copy
  %s = step.collective_start reduce_scatter sum <{"x"}> %a to %b : memref<64xf32> to memref<32xf32>
  step.collective_done %s
  step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  // CHECK: step.collective_done %[[S]]
  // CHECK-NEXT: %[[G:.*]] = step.collective_start all_gather
  %g = step.collective_start all_gather <{"x"}> %b to %c : memref<32xf32> to memref<64xf32>
  step.collective_done %g
  // CHECK: step.copy
  step.copy %y to %x : memref<1024x1024xf32> to memref<1024x1024xf32>
  // CHECK: step.collective_done %[[G]]
  // CHECK: %[[L:.*]] = step.collective_start all_gather
  // CHECK-NEXT: step.copy
  %front = step.view %z : memref<128xf32> as memref<64xf32>
  step.copy %c to %front : memref<64xf32> to memref<64xf32>
  // A write of the source ends it.
  // CHECK: step.collective_done %[[L]]
  // CHECK-NEXT: step.fill
  %back = step.view %z : memref<128xf32> as memref<64xf32, strided<[1], offset: 64>>
  %d = step.alloc : memref<128xf32>
  %l = step.collective_start all_gather <{"x"}> %c to %d : memref<64xf32> to memref<128xf32>
  step.collective_done %l
  step.fill %c with 0.0 : f32 in memref<64xf32>
  %half = step.view %d : memref<128xf32> as memref<64xf32>
  step.copy %half to %back : memref<64xf32> to memref<64xf32, strided<[1], offset: 64>>
}

// -----

// Inside a loop each turn is scheduled by itself, and nothing leaves it.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @loop
step.program @loop on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>, #step.input<"w", parameter, tensor<32xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %w: memref<32xf32>, %y: memref<1024x1024xf32>):
  %a = step.alloc : memref<64xf32>
  // CHECK: step.loop 3 {
  // CHECK:   %[[T:.*]] = step.collective_start
  // CHECK:   step.copy
  // CHECK:   step.collective_done %[[T]]
  // CHECK:   step.copy
  // CHECK: }
  step.loop 3 {
    step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
    %t = step.collective_start all_gather <{"x"}> %w to %a : memref<32xf32> to memref<64xf32>
    step.collective_done %t
    %v = step.view %y : memref<1024x1024xf32> as memref<64xf32>
    step.copy %a to %v : memref<64xf32> to memref<64xf32>
  }
}

// -----

// One value that two collectives send: neither waits for the other, and what
// computes it goes with none of them.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @twice
step.program @twice on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<128xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<128xf32>):
  %a = step.alloc : memref<64xf32>
  %b = step.alloc : memref<64xf32>
  %c = step.alloc : memref<64xf32>
  // CHECK: step.fill
  step.fill %a with 1.0 : f32 in memref<64xf32>
  // CHECK: %[[B:.*]] = step.collective_start collective_permute
  // CHECK: %[[C:.*]] = step.collective_start all_reduce
  // CHECK: step.copy
  // CHECK: step.collective_done %[[B]]
  // CHECK: step.copy
  // CHECK: step.collective_done %[[C]]
  %s = step.collective_start collective_permute <{"x"}> %a to %b from [1, 0] : memref<64xf32> to memref<64xf32>
  step.collective_done %s
  %t = step.collective_start all_reduce sum <{"x"}> %a to %c : memref<64xf32> to memref<64xf32>
  step.collective_done %t
  step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  %front = step.view %z : memref<128xf32> as memref<64xf32>
  step.copy %b to %front : memref<64xf32> to memref<64xf32>
  %back = step.view %z : memref<128xf32> as memref<64xf32, strided<[1], offset: 64>>
  step.copy %c to %back : memref<64xf32> to memref<64xf32, strided<[1], offset: 64>>
}

// -----

// Blocks at places that differ on each device: one may be computed while the
// other arrives; with the same block it may not.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @places
step.program @places on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<64xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<64xf32>):
  %a = step.alloc : memref<32xf32>
  %b = step.alloc : memref<64xf32>
  step.fill %a with 1.0 : f32 in memref<32xf32>
  // CHECK: %[[T:.*]] = step.collective_start collective_permute
  // CHECK: step.fill
  // CHECK: step.copy
  // CHECK: step.collective_done %[[T]]
  // CHECK-NEXT: step.fill
  %own = step.view %b by 32 of place <{"x"}> : memref<64xf32> as memref<32xf32>
  %other = step.view %b by 32 of place <{"x"}> plus 1 : memref<64xf32> as memref<32xf32>
  %t = step.collective_start collective_permute <{"x"}> %a to %other from [1, 0] : memref<32xf32> to memref<32xf32>
  step.collective_done %t
  step.fill %own with 2.0 : f32 in memref<32xf32>
  step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  step.fill %other with 3.0 : f32 in memref<32xf32>
  step.copy %b to %z : memref<64xf32> to memref<64xf32>
}

// -----

// As in the backward pass of a tensor-parallel layer: the steps that a sum needs run first, and
// the sum travels while the device computes what nobody waits for.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @order
// CHECK-SAME:  exposed = 0>
// CHECK:       step.copy %[[X:.*]] to %[[H:.*]] :
// CHECK:       step.view %[[H]]
// CHECK:       step.copy %{{.*}} to %[[G:.*]] : memref<64xf32>
// CHECK:       %[[T:.*]] = step.collective_start all_reduce sum <{"x"}> %[[G]]
// CHECK:       step.copy %[[X]] to
// CHECK:       step.collective_done %[[T]]
// CHECK-NEXT:  step.copy
// CHECK-NOT:   step.copy
step.program @order on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<64xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<64xf32>):
  step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  %h = step.alloc : memref<1024x1024xf32>
  step.copy %x to %h : memref<1024x1024xf32> to memref<1024x1024xf32>
  %v = step.view %h : memref<1024x1024xf32> as memref<64xf32>
  %g = step.alloc : memref<64xf32>
  step.copy %v to %g : memref<64xf32> to memref<64xf32>
  %t = step.collective_start all_reduce sum <{"x"}> %g to %g : memref<64xf32> to memref<64xf32>
  step.collective_done %t
  step.copy %g to %z : memref<64xf32> to memref<64xf32>
}

// -----

// Another order may take more memory than the program as written, up to half of the memory for
// transfers in flight: here, %a is in use beside %h, each of 4 MiB.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @memory
// CHECK:       step.copy %[[X:.*]] to %[[A:.*]] :
// CHECK:       step.copy %[[X]] to
// CHECK:       step.collective_start all_reduce
// CHECK-NEXT:  step.copy %[[A]] to
// CHECK-NEXT:  step.collective_done
// TIGHT-LABEL: step.program @memory
// TIGHT:       step.copy %[[X:.*]] to %[[A:.*]] :
// TIGHT:       step.copy %[[A]] to
// TIGHT:       step.copy %[[X]] to
// TIGHT:       step.collective_start all_reduce
// TIGHT-NEXT:  step.collective_done
step.program @memory on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<64xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<64xf32>):
  %a = step.alloc : memref<1024x1024xf32>
  step.copy %x to %a : memref<1024x1024xf32> to memref<1024x1024xf32>
  step.copy %a to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  %h = step.alloc : memref<1024x1024xf32>
  step.copy %x to %h : memref<1024x1024xf32> to memref<1024x1024xf32>
  %v = step.view %h : memref<1024x1024xf32> as memref<64xf32>
  %g = step.alloc : memref<64xf32>
  step.copy %v to %g : memref<64xf32> to memref<64xf32>
  %t = step.collective_start all_reduce sum <{"x"}> %g to %g : memref<64xf32> to memref<64xf32>
  step.collective_done %t
  step.copy %g to %z : memref<64xf32> to memref<64xf32>
}

// -----

// While the link carries the first sum, the second one is postponed: what it
// sends is prepared later, and the third one, whose result is needed first,
// overtakes it.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @overtakes
// CHECK: step.collective_start all_reduce sum <{"x"}>
// CHECK: step.copy {{.*}} : memref<1024x1024xf32> to memref<1024x1024xf32>
// CHECK: step.collective_start all_reduce sum <{"x"}>
// CHECK: step.copy {{.*}} : memref<65536xf32> to memref<65536xf32>
// CHECK-NEXT: step.collective_start all_reduce sum <{"x"}>
step.program @overtakes on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<1024x1024xf32>>,
             #step.output<"s", tensor<65536xf32>>, #step.output<"t", tensor<65536xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<1024x1024xf32>,
     %s: memref<65536xf32>, %t: memref<65536xf32>):
  %a = step.alloc : memref<65536xf32>
  %p = step.alloc : memref<65536xf32>
  %q = step.alloc : memref<65536xf32>
  step.fill %a with 1.0 : f32 in memref<65536xf32>
  %0 = step.collective_start all_reduce sum <{"x"}> %a to %s : memref<65536xf32> to memref<65536xf32>
  step.collective_done %0
  step.copy %a to %p : memref<65536xf32> to memref<65536xf32>
  %1 = step.collective_start all_reduce sum <{"x"}> %p to %t : memref<65536xf32> to memref<65536xf32>
  step.collective_done %1
  step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  %v = step.view %y : memref<1024x1024xf32> as memref<65536xf32>
  %2 = step.collective_start all_reduce sum <{"x"}> %v to %q : memref<65536xf32> to memref<65536xf32>
  step.collective_done %2
  step.copy %q to %v : memref<65536xf32> to memref<65536xf32>
  step.copy %y to %z : memref<1024x1024xf32> to memref<1024x1024xf32>
}

// -----

// The same, but a step soon overwrites what the preparation reads. So the second
// sum starts before that step.
spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: step.program @overwritten
// CHECK: step.copy {{.*}} : memref<65536xf32> to memref<65536xf32>
// CHECK-NEXT: step.collective_start all_reduce sum <{"x"}>
// CHECK: step.fill {{.*}} with 2.0
step.program @overwritten on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<1024x1024xf32>>,
             #step.output<"s", tensor<65536xf32>>, #step.output<"t", tensor<65536xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<1024x1024xf32>,
     %s: memref<65536xf32>, %t: memref<65536xf32>):
  %a = step.alloc : memref<65536xf32>
  %b = step.alloc : memref<65536xf32>
  %p = step.alloc : memref<65536xf32>
  %q = step.alloc : memref<65536xf32>
  step.fill %a with 1.0 : f32 in memref<65536xf32>
  step.fill %b with 3.0 : f32 in memref<65536xf32>
  %0 = step.collective_start all_reduce sum <{"x"}> %a to %s : memref<65536xf32> to memref<65536xf32>
  step.collective_done %0
  step.copy %b to %p : memref<65536xf32> to memref<65536xf32>
  %1 = step.collective_start all_reduce sum <{"x"}> %p to %t : memref<65536xf32> to memref<65536xf32>
  step.collective_done %1
  step.fill %b with 2.0 : f32 in memref<65536xf32>
  step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  %v = step.view %y : memref<1024x1024xf32> as memref<65536xf32>
  %2 = step.collective_start all_reduce sum <{"x"}> %v to %q : memref<65536xf32> to memref<65536xf32>
  step.collective_done %2
  step.copy %q to %v : memref<65536xf32> to memref<65536xf32>
  step.copy %y to %z : memref<1024x1024xf32> to memref<1024x1024xf32>
  step.copy %b to %v : memref<65536xf32> to memref<65536xf32>
}
