// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What Partition makes for an annotated result or a constraint passes tp-strict;
// what an op needs does not.

// RUN: not tp-opt %s --tp-shard --tp-strict -o /dev/null 2>&1 | FileCheck %s

// CHECK-NOT: error:
// CHECK:     error: [TP0410] all_gather {x} of 'w'
// CHECK-NOT: error:

spmd.mesh @mesh <["x"=4]>

func.func @result(%a: tensor<16x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %0 = tp.tanh %a : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

func.func @constraint(%a: tensor<16x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %0 = spmd.constraint %a <@mesh, [{}, {}]> : tensor<16x8xf32>
  %1 = tp.tanh %0 : tensor<16x8xf32>
  return %1 : tensor<16x8xf32>
}

func.func @op(%w: tensor<16x8xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
        tensor<16x8xi32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %v, %i = tp.sort %w dim = 0 : tensor<16x8xf32> -> tensor<16x8xf32>, tensor<16x8xi32>
  return %v, %i : tensor<16x8xf32>, tensor<16x8xi32>
}
