// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The eight reshards that the `shard` dialect of MLIR 22.1.8 gets wrong without
// a word, in one step where several are needed, as local programs: each is
// refused at the op.
//
// RUN: tp-opt %s --split-input-file --verify-diagnostics -o %t

spmd.mesh @mesh <["x"=2, "y"=4]>
!whole = tensor<16x16xf32, #spmd.local<@mesh, [{}, {}], global=[16, 16]>>
!x_y = tensor<8x4xf32, #spmd.local<@mesh, [{"x"}, {"y"}], global=[16, 16]>>
func.func @whole_to_x_y(%v: !whole) -> !x_y {
  // expected-error @+1 {{[TP0210]}}
  %0 = spmd.all_slice %v [{"x"}, {}] in <@mesh, [{}, {}]> out <@mesh, [{"x"}, {"y"}]> : !whole -> !x_y
  return %0 : !x_y
}

// -----

spmd.mesh @mesh <["x"=2, "y"=4]>
!whole = tensor<16x16xf32, #spmd.local<@mesh, [{}, {}], global=[16, 16]>>
!x_y = tensor<8x4xf32, #spmd.local<@mesh, [{"x"}, {"y"}], global=[16, 16]>>
func.func @x_y_to_whole(%v: !x_y) -> !whole {
  // expected-error @+1 {{[TP0210]}}
  %0 = spmd.all_gather %v [{"x"}, {}] in <@mesh, [{"x"}, {"y"}]> out <@mesh, [{}, {}]> : !x_y -> !whole
  return %0 : !whole
}

// -----

spmd.mesh @mesh <["x"=2, "y"=4]>
!x_y = tensor<8x4xf32, #spmd.local<@mesh, [{"x"}, {"y"}], global=[16, 16]>>
!y_x = tensor<4x8xf32, #spmd.local<@mesh, [{"y"}, {"x"}], global=[16, 16]>>
func.func @x_y_to_y_x(%v: !x_y) -> !y_x {
  // expected-error @+1 {{[TP0210]}}
  %0 = spmd.all_to_all %v ["x": 0 -> 1] in <@mesh, [{"x"}, {"y"}]> out <@mesh, [{"y"}, {"x"}]> : !x_y -> !y_x
  return %0 : !y_x
}

// -----

spmd.mesh @mesh <["x"=2, "y"=4]>
!x_y = tensor<8x4xf32, #spmd.local<@mesh, [{"x"}, {"y"}], global=[16, 16]>>
!xy = tensor<2x16xf32, #spmd.local<@mesh, [{"x", "y"}, {}], global=[16, 16]>>
func.func @x_y_to_xy(%v: !x_y) -> !xy {
  // expected-error @+1 {{[TP0210]}}
  %0 = spmd.all_gather %v [{}, {"y"}] in <@mesh, [{"x"}, {"y"}]> out <@mesh, [{"x", "y"}, {}]> : !x_y -> !xy
  return %0 : !xy
}

// -----

spmd.mesh @mesh <["x"=2, "y"=4]>
!x_y = tensor<8x4xf32, #spmd.local<@mesh, [{"x"}, {"y"}], global=[16, 16]>>
!xy = tensor<2x16xf32, #spmd.local<@mesh, [{"x", "y"}, {}], global=[16, 16]>>
func.func @xy_to_x_y(%v: !xy) -> !x_y {
  // expected-error @+1 {{[TP0210]}}
  %0 = spmd.all_gather %v [{"y"}, {}] in <@mesh, [{"x", "y"}, {}]> out <@mesh, [{"x"}, {"y"}]> : !xy -> !x_y
  return %0 : !x_y
}

// -----

spmd.mesh @mesh <["x"=2, "y"=4]>
!xy = tensor<2x16xf32, #spmd.local<@mesh, [{"x", "y"}, {}], global=[16, 16]>>
!_xy = tensor<16x2xf32, #spmd.local<@mesh, [{}, {"x", "y"}], global=[16, 16]>>
func.func @xy_to_columns(%v: !xy) -> !_xy {
  // expected-error @+1 {{[TP0210]}}
  %0 = spmd.all_to_all %v ["y": 0 -> 1] in <@mesh, [{"x", "y"}, {}]> out <@mesh, [{}, {"x", "y"}]> : !xy -> !_xy
  return %0 : !_xy
}

// -----

spmd.mesh @mesh <["x"=2, "y"=4]>
!y = tensor<4x16xf32, #spmd.local<@mesh, [{"y"}, {}], global=[16, 16]>>
!x_y = tensor<8x4xf32, #spmd.local<@mesh, [{"x"}, {"y"}], global=[16, 16]>>
func.func @y_to_x_y(%v: !y) -> !x_y {
  // expected-error @+1 {{[TP0210]}}
  %0 = spmd.all_slice %v [{}, {"y"}] in <@mesh, [{"y"}, {}]> out <@mesh, [{"x"}, {"y"}]> : !y -> !x_y
  return %0 : !x_y
}

// -----

spmd.mesh @mesh <["x"=2, "y"=4]>
!x_y = tensor<8x4xf32, #spmd.local<@mesh, [{"x"}, {"y"}], global=[16, 16]>>
!_x = tensor<16x8xf32, #spmd.local<@mesh, [{}, {"x"}], global=[16, 16]>>
func.func @x_y_to_columns(%v: !x_y) -> !_x {
  // expected-error @+1 {{[TP0210]}}
  %0 = spmd.all_gather %v [{"x"}, {}] in <@mesh, [{"x"}, {"y"}]> out <@mesh, [{}, {"x"}]> : !x_y -> !_x
  return %0 : !_x
}
