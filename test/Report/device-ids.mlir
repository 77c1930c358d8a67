// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// On two hosts of two devices, the axis that is summed along stays on a host or
// joins both, as the mesh places its devices: the time is that of the link, the
// table and the JSON say the order, and pictures show devices.

// RUN: split-file %s %t
// RUN: tp-opt %t/main.mlir --tp-shard=machine=%t/hosts.json --tp-report="file=%t/plain.json" -o %t/out.mlir 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: FileCheck %s --input-file=%t/plain.json --check-prefix=INSIDE
// RUN: sed 's/"y"=2\]/"y"=2], device_ids=[0, 2, 1, 3]/' %t/main.mlir > %t/turned.mlir
// RUN: tp-opt %t/turned.mlir --tp-shard=machine=%t/hosts.json --tp-report="file=%t/turned.json" -o %t/out.mlir 2>&1 | FileCheck %s --check-prefix=TURNED
// RUN: FileCheck %s --input-file=%t/turned.json --check-prefix=BETWEEN
// RUN: %python %S/schema.py %t/plain.json
// RUN: %python %S/schema.py %t/turned.json

// An order of more devices than one reads at a glance is not spelt out.
// RUN: tp-opt %t/many.mlir --tp-shard --tp-report -o %t/out.mlir 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: on x=17, 17 devices in the order of device_ids

// PLAIN: on x=2 x y=2, 4 devices
// PLAIN-NOT: in the order
// TURNED: on x=2 x y=2, 4 devices in the order 0 2 1 3

// INSIDE-NOT: device_ids
// INSIDE: "kind": "all_reduce"
// INSIDE: "y"
// INSIDE: "predicted_us": 1.00
// BETWEEN: "device_ids": [
// BETWEEN-NEXT: 0,
// BETWEEN-NEXT: 2,
// BETWEEN-NEXT: 1,
// BETWEEN-NEXT: 3
// BETWEEN: "kind": "all_reduce"
// BETWEEN: "y"
// BETWEEN: "predicted_us": 50.0

//--- hosts.json
{"name": "hosts", "flops": 1e12, "memory_bandwidth": 1e12,
 "link": {"us": 1.0, "gbps": 100.0},
 "host": {"devices": 2, "link": {"us": 50.0, "gbps": 10.0}}}

//--- main.mlir
spmd.mesh @mesh <["x"=2, "y"=2]>

func.func @main(
    %x: tensor<8x16xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>},
    %w: tensor<16x8xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = tp.einsum "bi,io->bo" %x, %w : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

//--- many.mlir
spmd.mesh @mesh <["x"=17], device_ids=[16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>

func.func @main(%x: tensor<34xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<34xf32> {
  %0 = tp.exp %x : tensor<34xf32>
  return %0 : tensor<34xf32>
}
