// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A tensor that is gathered whole on its way from one cut to another says so,
// with its bytes and the two shardings that ask for it: blocks of 3, 3, 3 and 1
// rows do not join to blocks of 5.
//
// RUN: tp-opt %s --tp-shard=stop-after=collectives -o %t.mlir
// RUN: tp-opt %t.mlir --tp-remark-collectives --remarks-filter=tp-comm -o %t.out 2>&1 | FileCheck %s

// CHECK: the whole tensor is gathered, because no cheaper way exists from [{"x"}, {}] to [{"x":(1)2}, {}]
// CHECK-SAME: bytes=480

spmd.mesh @mesh <["x"=4]>

func.func @main(%x: tensor<10x10xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) -> tensor<10x10xf32> {
  %0 = spmd.constraint %x <@mesh, [{"x":(1)2}, {}]> : tensor<10x10xf32>
  %1 = tp.tanh %0 : tensor<10x10xf32>
  return %1 : tensor<10x10xf32>
}
