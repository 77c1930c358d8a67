// One case for each line of Constraints that a user of the dialect can break.

// RUN: tp-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{[TP0305] 'step.program' op expects the arguments of the body to be the buffers of the inputs, then those of the outputs}}
step.program @arguments inputs [#step.input<"x", input, tensor<4xf32>>] outputs [] {
^bb0(%x: memref<5xf32>):
}

// -----

// expected-error @below {{[TP0303] 'step.program' op output "y" must alias an input of the same type}}
step.program @alias inputs [#step.input<"x", input, tensor<4xf32>>] outputs [#step.output<"y", tensor<5xf32>, alias = 0>] {
^bb0(%x: memref<4xf32>):
}

// -----

// expected-error @below {{[TP0304] 'step.program' op has two inputs called "x"}}
step.program @names inputs [#step.input<"x", input, tensor<4xf32>>, #step.input<"x", input, tensor<4xf32>>] outputs [] {
^bb0(%x: memref<4xf32>, %y: memref<4xf32>):
}

// -----

step.program @place inputs [] outputs [] {
^bb0:
  // expected-error @below {{[TP0304] 'step.alloc' op expects `at` to be a multiple of 64}}
  %0 = step.alloc at 4 : memref<4xf32>
}

// -----

step.program @view inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  // expected-error @below {{[TP0303] 'step.view' op expects a view that stays inside its source}}
  %1 = step.view %0 : memref<4xf32> as memref<4xf32, strided<[2]>>
}

// -----

step.program @bundled inputs [#step.input<"x", parameter, tensor<2x4xf32>>, #step.input<"z", parameter, tensor<2x2xf32>>] outputs [#step.output<"y", tensor<2x4xf32>, alias = 0>] {
^bb0(%x: memref<2x4xf32>, %z: memref<2x2xf32>):
  // expected-error @below {{[TP0306] 'step.bundle' op expects two or more inputs of the program that no output overwrites and no other op uses}}
  %0 = step.bundle %x, %z rows 2 : memref<2x4xf32>, memref<2x2xf32> as memref<2x6xf32>
}

// -----

step.program @bundleTwice inputs [#step.input<"x", parameter, tensor<2x4xf32>>, #step.input<"z", parameter, tensor<2x2xf32>>] outputs [] {
^bb0(%x: memref<2x4xf32>, %z: memref<2x2xf32>):
  // expected-error @below {{[TP0306] 'step.bundle' op expects two or more inputs of the program that no output overwrites and no other op uses}}
  %0 = step.bundle %x, %z rows 2 : memref<2x4xf32>, memref<2x2xf32> as memref<2x6xf32>
  %1 = step.view %x : memref<2x4xf32> as memref<8xf32>
}

// -----

step.program @bundleRows inputs [#step.input<"x", parameter, tensor<2x4xf32>>, #step.input<"z", parameter, tensor<2x2xf32>>] outputs [] {
^bb0(%x: memref<2x4xf32>, %z: memref<2x2xf32>):
  // expected-error @below {{[TP0303] 'step.bundle' op expects a dense buffer with the members' element type and total number of elements, and a number of rows that divides the size of each member, got 'memref<2x6xf32>' with 8 rows}}
  %0 = step.bundle %x, %z rows 8 : memref<2x4xf32>, memref<2x2xf32> as memref<2x6xf32>
}

// -----

step.program @together inputs [#step.input<"x", input, tensor<4xf32>>] outputs [#step.output<"y", tensor<4xf32>>] {
^bb0(%x: memref<4xf32>, %y: memref<4xf32>):
  // expected-error @below {{[TP0305] 'step.together' op expects a body of two or more row programs without reductions, which write only the buffers that this op writes}}
  step.together reads(%x : memref<4xf32>) writes(%y : memref<4xf32>) {
  ^bb0(%a: memref<4xf32>, %b: memref<4xf32>):
    step.rows [4] reads(%a : memref<4xf32>) writes(%b : memref<4xf32>) {
    ^bb0(%p: memref<4xf32>, %q: memref<4xf32>):
      %0 = step.load %p : memref<4xf32>
      step.store %0 to %q : f32, memref<4xf32>
    }
  }
}

