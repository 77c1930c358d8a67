// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// In a manual region types are what a device holds; a shift is a permute. What
// loops of unknown length and branches do is counted once, and says so.

// RUN: tp-opt %s --tp-report="file=- table=false" -o %t.mlir | FileCheck %s
// RUN: tp-opt %s --tp-report="file=%t.json table=false" -o %t.mlir
// RUN: %python %S/schema.py %t.json

spmd.mesh @mesh <["x"=4]>

// CHECK:      "machine": null,
// CHECK:      "kind": "collective_permute",
// CHECK-NEXT: "axes": [
// CHECK-NEXT:  "x"
// CHECK-NEXT: ],
// CHECK-NEXT: "op": "none",
// CHECK-NEXT: "group_size": 4,
// CHECK-NEXT: "bytes": 32,
// CHECK-NEXT: "wire_bytes": 32,
// CHECK-NEXT: "shares": [
// CHECK:      ],
// CHECK-NEXT: "times": 1,
// CHECK-NEXT: "predicted_us": 0.000,
// CHECK:      "requested": true,
// CHECK-NEXT: "advice": "",
// CHECK-NEXT: "note": ""

// CHECK:      "kind": "all_reduce",
// CHECK:      "note": "in a branch of tp.case: counted as if always taken"
// CHECK:      "timed": false,
func.func @main(%a: tensor<32xf32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>},
                %p: tensor<i32> {spmd.sharding = #spmd.sharding<@mesh, []>},
                %q: tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>})
    -> (tensor<32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  %0 = spmd.manual (%a) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x"} {
  ^bb0(%b: tensor<8xf32>):
    %c = spmd.shift %b along @mesh {"x"} by 1 wrap : tensor<8xf32>
    spmd.return %c : tensor<8xf32>
  } {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}]>]} : (tensor<32xf32>) -> tensor<32xf32>
  %1 = spmd.to_partial %q {"x"} in <@mesh, [{}]> out <@mesh, [{}], unreduced={"x"}> : tensor<8xf32> -> tensor<8xf32>
  %2 = tp.case %p {
    %3 = spmd.all_reduce %1 {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
    tp.yield %3 : tensor<8xf32>
  }, {
    tp.yield %q : tensor<8xf32>
  } {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : (tensor<i32>) -> tensor<8xf32>
  return %0 : tensor<32xf32>
}
