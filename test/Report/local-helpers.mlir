// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a local program has for itself, as a constant from which every device
// cuts its block, counts as held whole.
//
// RUN: tp-opt %s --tp-shard --tp-report=%t.json -o /dev/null
// RUN: FileCheck %s < %t.json
// CHECK: "peak_bytes_per_device"

spmd.mesh @mesh <["x"=2]>
func.func @main(%a: tensor<4xi32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<4xi32> {
  %0 = tp.constant dense<[2, 1, 3, 4]> : tensor<4xi32>
  %1 = tp.add %a, %0 : tensor<4xi32>
  return %1 : tensor<4xi32>
}
