// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Memory is counted by role, a result has the role of the argument that it
// overwrites, and the report says which roles are given.

// RUN: tp-opt %s --tp-report="file=%t.json" -o /dev/null 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: %python %S/schema.py %t.json
// RUN: FileCheck %s --input-file=%t.json
// RUN: tp-opt %s --tp-report="file=%t.html table=false" -o /dev/null
// RUN: FileCheck %s --check-prefix=HTML --input-file=%t.html

// TABLE:      parameters          16 B
// TABLE-NEXT: kv cache            32 B
// TABLE-NEXT: state               64 B
// TABLE-NEXT: gradients           16 B
// TABLE-NEXT: optimizer           16 B

// HTML: <td>parameter</td>
// HTML: <td>state (no role given)</td>

spmd.mesh @mesh <["x"=2]>

func.func @main(
    %w: tensor<4xf32> {tp.name = "w", tp.role = "parameter", tp.donated = 0 : i64, spmd.sharding = #spmd.sharding<@mesh, [{}]>},
    %g: tensor<4xf32> {tp.name = "g", tp.role = "gradient", spmd.sharding = #spmd.sharding<@mesh, [{}]>},
    %m: tensor<4xf32> {tp.name = "m", tp.role = "optimizer_state", tp.donated = 1 : i64, spmd.sharding = #spmd.sharding<@mesh, [{}]>},
    %k: tensor<8xf32> {tp.name = "k", tp.role = "kv_cache", spmd.sharding = #spmd.sharding<@mesh, [{}]>},
    %s: tensor<16xf32> {tp.name = "s", tp.donated = 2 : i64, spmd.sharding = #spmd.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>},
        tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>, tp.role = "optimizer_state"},
        tensor<16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>},
        tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>},
        tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>, tp.role = "gradient"}) {
  return %w, %m, %s, %g, %g : tensor<4xf32>, tensor<4xf32>, tensor<16xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK:      "name": "w",
// CHECK-NEXT: "role": "parameter",
// CHECK-NEXT: "role_given": true,
// CHECK:      "name": "g",
// CHECK-NEXT: "role": "gradient",
// CHECK-NEXT: "role_given": true,
// CHECK:      "name": "s",
// CHECK-NEXT: "role": "state",
// CHECK-NEXT: "role_given": false,
// CHECK:      "name": "result0",
// CHECK-NEXT: "role": "parameter",
// CHECK-NEXT: "role_given": false,
// CHECK:      "name": "result1",
// CHECK-NEXT: "role": "optimizer_state",
// CHECK-NEXT: "role_given": true,
// CHECK:      "name": "result2",
// CHECK-NEXT: "role": "state",
// CHECK-NEXT: "role_given": false,
// CHECK:      "name": "result3",
// CHECK-NEXT: "role": "output",
// CHECK-NEXT: "role_given": false,
// CHECK:      "name": "result4",
// CHECK-NEXT: "role": "gradient",
// CHECK-NEXT: "role_given": true,
// CHECK:      "parameters": 16,
// CHECK:      "kv_cache": 32,
// CHECK-NEXT: "state": 64,
// CHECK-NEXT: "gradients": 16,
// CHECK-NEXT: "optimizer": 16,
