// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Shardings that are not those of an op's rule are named, one way at a time.
//
// RUN: tp-opt %s --tp-verify-shardings --split-input-file --verify-diagnostics -o %t

// A sum over a cut dimension is partial, and says so.
spmd.mesh @mesh <["x"=2, "y"=2]>
func.func @forgotten(%a: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                     %b: tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x6xf32> {
  // expected-error @+1 {{[TP0712] tp.einsum: result #0 must be unreduced along {"x"}, but is unreduced along {}}}
  %0 = tp.einsum "ik,kj->ij" %a, %b {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// A factor is cut in one way in all tensors.
spmd.mesh @mesh <["x"=2, "y"=2]>
func.func @mismatch(%a: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                    %b: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {}]>}) -> tensor<4x8xf32> {
  // expected-error @+1 {{[TP0712] tp.add: operand #1 is cut along {"y"}, but operand #0 is cut along {"x"} in the corresponding dimension}}
  %0 = tp.add %a, %b {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}, {}]>]} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// What an op wants whole is not cut.
spmd.mesh @mesh <["x"=2]>
func.func @whole(%a: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x8xf32> {
  // expected-error @+1 {{[TP0712] tp.softmax: operand #0 is cut along {"x"} in a dimension that the op's rule does not allow to be cut}}
  %0 = tp.softmax %a dim = 1 {spmd.shardings = [#spmd.sharding<@mesh, [{}, {"x"}]>]} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// A partial sum passes through linear ops only, and keeps its kind.
spmd.mesh @mesh <["x"=2]>
func.func @linear(%a: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4xf32> {
  %0 = tp.reduce sum %a dims = [1] {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4x8xf32> -> tensor<4xf32>
  // expected-error @+1 {{[TP0712] tp.exp: operand #0 is a sum that is still unreduced along {"x"}, but the op does not allow an unreduced operand here}}
  %1 = tp.exp %0 {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

spmd.mesh @mesh <["x"=2]>
func.func @kind(%a: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4xf32> {
  // expected-error @+1 {{[TP0712] tp.reduce: result #0 is a partial max, but the op computes a partial sum}}
  %0 = tp.reduce sum %a dims = [1] {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced=max{"x"}>]} : tensor<4x8xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Addends over different devices are not added one by one.
spmd.mesh @mesh <["x"=2, "y"=2]>
func.func @joint(%a: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                 %b: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"y"}]>}) -> tensor<4xf32> {
  %0 = tp.reduce sum %a dims = [1] {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4x8xf32> -> tensor<4xf32>
  %1 = tp.reduce sum %b dims = [1] {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"y"}>]} : tensor<4x8xf32> -> tensor<4xf32>
  // expected-error @+1 {{[TP0712] tp.add: operand #1 is unreduced along {"y"}, but operand #0 is unreduced along {"x"}}}
  %2 = tp.add %0, %1 {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// No sharding is no statement.
spmd.mesh @mesh <["x"=2]>
func.func @none(%a: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x8xf32> {
  // expected-error @+1 {{[TP0403] tp.exp at line }}
  %0 = tp.exp %a : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