// -----

step.program @togetherArguments inputs [#step.input<"x", input, tensor<4xf32>>] outputs [] {
^bb0(%x: memref<4xf32>):
  // expected-error @below {{[TP0305] 'step.together' op expects one block argument per operand, of the operand's type}}
  step.together reads(%x : memref<4xf32>) {
  ^bb0(%a: memref<5xf32>):
  }
}

// -----

step.program @copy inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  %1 = step.alloc : memref<5xf32>
  // expected-error @below {{[TP0303] 'step.copy' op expects source and destination of the same shape, with at most}}
  step.copy %0 to %1 : memref<4xf32> to memref<5xf32>
}

// -----

step.program @fill inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  // expected-error @below {{[TP0303] 'step.fill' op expects a value of the destination's element type, and a destination of at most}}
  step.fill %0 with 1 : i32 in memref<4xf32>
}

// -----

step.program @matmul inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<1x1x1x4x4xf32>
  %1 = step.alloc : memref<1x1x1x5x4xf32>
  // expected-error @below {{[TP0303] 'step.matmul' op expects matrices of sizes m x k, k x n and m x n}}
  step.matmul %0, %1 into %0 : memref<1x1x1x4x4xf32>, memref<1x1x1x5x4xf32> into memref<1x1x1x4x4xf32>
}

// -----

step.program @matmul_into inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<1x1x1x4x4xbf16>
  %1 = step.alloc : memref<1x1x1x4x4xf16>
  // expected-error @below {{[TP0303] 'step.matmul' op expects A and B of the same element type, f32, bf16, f16 or f8E4M3FN, and C of f32 or that type; if A and B are f8E4M3FN, C must be f32, bf16 or f16}}
  step.matmul %0, %0 into %1 : memref<1x1x1x4x4xbf16>, memref<1x1x1x4x4xbf16> into memref<1x1x1x4x4xf16>
}

// -----

step.program @matmul_float8 inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<1x1x1x4x4xf8E4M3FN>
  %1 = step.alloc : memref<1x1x1x4x4xf16>
  step.matmul %0, %0 into %1 : memref<1x1x1x4x4xf8E4M3FN>, memref<1x1x1x4x4xf8E4M3FN> into memref<1x1x1x4x4xf16>
  // expected-error @below {{[TP0303] 'step.matmul' op expects A and B of the same element type, f32, bf16, f16 or f8E4M3FN, and C of f32 or that type; if A and B are f8E4M3FN, C must be f32, bf16 or f16}}
  step.matmul %0, %0 into %0 : memref<1x1x1x4x4xf8E4M3FN>, memref<1x1x1x4x4xf8E4M3FN> into memref<1x1x1x4x4xf8E4M3FN>
}

// -----

step.program @nomesh inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  // expected-error @below {{[TP0306] 'step.collective_start' op expects the enclosing program to have a mesh}}
  %1 = step.collective_start all_reduce sum <{"x"}> %0 to %0 : memref<4xf32> to memref<4xf32>
  step.collective_done %1
}

// -----

spmd.mesh @mesh <["x"=2]>
step.program @gather on @mesh inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  %1 = step.alloc : memref<4xf32>
  // expected-error @below {{[TP0303] 'step.collective_start' op expects a destination 2 times as large as the source for all_gather, 1/2 as large for reduce_scatter, and of equal size otherwise, got source 'memref<4xf32>' and destination 'memref<4xf32>'}}
  %2 = step.collective_start all_gather <{"x"}> %0 to %1 : memref<4xf32> to memref<4xf32>
  step.collective_done %2
}

// -----

spmd.mesh @mesh <["x"=2]>
step.program @reduction on @mesh inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  // expected-error @below {{[TP0304] 'step.collective_start' op expects a reduction, sum, max or min, if the collective reduces, and none otherwise}}
  %1 = step.collective_start all_reduce <{"x"}> %0 to %0 : memref<4xf32> to memref<4xf32>
  step.collective_done %1
}

