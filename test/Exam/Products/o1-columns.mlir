// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// O1: columns of the right operand are cut (column-parallel linear).
// Outer dimensions are independent.
//
// EXPECT: none
//
// RUN: tp-opt %s --tp-shard --tp-report=%t.json -o %t.mlir
// RUN: %python %S/../figures.py %s %t.json
// RUN: tp-opt %t.mlir --tp-verify-against=whole=%s -o %t.checked
// RUN: tp-opt %s --tp-shard="mesh=x=1" | tp-opt --tp-verify-against=whole=%s -o %t.checked
// RUN: tp-opt %s --tp-shard="mesh=x=2" | tp-opt --tp-verify-against=whole=%s -o %t.checked
// RUN: tp-opt %s --tp-shard="mesh=x=3" | tp-opt --tp-verify-against=whole=%s -o %t.checked
// RUN: tp-opt %s --tp-shard="mesh=x=5" | tp-opt --tp-verify-against=whole=%s -o %t.checked
// RUN: tp-opt %s --tp-shard="mesh=x=8" | tp-opt --tp-verify-against=whole=%s -o %t.checked

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<64x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
                %w: tensor<32x48xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<64x48xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) {
  %y = tp.einsum "ik,kj->ij" %x, %w : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  return %y : tensor<64x48xf32>
}
