// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Floats move by an ulp of the narrowest float that the module computes with,
// here bf16: 2^-7. Integers and unused arguments stay.

// RUN: tp-opt %s --tp-move-arguments=seed=3 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3xf32> {tp.name = "x"}
// CHECK:      %[[BITS:.*]] = tp.bitcast %[[X]] : tensor<3xf32> -> tensor<3xi32>
// CHECK:      %[[UP:.*]] = tp.compare lt
// CHECK:      dense<1.0078125
// CHECK:      dense<0.9921875
// CHECK:      %[[FACTOR:.*]] = tp.select %[[UP]]
// CHECK:      %[[MOVED:.*]] = tp.mul %[[X]], %[[FACTOR]]
// CHECK:      %[[WHOLE:.*]] = tp.round_even %[[X]]
// CHECK:      %[[IS:.*]] = tp.compare eq %[[X]], %[[WHOLE]]
// CHECK:      %[[RESULT:.*]] = tp.select %[[IS]], %[[X]], %[[MOVED]]
// CHECK-NOT:  bitcast
// CHECK:      tp.convert %[[RESULT]]
// CHECK-LABEL: func.func private @helper
// CHECK-NOT:  bitcast

// What it computes: 1.5 moves, 2 does not.
// RUN: tp-run %s --backend=interpreter --print --input x=1.5,2,0 --input n=1,2,3 --input unused=1 | FileCheck %s --check-prefix=BEFORE
// RUN: tp-opt %s --tp-move-arguments=seed=3 -o %t.mlir
// RUN: tp-run %t.mlir --backend=interpreter --print --input x=1.5,2,0 --input n=1,2,3 --input unused=1 | FileCheck %s --check-prefix=AFTER
// BEFORE: {{^}}1.5 2 0{{$}}
// AFTER:  {{^}}1.{{4921875|484375|5078125|515625}} 2 0{{$}}
// AFTER:  {{^}}1 2 3{{$}}

func.func @main(%x: tensor<3xf32> {tp.name = "x"}, %n: tensor<3xi32> {tp.name = "n"},
                %unused: tensor<f32> {tp.name = "unused"}) -> (tensor<3xbf16>, tensor<3xi32>) {
  %0 = tp.convert %x : tensor<3xf32> -> tensor<3xbf16>
  return %0, %n : tensor<3xbf16>, tensor<3xi32>
}

func.func private @helper(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
