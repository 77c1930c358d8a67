// A product that sums over the gathered rows of a long gather is computed column by
// column, while the next columns travel.
// RUN: tp-opt %s --tp-schedule="machine=%S/Inputs/slow-link.json" --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-schedule="machine=%S/Inputs/slow-link.json in-flight=1MB" --split-input-file \
// RUN:     | FileCheck %s --check-prefix=TIGHT

!a = memref<1x1x1x512x1024xf32, strided<[0, 0, 0, 1024, 1]>>
!b = memref<1x1x1x1024x1000xf32, strided<[0, 0, 0, 1000, 1]>>
!c = memref<1x1x1x512x1000xf32, strided<[0, 0, 0, 1000, 1]>>
!bias = memref<1x1x1x512x1000xf32, strided<[0, 0, 0, 0, 1]>>
spmd.mesh @mesh <["x"=2]>

// Pieces begin at multiples of an aligned number of columns; the last one has
// fewer. Post-ops read the columns of the piece.
// CHECK-LABEL: step.program @columns
// CHECK: step.copy {{.*}} : memref<512x256xf32, strided<[1000, 1]>> to memref<512x256xf32>
// CHECK: %[[P:.*]] = step.collective_start all_gather <{"x"}> {{.*}} : memref<512x256xf32> to memref<2x512x256xf32>
// CHECK: step.copy {{.*}} : memref<512x256xf32, strided<[1000, 1], offset: 256>> to memref<512x256xf32>
// CHECK: %[[Q:.*]] = step.collective_start all_gather <{"x"}>
// CHECK: step.collective_done %[[P]]
// CHECK: step.matmul {{.*}} then [#step<post add>] with({{.*}} : memref<1x1x1x512x256xf32, strided<[0, 0, 0, 0, 1]>>) : {{.*}}, memref<1x1x1x1024x256xf32, strided<[0, 0, 0, 256, 1]>> into memref<1x1x1x512x256xf32, strided<[0, 0, 0, 1000, 1]>>
// CHECK: step.collective_done %[[Q]]
// CHECK: step.matmul {{.*}} with({{.*}} : memref<1x1x1x512x256xf32, strided<[0, 0, 0, 0, 1], offset: 256>>) : {{.*}} into memref<1x1x1x512x256xf32, strided<[0, 0, 0, 1000, 1], offset: 256>>
// CHECK: step.matmul {{.*}} into memref<1x1x1x512x256xf32, strided<[0, 0, 0, 1000, 1], offset: 512>>
// CHECK: step.matmul {{.*}} into memref<1x1x1x512x232xf32, strided<[0, 0, 0, 1000, 1], offset: 768>>
// CHECK-NOT: step.matmul
// Nothing else reads the gathered matrix.
// CHECK-NOT: memref<1024x256xf32, strided<[1000, 1]
// There is no memory for pieces.
// TIGHT-LABEL: step.program @columns
// TIGHT: step.collective_start all_gather {{.*}} to memref<2x512x1000xf32>
// TIGHT: step.matmul {{.*}} into memref<1x1x1x512x1000xf32, strided<[0, 0, 0, 1000, 1]>>
step.program @columns on @mesh inputs [#step.input<"x", input, tensor<512x1024xf32>>,
    #step.input<"w", input, tensor<512x1000xf32>>, #step.input<"bias", input, tensor<1000xf32>>]
    outputs [#step.output<"y", tensor<512x1000xf32>>] {
^bb0(%x: memref<512x1024xf32>, %w: memref<512x1000xf32>, %bias: memref<1000xf32>, %y: memref<512x1000xf32>):
  %g = step.alloc : memref<2x512x1000xf32>
  %t = step.collective_start all_gather <{"x"}> %w to %g : memref<512x1000xf32> to memref<2x512x1000xf32>
  step.collective_done %t
  %a = step.view %x : memref<512x1024xf32> as !a
  %b = step.view %g : memref<2x512x1000xf32> as !b
  %c = step.view %y : memref<512x1000xf32> as !c
  %added = step.view %bias : memref<1000xf32> as !bias
  step.matmul %a, %b into %c then [#step<post add>] with (%added : !bias) : !a, !b into !c
}

// -----

!a = memref<1x1x1x512x1024xf32, strided<[0, 0, 0, 1024, 1]>>
!b = memref<1x1x1x1024x1024xf32, strided<[0, 0, 0, 1024, 1]>>
spmd.mesh @mesh <["x"=2]>

// A later product needs the whole matrix.
// CHECK-LABEL: step.program @again
// CHECK: step.matmul
// CHECK: step.copy {{.*}} : memref<1024x256xf32> to memref<1024x256xf32, strided<[1024, 1]>>
// CHECK: step.copy {{.*}} : memref<1024x256xf32> to memref<1024x256xf32, strided<[1024, 1], offset: 768>>
// CHECK: step.matmul {{.*}}, memref<1x1x1x1024x1024xf32, strided<[0, 0, 0, 1024, 1]>> into
step.program @again on @mesh inputs [#step.input<"x", input, tensor<512x1024xf32>>,
    #step.input<"w", input, tensor<512x1024xf32>>]
    outputs [#step.output<"y", tensor<512x1024xf32>>, #step.output<"z", tensor<512x1024xf32>>] {
^bb0(%x: memref<512x1024xf32>, %w: memref<512x1024xf32>, %y: memref<512x1024xf32>, %z: memref<512x1024xf32>):
  %g = step.alloc : memref<2x512x1024xf32>
  %t = step.collective_start all_gather <{"x"}> %w to %g : memref<512x1024xf32> to memref<2x512x1024xf32>
  step.collective_done %t
  %a = step.view %x : memref<512x1024xf32> as !a
  %b = step.view %g : memref<2x512x1024xf32> as !b
  %c = step.view %y : memref<512x1024xf32> as !a
  %d = step.view %z : memref<512x1024xf32> as !a
  step.matmul %a, %b into %c : !a, !b into !a
  step.matmul %c, %b into %d : !a, !b into !a
}

// -----

!a = memref<1x1x1x512x1024xf32, strided<[0, 0, 0, 1024, 1]>>
!b = memref<1x1x1x1024x1024xf32, strided<[0, 0, 0, 1, 1024]>>
spmd.mesh @mesh <["x"=2]>

// Each device's rows are columns of the product.
// CHECK-LABEL: step.program @transposed
// CHECK: step.matmul {{.*}}, memref<1x1x1x1024x1024xf32, strided<[0, 0, 0, 1, 1024]>> into
// CHECK-NOT: step.matmul
step.program @transposed on @mesh inputs [#step.input<"x", input, tensor<512x1024xf32>>,
    #step.input<"w", input, tensor<512x1024xf32>>]
    outputs [#step.output<"y", tensor<512x1024xf32>>] {
^bb0(%x: memref<512x1024xf32>, %w: memref<512x1024xf32>, %y: memref<512x1024xf32>):
  %g = step.alloc : memref<2x512x1024xf32>
  %t = step.collective_start all_gather <{"x"}> %w to %g : memref<512x1024xf32> to memref<2x512x1024xf32>
  step.collective_done %t
  %a = step.view %x : memref<512x1024xf32> as !a
  %b = step.view %g : memref<2x512x1024xf32> as !b
  %c = step.view %y : memref<512x1024xf32> as !a
  step.matmul %a, %b into %c : !a, !b into !a
}

// -----

!a = memref<1x1x1x512x1024xf32, strided<[0, 0, 0, 1024, 1]>>
!b = memref<1x1x1x1024x1024xf32, strided<[0, 0, 0, 1024, 1]>>
spmd.mesh @mesh <["x"=2]>

// Another step reads the gathered matrix first.
// CHECK-LABEL: step.program @copied
// CHECK: step.matmul {{.*}}, memref<1x1x1x1024x1024xf32, strided<[0, 0, 0, 1024, 1]>> into
// CHECK-NOT: step.matmul
step.program @copied on @mesh inputs [#step.input<"x", input, tensor<512x1024xf32>>,
    #step.input<"w", input, tensor<512x1024xf32>>]
    outputs [#step.output<"y", tensor<512x1024xf32>>, #step.output<"z", tensor<2x512x1024xf32>>] {
^bb0(%x: memref<512x1024xf32>, %w: memref<512x1024xf32>, %y: memref<512x1024xf32>, %z: memref<2x512x1024xf32>):
  %g = step.alloc : memref<2x512x1024xf32>
  %t = step.collective_start all_gather <{"x"}> %w to %g : memref<512x1024xf32> to memref<2x512x1024xf32>
  step.collective_done %t
  step.copy %g to %z : memref<2x512x1024xf32> to memref<2x512x1024xf32>
  %a = step.view %x : memref<512x1024xf32> as !a
  %b = step.view %g : memref<2x512x1024xf32> as !b
  %c = step.view %y : memref<512x1024xf32> as !a
  step.matmul %a, %b into %c : !a, !b into !a
}
