// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The machine that the program was planned for is remembered, gives the links of
// a mesh without any, and decides: where a launch costs time, two become one.

// RUN: tp-opt %s --tp-shard=machine=h200 --tp-report="file=%t.json table=false" -o %t.mlir
// RUN: %python %S/schema.py %t.json
// RUN: FileCheck %s --input-file=%t.json
// RUN: FileCheck %s --input-file=%t.mlir --check-prefix=IR
// RUN: echo '{"name": "slow", "flops": 1e12, "memory_bandwidth": 1e12, "memory_bytes": 700, "link": {"us": 1.0, "gbps": 1.0}}' > %t.slow.json
// RUN: tp-opt %s --tp-shard=machine=h200 --tp-report="machine=%t.slow.json" -o %t.mlir 2>&1 | FileCheck %s --check-prefix=SLOW

// IR: module attributes {tp.plan = #tp.plan<machine = "h200"

// CHECK: "machine": "h200"
// CHECK: "kind": "all_reduce"
// CHECK: "predicted_us": 10.00
// CHECK: "fits": true
// CHECK: "timed": true

// SLOW: (slow)
// SLOW: DOES NOT FIT: {{.*}} of 700 B, {{[0-9]+}} B are missing

spmd.mesh @mesh <["model"=4]>

func.func @main(
    %x: tensor<8x16xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
    %w: tensor<16x8xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %0 = tp.einsum "bi,io->bo" %x, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
