// DEFINE: %{schedule} = tp-opt --tp-schedule="machine=%S/Inputs/slow-link.json"
// RUN: sed -e s/TARGET/cpu/ -e 's/FAST/us=1.0, gbps=100.0/' %s | %{schedule} | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: sed -e s/TARGET/cuda/ -e 's/FAST/us=1.0, gbps=100.0/' %s | %{schedule} | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: sed -e s/TARGET/cpu/ -e 's/FAST/us=10.0, gbps=1.0/' %s | %{schedule} | FileCheck %s --check-prefixes=CHECK,EQUAL

// Axes of different speeds have links of their own: on a CPU, the slow sum of a gradient does
// not hold up the sum that the next step needs. On a GPU, one collective is in flight. Axes of
// equal speed share a link.
module attributes {tp.plan = #tp.plan<target = "TARGET">} {
spmd.mesh @mesh <["data"=2, "model"=2]> {links = [#spmd.link<us=10.0, gbps=1.0>, #spmd.link<FAST>]}

// CHECK-LABEL: step.program @gradient
// As written: 272 us on the slow link, 4 on the fast one, and 176 of steps. On links of their
// own, only the slow sum is exposed, while nothing is left to compute. On one link, the fast
// sum goes first, although the slow one could have started before it.
// TWO-SAME:   overlap <written = 451402, scheduled = 274765, bound = 274765, exposed = 99129>
// ONE-SAME:   overlap <written = 451402, scheduled = 362273, bound = 278387, exposed = 186636>
// Two sums on one slow link: it carries them for 544 us. With two, the steps would take 448.
// EQUAL-SAME: overlap <written = 719924, scheduled = 630796, bound = 546909, exposed = 455159>
step.program @gradient on @mesh inputs [#step.input<"x", input, tensor<1024x1024xf32>>]
    outputs [#step.output<"y", tensor<1024x1024xf32>>, #step.output<"z", tensor<1024x1024xf32>>,
             #step.output<"s", tensor<65536xf32>>] {
^bb0(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<1024x1024xf32>,
     %s: memref<65536xf32>):
  %g = step.alloc : memref<65536xf32>
  %t = step.alloc : memref<65536xf32>
  step.fill %g with 1.0 : f32 in memref<65536xf32>
  // TWO:      %[[SLOW:.*]] = step.collective_start all_reduce sum <{"data"}>
  %slow = step.collective_start all_reduce sum <{"data"}> %g to %s : memref<65536xf32> to memref<65536xf32>
  step.collective_done %slow
  // CHECK:    step.copy
  step.copy %x to %y : memref<1024x1024xf32> to memref<1024x1024xf32>
  // CHECK:    %[[FAST:.*]] = step.collective_start all_reduce sum <{"model"}>
  // CHECK-NEXT: step.collective_done %[[FAST]]
  // ONE:      %[[SLOW:.*]] = step.collective_start all_reduce sum <{"data"}>
  // EQUAL:    %[[SLOW:.*]] = step.collective_start all_reduce sum <{"data"}>
  %v = step.view %y : memref<1024x1024xf32> as memref<65536xf32>
  %fast = step.collective_start all_reduce sum <{"model"}> %v to %t : memref<65536xf32> to memref<65536xf32>
  step.collective_done %fast
  // CHECK:    step.copy
  step.copy %t to %v : memref<65536xf32> to memref<65536xf32>
  step.copy %y to %z : memref<1024x1024xf32> to memref<1024x1024xf32>
  // CHECK:    step.collective_done %[[SLOW]]
}
}