// -----

spmd.mesh @mesh <["x"=2]>
step.program @joins_a_fill on @mesh inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  %1 = step.alloc : memref<4xf32>
  %2 = step.collective_start all_reduce sum <{"x"}> %0 to %0 : memref<4xf32> to memref<4xf32>
  step.fill %1 with 0.0 : f32 in memref<4xf32>
  // expected-error @below {{[TP0304] 'step.collective_start' op expects the step before a joined collective to be a step.collective_start along the same axes}}
  %3 = step.collective_start all_reduce sum <{"x"}> %1 to %1 joined : memref<4xf32> to memref<4xf32>
  step.collective_done %2
  step.collective_done %3
}

// -----

spmd.mesh @mesh <["x"=2, "y"=2]>
step.program @joins_other_axes on @mesh inputs [] outputs [] {
^bb0:
  %0 = step.alloc : memref<4xf32>
  %1 = step.collective_start all_reduce sum <{"x"}> %0 to %0 : memref<4xf32> to memref<4xf32>
  %2 = step.alloc : memref<4xf32>
  // expected-error @below {{[TP0304] 'step.collective_start' op expects the step before a joined collective to be a step.collective_start along the same axes}}
  %3 = step.collective_start all_reduce sum <{"y"}> %2 to %2 joined : memref<4xf32> to memref<4xf32>
  step.collective_done %1
  step.collective_done %3
}

// -----

step.program @body inputs [] outputs [] {
^bb0:
  step.rows [4] {
  ^bb0:
    // expected-error @below {{[TP0305] 'step.alloc' op is not allowed in a row program: expects an op of step, arith or math that computes one scalar}}
    %0 = step.alloc : memref<4xf32>
  }
}

// -----

step.program @point inputs [#step.input<"x", input, tensor<4xf32>>] outputs [] {
^bb0(%x: memref<4xf32>):
  step.rows [5] reads(%x : memref<4xf32>) {
  ^bb0(%a: memref<4xf32>):
    // expected-error @below {{[TP0303] 'step.load' op without indices, expects a buffer of the domain's shape [5], got 'memref<4xf32>'}}
    %0 = step.load %a : memref<4xf32>
  }
}

// -----

step.program @written inputs [#step.input<"x", input, tensor<4xf32>>] outputs [] {
^bb0(%x: memref<4xf32>):
  step.rows [4] reads(%x : memref<4xf32>) {
  ^bb0(%a: memref<4xf32>):
    %0 = step.load %a : memref<4xf32>
    // expected-error @below {{[TP0305] 'step.store' op expects a buffer that is an operand of the row program and that the row program writes}}
    step.store %0 to %a : f32, memref<4xf32>
  }
}

// -----

step.program @unsigned inputs [#step.input<"x", input, tensor<4xf32>>] outputs [] {
^bb0(%x: memref<4xf32>):
  step.rows [4] reads(%x : memref<4xf32>) {
  ^bb0(%a: memref<4xf32>):
    %0 = step.load %a : memref<4xf32>
    // expected-error @below {{[TP0303] 'step.reduce' op umax expects an integer, got 'f32'}}
    %1 = step.reduce umax %0 : f32
  }
}

// -----

step.program @outside inputs [#step.input<"w", parameter, tensor<3x16xf32>>] outputs [] {
^bb0(%w: memref<3x16xf32>):
  step.loop 4 {
    // expected-error @below {{[TP0303] 'step.view' op expects a view that stays inside its source}}
    %0 = step.view %w by 16 of loop 0 : memref<3x16xf32> as memref<16xf32>
  }
}

// -----

step.program @before inputs [#step.input<"w", parameter, tensor<3x16xf32>>] outputs [] {
^bb0(%w: memref<3x16xf32>):
  step.loop 3 {
    // expected-error @below {{[TP0303] 'step.view' op expects a view that stays inside its source}}
    %0 = step.view %w by -16 of loop 0 : memref<3x16xf32> as memref<16xf32, strided<[1], offset: 16>>
  }
}

