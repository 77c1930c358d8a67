// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Why a value is sharded as it is: the seed, the way, and a picture.
//
// RUN: tp-opt %s --tp-shard --tp-explain=w2 -o %t.mlir 2>&1 | FileCheck %s
// CHECK: w2
// CHECK: "model" on dim 0
// RUN: not tp-opt %s --tp-shard --tp-explain=w3 -o %t.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: [TP0614] {{.*}}w3
// RUN: not tp-opt %s --tp-propagate --tp-explain=w2 -o %t.mlir 2>&1 | FileCheck %s --check-prefix=RECORD
// RECORD: [TP0615]

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
