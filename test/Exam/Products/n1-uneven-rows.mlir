// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// N1: 14 rows over 4.
// Row-wise work does not see the padding.
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

func.func @main(%a: tensor<14x6xf32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<14x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %y = tp.exp %a : tensor<14x6xf32>
  return %y : tensor<14x6xf32>
}