// -----

step.program @still inputs [#step.input<"w", parameter, tensor<3x16xf32>>] outputs [] {
^bb0(%w: memref<3x16xf32>):
  // expected-error @below {{[TP0304] 'step.view' op expects `loop` to be the number of an enclosing loop, where 0 is the innermost, got 0}}
  %0 = step.view %w by 16 of loop 0 : memref<3x16xf32> as memref<16xf32>
}

// -----

step.program @uneven inputs [#step.input<"w", parameter, tensor<3x15xf32>>] outputs [] {
^bb0(%w: memref<3x15xf32>):
  step.loop 3 {
    // expected-error @below {{[TP0304] 'step.view' op has an address that advances by 60 bytes: expects a multiple of 64}}
    %0 = step.view %w by 15 of loop 0 : memref<3x15xf32> as memref<15xf32>
  }
}

// -----

spmd.mesh @mesh <["x"=4]>
step.program @beyond on @mesh inputs [#step.input<"w", parameter, tensor<3x16xf32>>] outputs [] {
^bb0(%w: memref<3x16xf32>):
  // expected-error @below {{[TP0303] 'step.view' op expects a view that stays inside its source}}
  %0 = step.view %w by 16 of place <{"x"}> : memref<3x16xf32> as memref<16xf32>
}

// -----

spmd.mesh @mesh <["x"=3]>
step.program @further on @mesh inputs [#step.input<"w", parameter, tensor<3x16xf32>>] outputs [] {
^bb0(%w: memref<3x16xf32>):
  // expected-error @below {{[TP0304] 'step.view' op expects `plus` from 0 to 2, got 3}}
  %0 = step.view %w by 16 of place <{"x"}> plus 3 : memref<3x16xf32> as memref<16xf32>
}

// -----

step.program @nowhere inputs [#step.input<"w", parameter, tensor<3x16xf32>>] outputs [] {
^bb0(%w: memref<3x16xf32>):
  // expected-error @below {{[TP0306] 'step.view' op expects the enclosing program to have a mesh}}
  %0 = step.view %w by 16 of place <{"x"}> : memref<3x16xf32> as memref<16xf32>
}

// -----

step.program @loop inputs [] outputs [] {
^bb0:
  // expected-error @below {{[TP0304] 'step.loop' op expects a count from 0 to 2^31 - 1, got -1}}
  step.loop -1 {
  }
}

// -----

step.program @predicate inputs [#step.input<"p", input, tensor<2xi1>>] outputs [] {
^bb0(%p: memref<2xi1>):
  // expected-error @below {{[TP0303] 'step.if' op expects a predicate that is a single i1, got 'memref<2xi1>'}}
  step.if %p {
  } else {
  } : memref<2xi1>
}

// -----

step.program @condition inputs [#step.input<"p", input, tensor<i8>>] outputs [] {
^bb0(%p: memref<i8>):
  // expected-error @below {{[TP0303] 'step.while' op expects a predicate that is a single i1, got 'memref<i8>'}}
  step.while %p cond {
  } do {
  } : memref<i8>
}

// -----

step.program @counter inputs [#step.input<"x", input, tensor<4xi64>>] outputs [] {
^bb0(%x: memref<4xi64>):
  step.loop 2 {
    step.rows [4] reads(%x : memref<4xi64>) {
    ^bb0(%a: memref<4xi64>):
      // expected-error @below {{[TP0306] 'step.counter' op expects at least 2 enclosing loops}}
      %0 = step.counter 1
    }
  }
}

// -----

step.program @scatter inputs [#step.input<"u", input, tensor<1x1x6x4xf32>>, #step.input<"i", input, tensor<1x6xi64>>] outputs [] {
^bb0(%u: memref<1x1x6x4xf32>, %i: memref<1x6xi64>):
  %0 = step.alloc : memref<1x1x9x5xf32>
  // expected-error @below {{[TP0303] 'step.scatter' op expects updates [b, o, i, r], indices [b, i] and a destination [b, o, axis, r]}}
  step.scatter add %u at %i into %0 : memref<1x1x6x4xf32>, memref<1x6xi64> into memref<1x1x9x5xf32>
}

