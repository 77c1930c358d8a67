// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rows that index vectors count are cut where that saves enough for the
// launches that it adds.
//
// RUN: tp-opt %s --tp-shard --tp-report -o %t 2>&1 | FileCheck %s
// RUN: tp-opt %t --tp-verify-against=whole=%s -o /dev/null

spmd.mesh @mesh <["model"=4]>
!scores = tensor<4x9x8xf32>
!chosen = tensor<4x9x3xi32>
!gates = tensor<4x9x3xf32>

// A router of 8 experts. Cut by rows, scores are exchanged and gates gathered:
// 540 bytes. Whole, the gates that a device has not are summed: 648 bytes, in
// one launch.
// CHECK-LABEL: @router: 1 all_reduce;
// CHECK-NOT: all_to_all
func.func @router(
    %scores: !scores {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"model"}]>},
    %chosen: !chosen)
    -> !gates {
  %gates = tp.gather %scores, %chosen axis = 2 batch = 2 {tp.counted = array<i64: 0, 1>}
      : (!scores, !chosen) -> !gates
  return %gates : !gates
}

// A table of which a device has rows. Cut by rows, places and what is found move;
// whole, one launch gathers the table.
// CHECK-LABEL: @table: 2 all_to_all;
func.func @table(
    %table: tensor<4x512xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
    %places: tensor<4x8xi32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>}) {
  %found = tp.gather %table, %places axis = 1 batch = 1 {tp.counted = array<i64: 0>}
      : (tensor<4x512xf32>, tensor<4x8xi32>) -> tensor<4x8xf32>
  return %found : tensor<4x8xf32>
}
