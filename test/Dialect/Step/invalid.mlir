// One case for each line of Constraints that a user of the dialect can break.

// RUN: tp-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{arguments of the body must be the buffers}}
step.program @arguments inputs [#step.input<"x", activation, tensor<4xf32>>] outputs [] {
^bb0(%x: memref<5xf32>):
}

// -----

// expected-error @below {{output "y" is no alias of an input of its type}}
step.program @alias inputs [#step.input<"x", activation, tensor<4xf32>>] outputs [#step.output<"y", tensor<5xf32>, alias = 0>] {
^bb0(%x: memref<4xf32>):
}

// -----

// expected-error @below {{has two inputs "x"}}
step.program @names inputs [#step.input<"x", activation, tensor<4xf32>>, #step.input<"x", activation, tensor<4xf32>>] outputs [] {
^bb0(%x: memref<4xf32>, %y: memref<4xf32>):
}

// -----

step.program @place inputs [] outputs [] {
^bb0:
  // expected-error @below {{lies at a multiple of 64}}
  %0 = step.alloc at 4 : memref<4xf32>
}

// -----

step.program @view inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  // expected-error @below {{does not lie inside}}
  %1 = step.view %0 : memref<4xf32> as memref<4xf32, strided<[2]>>
}

// -----

step.program @copy inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  %1 = step.alloc : memref<5xf32>
  // expected-error @below {{needs one shape}}
  step.copy %0 to %1 : memref<4xf32> to memref<5xf32>
}

// -----

step.program @fill inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  // expected-error @below {{needs a value of the destination's element type}}
  step.fill %0 with 1 : i32 in memref<4xf32>
}

// -----

step.program @matmul inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<1x1x1x4x4xf32>
  %1 = step.alloc : memref<1x1x1x5x4xf32>
  // expected-error @below {{is of m x k, k x n and m x n matrices}}
  step.matmul %0, %1 into %0 : memref<1x1x1x4x4xf32>, memref<1x1x1x5x4xf32> into memref<1x1x1x4x4xf32>
}

// -----

step.program @nomesh inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  // expected-error @below {{stands in a program without a mesh}}
  %1 = step.collective_start all_reduce sum <{"x"}> %0 to %0 : memref<4xf32> to memref<4xf32>
  step.collective_done %1
}

// -----

spmd.mesh @mesh <["x"=2]>
step.program @gather on @mesh inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  %1 = step.alloc : memref<4xf32>
  // expected-error @below {{in a group of 2}}
  %2 = step.collective_start all_gather <{"x"}> %0 to %1 : memref<4xf32> to memref<4xf32>
  step.collective_done %2
}

// -----

spmd.mesh @mesh <["x"=2]>
step.program @reduction on @mesh inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  // expected-error @below {{has a reduction, sum, max or min, if it reduces}}
  %1 = step.collective_start all_reduce <{"x"}> %0 to %0 : memref<4xf32> to memref<4xf32>
  step.collective_done %1
}

// -----

step.program @body inputs [] outputs [] {
^bb0:
  step.rows [4] {
  ^bb0:
    // expected-error @below {{is no op for one element}}
    %0 = step.alloc : memref<4xf32>
  }
}

// -----

step.program @point inputs [#step.input<"x", activation, tensor<4xf32>>] outputs [] {
^bb0(%x: memref<4xf32>):
  step.rows [5] reads(%x : memref<4xf32>) {
  ^bb0(%a: memref<4xf32>):
    // expected-error @below {{at a point of the domain [5]}}
    %0 = step.load %a : memref<4xf32>
  }
}

// -----

step.program @written inputs [#step.input<"x", activation, tensor<4xf32>>] outputs [] {
^bb0(%x: memref<4xf32>):
  step.rows [4] reads(%x : memref<4xf32>) {
  ^bb0(%a: memref<4xf32>):
    %0 = step.load %a : memref<4xf32>
    // expected-error @below {{accesses an operand of the row program that it writes}}
    step.store %0 to %a : f32, memref<4xf32>
  }
}

// -----

step.program @unsigned inputs [#step.input<"x", activation, tensor<4xf32>>] outputs [] {
^bb0(%x: memref<4xf32>):
  step.rows [4] reads(%x : memref<4xf32>) {
  ^bb0(%a: memref<4xf32>):
    %0 = step.load %a : memref<4xf32>
    // expected-error @below {{umax of 'f32'}}
    %1 = step.reduce umax %0 : f32
  }
}