// -----

step.program @halves inputs [#step.input<"u", input, tensor<1x1x6x4xf16>>, #step.input<"i", input, tensor<1x6xi64>>] outputs [] {
^bb0(%u: memref<1x1x6x4xf16>, %i: memref<1x6xi64>):
  %0 = step.alloc : memref<1x1x9x4xf16>
  // expected-error @below {{[TP0303] 'step.scatter' op expects i64 indices, and updates and destination of the same element type}}
  step.scatter add %u at %i into %0 : memref<1x1x6x4xf16>, memref<1x6xi64> into memref<1x1x9x4xf16>
}

// -----

step.program @sort inputs [#step.input<"x", input, tensor<4x6xf32>>] outputs [] {
^bb0(%x: memref<4x6xf32>):
  %0 = step.alloc : memref<4x7xf32>
  %1 = step.alloc : memref<4x7xi32>
  // expected-error @below {{[TP0303] 'step.sort' op expects a source [rows, columns], and values and indices of the same shape, with as many rows as the source and at most as many columns}}
  step.sort %x into %0, %1 : memref<4x6xf32> into memref<4x7xf32>, memref<4x7xi32>
}

// -----

step.program @places inputs [#step.input<"x", input, tensor<4x6xf32>>] outputs [] {
^bb0(%x: memref<4x6xf32>):
  %0 = step.alloc : memref<4x6xf32>
  %1 = step.alloc : memref<4x6xi64>
  // expected-error @below {{[TP0303] 'step.sort' op expects values of the source's element type and i32 indices}}
  step.sort %x into %0, %1 : memref<4x6xf32> into memref<4x6xf32>, memref<4x6xi64>
}

// -----

step.program @parts inputs [#step.input<"x", input, tensor<4x6xf32>>] outputs [] {
^bb0(%x: memref<4x6xf32>):
  %0 = step.alloc : memref<3x4xf32>
  %1 = step.alloc : memref<3x4xi32>
  // expected-error @below {{[TP0303] 'step.sort_parts' op expects a source [rows, columns], and values and indices of the same shape, with as many rows as the source}}
  step.sort_parts %x parts 3 keep 2 into %0, %1 : memref<4x6xf32> into memref<3x4xf32>, memref<3x4xi32>
}

// -----

step.program @elements_of_parts inputs [#step.input<"x", input, tensor<4x6xf32>>] outputs [] {
^bb0(%x: memref<4x6xf32>):
  %0 = step.alloc : memref<4x4xf16>
  %1 = step.alloc : memref<4x4xi32>
  // expected-error @below {{[TP0303] 'step.sort_parts' op expects values of the source's element type and i32 indices}}
  step.sort_parts %x parts 3 keep 2 into %0, %1 : memref<4x6xf32> into memref<4x4xf16>, memref<4x4xi32>
}

// -----

step.program @more_than_a_part inputs [#step.input<"x", input, tensor<4x6xf32>>] outputs [] {
^bb0(%x: memref<4x6xf32>):
  %0 = step.alloc : memref<4x6xf32>
  %1 = step.alloc : memref<4x6xi32>
  // expected-error @below {{[TP0304] 'step.sort_parts' op expects `kept` from 1 to `part`, and results with a column for each element that is kept}}
  step.sort_parts %x parts 3 keep 4 into %0, %1 : memref<4x6xf32> into memref<4x6xf32>, memref<4x6xi32>
}

// -----

step.program @nothing_of_parts inputs [#step.input<"x", input, tensor<4x6xf32>>] outputs [] {
^bb0(%x: memref<4x6xf32>):
  %0 = step.alloc : memref<4x1xf32>
  %1 = step.alloc : memref<4x1xi32>
  // expected-error @below {{[TP0304] 'step.sort_parts' op expects `kept` from 1 to `part`, and results with a column for each element that is kept}}
  step.sort_parts %x parts 3 keep 0 into %0, %1 : memref<4x6xf32> into memref<4x1xf32>, memref<4x1xi32>
}

