// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Explains a value: the way of its axes, what did not come, what moves it, and
// who holds it. Names are those of arguments and locations.

// RUN: tp-opt %s --tp-shard=stop-after=collectives --tp-explain=w2 -o %t.mlir 2>&1 | FileCheck %s --check-prefix=W2
// RUN: tp-opt %s --tp-shard=stop-after=collectives --tp-explain=out -o %t.mlir 2>&1 | FileCheck %s --check-prefix=OUT
// RUN: tp-opt %s --tp-shard=stop-after=collectives --tp-explain=b -o %t.mlir 2>&1 | FileCheck %s --check-prefix=B
// RUN: tp-opt %s --tp-shard --tp-explain="tp.tanh at line 61" -o %t.mlir 2>&1 | FileCheck %s --check-prefix=BLANKS
// RUN: tp-opt %s --tp-shard --tp-explain -o %t.mlir 2>&1 | FileCheck %s --check-prefix=ALL
// The record is not left in the program.
// RUN: not grep tp.explanations %t.mlir
// RUN: not tp-opt %s --tp-shard --tp-explain=w3 -o %t.mlir 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not tp-opt %s --pass-pipeline="builtin.module(tp-propagate,tp-explain)" -o %t.mlir 2>&1 | FileCheck %s --check-prefix=RECORD

// NAME: error: [TP0614] no value is called 'w3'; near it are 'w1', 'w2', 'b'
// RECORD: error: [TP0615] the module has no record of its propagation: run tp-propagate with explain=true first

// W2:      'w2' in @main, f32[16,8], {{.*}}explain.mlir:
// W2-NEXT:   propagated  [{"model", ?}, {?}]
// W2-NEXT:   now         [{"model"}, {}], per device f32[4,8]
// W2-NEXT:   * "model" on dim 0: written on w1
// W2-NEXT:       to hidden through tp.einsum
// W2:            to w2 through tp.einsum
// W2:        dim 0 down
// W2:        0-3   | 0,4 |
// W2:        12-15 | 3,7 |
// W2-NOT:  in @main

// OUT:     'out' in @main
// OUT:       now         [{"data"}, {}], unreduced={"model"}, per device f32[4,8]
// OUT:       * as {{.*}}: costs {{[0-9.]+ [KMi]*B}} more per device if nothing else changes, with computation converted to bytes
// OUT:       > all_reduce {model}, 192 B sent by every device, for
// OUT-NEXT:      inner dimension: a dimension cut along {model} was contracted
// OUT-NEXT:      to avoid it: cut 'out' along {model}
// OUT:       (devices along {model} hold partial values, whose sum is not computed yet)

// B:       'b' in @main
// B:         now         [{}, {}], per device f32[8,8]
// B:         axis "data" did not reach dim 0 from {{.*}}: the dimension is closed: its annotation has no `?`, or the plan that comes with an imported model does not name it
// B:         every device holds all of it

// BLANKS: 'tp.tanh at line 61' in @main

// ALL:     'x' in @main
// ALL:     'w1' in @main
// ALL:     'hidden' in @main

spmd.mesh @mesh <["data"=2, "model"=4]>

func.func @main(
    %x: tensor<8x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
    %w1: tensor<8x16xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
    %w2: tensor<16x8xf32> {tp.name = "w2"},
    %b: tensor<8x8xf32> {tp.name = "b", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>})
    -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = tp.einsum "bi,io->bo" %x, %w1 : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> loc("hidden")
  %1 = tp.gelu tanh %0 : tensor<8x16xf32>
  %2 = tp.einsum "bo,oi->bi" %1, %w2 : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32> loc("out")
  %3 = tp.tanh %2 : tensor<8x8xf32>
  %4 = tp.add %3, %b : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
