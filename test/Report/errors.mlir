// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the reporting passes and the machine option refuse.
//
// RUN: not tp-opt %s --tp-shard="machine=abacus" -o %t.mlir 2>&1 | FileCheck %s --check-prefix=MACHINE
// MACHINE: [TP0610] {{.*}}abacus
// RUN: echo '{"name": "m", "flops": -1}' > %t.machine.json
// RUN: not tp-opt %s --tp-shard="machine=%t.machine.json" -o %t.mlir 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: [TP0611]
// RUN: not tp-opt %s --tp-shard --tp-report=%t.absent/report.json -o %t.mlir 2>&1 | FileCheck %s --check-prefix=WRITE
// WRITE: [TP0612]
// RUN: not tp-opt %s --tp-shard --tp-report=%t.report.txt -o %t.mlir 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: [TP0613]

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