// -----

step.program @columns_of_parts inputs [#step.input<"x", input, tensor<4x6xf32>>] outputs [] {
^bb0(%x: memref<4x6xf32>):
  %0 = step.alloc : memref<4x6xf32>
  %1 = step.alloc : memref<4x6xi32>
  // expected-error @below {{[TP0304] 'step.sort_parts' op expects `kept` from 1 to `part`, and results with a column for each element that is kept}}
  step.sort_parts %x parts 4 keep 3 into %0, %1 : memref<4x6xf32> into memref<4x6xf32>, memref<4x6xi32>
}

// -----

step.program @merge inputs [#step.input<"x", input, tensor<4x6xf32>>, #step.input<"p", input, tensor<4x5xi32>>] outputs [] {
^bb0(%x: memref<4x6xf32>, %p: memref<4x5xi32>):
  %0 = step.alloc : memref<4x6xf32>
  %1 = step.alloc : memref<4x6xi32>
  // expected-error @below {{[TP0303] 'step.merge' op expects elements and places of the same shape [rows, columns], and values and indices of a common shape with the same number of rows}}
  step.merge %x, %p runs 3 ways 2 into %0, %1 : memref<4x6xf32>, memref<4x5xi32> into memref<4x6xf32>, memref<4x6xi32>
}

// -----

step.program @places_of_runs inputs [#step.input<"x", input, tensor<4x6xf32>>, #step.input<"p", input, tensor<4x6xi64>>] outputs [] {
^bb0(%x: memref<4x6xf32>, %p: memref<4x6xi64>):
  %0 = step.alloc : memref<4x6xf32>
  %1 = step.alloc : memref<4x6xi32>
  // expected-error @below {{[TP0303] 'step.merge' op expects values of the elements' type, and i32 places and indices}}
  step.merge %x, %p runs 3 ways 2 into %0, %1 : memref<4x6xf32>, memref<4x6xi64> into memref<4x6xf32>, memref<4x6xi32>
}

// -----

step.program @no_run inputs [#step.input<"x", input, tensor<4x6xf32>>, #step.input<"p", input, tensor<4x6xi32>>] outputs [] {
^bb0(%x: memref<4x6xf32>, %p: memref<4x6xi32>):
  %0 = step.alloc : memref<4x6xf32>
  %1 = step.alloc : memref<4x6xi32>
  // expected-error @below {{[TP0304] 'step.merge' op expects `run` of at least 1, `ways` of at least 2, and results with as many columns as the elements, or fewer if the op merges each row into one run}}
  step.merge %x, %p runs 0 ways 2 into %0, %1 : memref<4x6xf32>, memref<4x6xi32> into memref<4x6xf32>, memref<4x6xi32>
}

// -----

step.program @one_way inputs [#step.input<"x", input, tensor<4x6xf32>>, #step.input<"p", input, tensor<4x6xi32>>] outputs [] {
^bb0(%x: memref<4x6xf32>, %p: memref<4x6xi32>):
  %0 = step.alloc : memref<4x6xf32>
  %1 = step.alloc : memref<4x6xi32>
  // expected-error @below {{[TP0304] 'step.merge' op expects `run` of at least 1, `ways` of at least 2, and results with as many columns as the elements, or fewer if the op merges each row into one run}}
  step.merge %x, %p runs 6 ways 1 into %0, %1 : memref<4x6xf32>, memref<4x6xi32> into memref<4x6xf32>, memref<4x6xi32>
}

// -----

step.program @lost inputs [#step.input<"x", input, tensor<4x6xf32>>, #step.input<"p", input, tensor<4x6xi32>>] outputs [] {
^bb0(%x: memref<4x6xf32>, %p: memref<4x6xi32>):
  %0 = step.alloc : memref<4x5xf32>
  %1 = step.alloc : memref<4x5xi32>
  // expected-error @below {{[TP0304] 'step.merge' op expects `run` of at least 1, `ways` of at least 2, and results with as many columns as the elements, or fewer if the op merges each row into one run}}
  step.merge %x, %p runs 2 ways 2 into %0, %1 : memref<4x6xf32>, memref<4x6xi32> into memref<4x5xf32>, memref<4x5xi32>
}

