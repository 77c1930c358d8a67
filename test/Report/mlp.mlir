// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The report of a Megatron MLP holds every field of version 1, with the figures
// of the rules: one all-reduce of 4x512 floats over model.
//
// RUN: tp-opt %s --tp-shard="machine=h200" --tp-report=%t.json -o %t.mlir 2> %t.table
// RUN: %python %S/schema.py %t.json
// RUN: FileCheck %s --input-file=%t.json
// RUN: FileCheck %s --input-file=%t.table --check-prefix=TABLE
// RUN: tp-opt %s --tp-shard --tp-report=%t.html -o %t.mlir 2> %t.table
// RUN: FileCheck %s --input-file=%t.html --check-prefix=HTML
// CHECK: "kind": "all_reduce"
// TABLE: @main: 1 all_reduce
// TABLE: all_reduce {{.*}}model
// HTML: <html
// HTML: all_reduce

spmd.mesh @mesh <["data"=2, "model"=4]>

func.func @main(%x: tensor<8x512xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
                %w1: tensor<512x2048xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %w2: tensor<2048x512xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x512xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>}) {
  %h = tp.einsum "bi,io->bo" %x, %w1 : (tensor<8x512xf32>, tensor<512x2048xf32>) -> tensor<8x2048xf32>
  %g = tp.gelu %h : tensor<8x2048xf32>
  %y = tp.einsum "bo,oi->bi" %g, %w2 : (tensor<8x2048xf32>, tensor<2048x512xf32>) -> tensor<8x512xf32>
  return %y : tensor<8x512xf32>
}
