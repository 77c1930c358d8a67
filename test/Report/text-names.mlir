// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Values without other names are called what the text calls them, in each function its
// own; what has only a number is an op at a line.

// RUN: tp-opt %s --tp-shard --tp-report -o %t.mlir 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-shard --tp-explain=up -o %t.mlir 2>&1 | FileCheck %s --check-prefix=UP
// RUN: tp-opt %s --tp-shard --tp-explain=h -o %t.mlir 2>&1 | FileCheck %s --check-prefix=H
// RUN: not tp-opt %s --tp-shard --tp-explain=hh -o %t.mlir 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: tp-opt %s --tp-compile --tp-artifact=%t.tpx -o %t.mlir
// RUN: tp-run %t.tpx --entry=f --trace=%t.json 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: FileCheck %s --check-prefix=TRACE --input-file=%t.json

// The text that is printed has numbers, as ever.
// RUN: tp-opt %s | FileCheck %s --check-prefix=TEXT
// TEXT: func.func @f(%arg0: tensor<4x8xf32>, %arg1: tensor<8x6xf32>

// CHECK-LABEL: @f:
// CHECK: all_reduce {model} of y, {{.*}}text-names.mlir:
// CHECK-LABEL: @g:
// CHECK: all_reduce {model} of tp.einsum at line [[#]]

// UP: 'up' in @f, f32[8,6]
// UP: "model" on dim 1: written here
// UP-NOT: in @g
// Both functions have an h: they are two values.
// H: 'h' in @f, f32[4,6]
// H: 'h' in @g, f32[4,6]
// NEAR: error: [TP0614] no value is called 'hh'; near it are 'h',
// VALUES: note: random values for
// TRACE: "name":"h"

spmd.mesh @mesh <["model"=2]>

func.func @f(%arg0: tensor<4x8xf32>,
             %up: tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
             %down: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %h = tp.einsum "bi,io->bo" %arg0, %up : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %y = tp.einsum "bo,oi->bi" %h, %down : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

func.func @g(%arg0: tensor<4x8xf32>,
             %w: tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
             %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %h = tp.einsum "bi,io->bo" %arg0, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %0 = tp.einsum "bo,oi->bi" %h, %v : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