// -----

step.program @found inputs [#step.input<"x", input, tensor<4x6xf32>>, #step.input<"p", input, tensor<4x6xi32>>] outputs [] {
^bb0(%x: memref<4x6xf32>, %p: memref<4x6xi32>):
  %0 = step.alloc : memref<4x7xf32>
  %1 = step.alloc : memref<4x7xi32>
  // expected-error @below {{[TP0304] 'step.merge' op expects `run` of at least 1, `ways` of at least 2, and results with as many columns as the elements, or fewer if the op merges each row into one run}}
  step.merge %x, %p runs 3 ways 2 into %0, %1 : memref<4x6xf32>, memref<4x6xi32> into memref<4x7xf32>, memref<4x7xi32>
}

// -----

step.program @combine inputs [#step.input<"x", input, tensor<4xf32>>, #step.input<"n", input, tensor<4xi32>>] outputs [] {
^bb0(%x: memref<4xf32>, %n: memref<4xi32>):
  // expected-error @below {{[TP0303] 'step.combine' op expects at least one source, and dense buffers of the same type}}
  step.combine sum %x, %n into %x : memref<4xf32>, memref<4xi32> into memref<4xf32>
}

// -----

step.program @product inputs [#step.input<"x", input, tensor<4xf32>>] outputs [] {
^bb0(%x: memref<4xf32>):
  // expected-error @below {{[TP0303] 'step.combine' op does not support the reduction prod for elements of type 'f32'}}
  step.combine prod %x into %x : memref<4xf32> into memref<4xf32>
}

// -----

step.program @random inputs [#step.input<"x", input, tensor<4x6xf32>>] outputs [] {
^bb0(%x: memref<4x6xf32>):
  %0 = step.view %x : memref<4x6xf32> as memref<6x4xf32, strided<[1, 6]>>
  // expected-error @below {{[TP0303] 'step.random' op expects a destination [rows, columns] with stride 1 along the columns, got 'memref<6x4xf32, strided<[1, 6]>>'}}
  step.random seed 1 scale 1.0 first 0 stride 6 into %0 : memref<6x4xf32, strided<[1, 6]>>
}

// -----

step.program @bytes inputs [#step.input<"x", input, tensor<4xf8E5M2>>] outputs [] {
^bb0(%x: memref<4xf8E5M2>):
  // expected-error @below {{[TP0303] 'step.combine' op does not support the reduction sum for elements of type 'f8E5M2'}}
  step.combine sum %x into %x : memref<4xf8E5M2> into memref<4xf8E5M2>
}

// -----

step.program @rows inputs [#step.input<"a", input, tensor<1x1x1x9x4xf32>>, #step.input<"b", input, tensor<1x1x1x4x4xf32>>] outputs [#step.output<"y", tensor<1x1x1x9x4xf32>>] {
^bb0(%a: memref<1x1x1x9x4xf32>, %b: memref<1x1x1x4x4xf32>, %y: memref<1x1x1x9x4xf32>):
  // expected-error @below {{[TP0303] 'step.skinny_matmul' op expects one product of at most 8 rows in f32, bf16 or f16, with no post-ops other than add, relu and gelu_tanh}}
  step.skinny_matmul %a, %b into %y : memref<1x1x1x9x4xf32>, memref<1x1x1x4x4xf32> into memref<1x1x1x9x4xf32>
}

// -----

