// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// This program sends one all-reduce, and no device gathers anything.

// RUN: tp-opt %s --tp-shard=stop-after=collectives --tp-strict | FileCheck %s
// CHECK-COUNT-1: spmd.all_reduce
// CHECK-NOT:     spmd.all_{{reduce|gather|to_all}}

// The partition is proved, and the report says so.
// RUN: tp-opt %s --tp-shard=machine=h100 --tp-report=- -o /dev/null \
// RUN:   | FileCheck %s --check-prefix=REPORT
// REPORT: "verified": "field"

spmd.mesh @mesh <["model"=4]>
func.func @mlp(%x: tensor<8x512xf32>,
               %up: tensor<512x2048xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
               %down: tensor<2048x512xf32>) -> tensor<8x512xf32> {
  %h = tp.einsum "bi,io->bo" %x, %up : (tensor<8x512xf32>, tensor<512x2048xf32>) -> tensor<8x2048xf32>
  %a = tp.gelu %h : tensor<8x2048xf32>
  %y = tp.einsum "bo,oi->bi" %a, %down : (tensor<8x2048xf32>, tensor<2048x512xf32>) -> tensor<8x512xf32>
  return %y : tensor<8x512xf32>
}