step.program @silu inputs [#step.input<"a", input, tensor<1x1x1x8x4xf32>>, #step.input<"b", input, tensor<1x1x1x4x4xf32>>] outputs [#step.output<"y", tensor<1x1x1x8x4xf32>>] {
^bb0(%a: memref<1x1x1x8x4xf32>, %b: memref<1x1x1x4x4xf32>, %y: memref<1x1x1x8x4xf32>):
  // expected-error @below {{[TP0303] 'step.skinny_matmul' op expects one product of at most 8 rows in f32, bf16 or f16, with no post-ops other than add, relu and gelu_tanh}}
  step.skinny_matmul %a, %b into %y then [#step<post silu>] : memref<1x1x1x8x4xf32>, memref<1x1x1x4x4xf32> into memref<1x1x1x8x4xf32>
}

// -----

step.program @fits inputs [#step.input<"a", input, tensor<1x1x1x8x4xf32>>, #step.input<"b", input, tensor<1x1x1x4x4xf32>>] outputs [#step.output<"y", tensor<1x1x1x8x4xf32>>] {
^bb0(%a: memref<1x1x1x8x4xf32>, %b: memref<1x1x1x4x4xf32>, %y: memref<1x1x1x8x4xf32>):
  // expected-error @below {{[TP0303] 'step.skinny_matmul' op expects matrices of sizes m x k, k x n and m x n}}
  step.skinny_matmul %a, %a into %y : memref<1x1x1x8x4xf32>, memref<1x1x1x8x4xf32> into memref<1x1x1x8x4xf32>
}

// -----

step.program @other inputs [#step.input<"a", input, tensor<1x1x1x4x4xf32>>, #step.input<"b", input, tensor<1x1x1x4x4xf32>>] outputs [#step.output<"y", tensor<1x1x1x4x4xf32>>] {
^bb0(%a: memref<1x1x1x4x4xf32>, %b: memref<1x1x1x4x4xf32>, %y: memref<1x1x1x4x4xf32>):
  %c = step.alloc : memref<1x1x1x4x4xf32>
  // expected-error @below {{[TP0305] 'step.choose' op expects both branches to write the same buffers}}
  step.choose {
    step.matmul %a, %b into %y : memref<1x1x1x4x4xf32>, memref<1x1x1x4x4xf32> into memref<1x1x1x4x4xf32>
  } or {
    step.skinny_matmul %a, %b into %c : memref<1x1x1x4x4xf32>, memref<1x1x1x4x4xf32> into memref<1x1x1x4x4xf32>
  }
}

// -----

step.program @nothing inputs [#step.input<"a", input, tensor<1x1x1x4x4xf32>>, #step.input<"b", input, tensor<1x1x1x4x4xf32>>] outputs [#step.output<"y", tensor<1x1x1x4x4xf32>>] {
^bb0(%a: memref<1x1x1x4x4xf32>, %b: memref<1x1x1x4x4xf32>, %y: memref<1x1x1x4x4xf32>):
  // expected-error @below {{[TP0305] 'step.choose' op expects each branch to contain at least one step, and only kernels, matrix products, copies, fills and, as its last step, a step.choose}}
  step.choose {
    step.matmul %a, %b into %y : memref<1x1x1x4x4xf32>, memref<1x1x1x4x4xf32> into memref<1x1x1x4x4xf32>
  } or {
  }
}

// -----

step.program @loop inputs [#step.input<"a", input, tensor<1x1x1x4x4xf32>>, #step.input<"b", input, tensor<1x1x1x4x4xf32>>] outputs [#step.output<"y", tensor<1x1x1x4x4xf32>>] {
^bb0(%a: memref<1x1x1x4x4xf32>, %b: memref<1x1x1x4x4xf32>, %y: memref<1x1x1x4x4xf32>):
  // expected-error @below {{[TP0305] 'step.choose' op expects each branch to contain at least one step, and only kernels, matrix products, copies, fills and, as its last step, a step.choose}}
  step.choose {
    step.matmul %a, %b into %y : memref<1x1x1x4x4xf32>, memref<1x1x1x4x4xf32> into memref<1x1x1x4x4xf32>
  } or {
    step.loop 2 {
      step.matmul %a, %b into %y : memref<1x1x1x4x4xf32>, memref<1x1x1x4x4xf32> into memref<1x1x1x4x4xf32>
    }
  }
}
