// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What memory= allows is the capacity of the report, and decides: the weight is
// gathered again, and not along with the others. If nothing fits, a warning says
// so, and the report how much is missing.

// RUN: tp-opt %s --tp-shard --tp-report="file=%t.json table=false" -o /dev/null
// RUN: FileCheck %s --input-file=%t.json --check-prefix=FREE
// RUN: tp-opt %s --tp-shard=memory=12KiB --tp-report="file=%t.json table=false" -o %t.mlir
// RUN: %python %S/schema.py %t.json
// RUN: FileCheck %s --input-file=%t.json --check-prefix=TIGHT
// RUN: FileCheck %s --input-file=%t.mlir --check-prefix=IR
// RUN: tp-opt %s --tp-shard=memory=4096 --tp-report="file=%t.json" -o %t.mlir 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: %python %S/schema.py %t.json

// FREE: "bytes": 8192
// FREE: "times"
// FREE-NOT: "times"
// FREE: "capacity": 0,
// FREE-NEXT: "fits": true,
// FREE-NEXT: "missing": 0,

// TIGHT-COUNT-3: "kind": "all_gather"
// TIGHT: "capacity": 12288,
// TIGHT-NEXT: "fits": true,

// IR: tp.plan = #tp.plan<memory = 12288>
// IR: spmd.all_gather %arg1
// IR: spmd.all_gather %arg2
// IR: spmd.all_gather %arg1

// TABLE: memory.mlir:{{[0-9]+}}:1: warning: [TP0415] @main needs up to {{.*}} of memory on a device, which may use 4.0 KiB
// TABLE: DOES NOT FIT: {{.*}} of 4.0 KiB, {{.*}} are missing

spmd.mesh @mesh <["data"=4]>
#batch = #spmd.sharding<@mesh, [{"data"}, {}]>
!x = tensor<64x32xf32>
!w = tensor<32x32xf32>
func.func @main(
    %x: !x {spmd.sharding = #batch},
    %v: !w {spmd.sharding = #batch, tp.role = "parameter"},
    %w: !w {spmd.sharding = #batch, tp.role = "parameter"})
    -> (!x {spmd.sharding = #batch}) {
  %a = tp.einsum "bi,io->bo" %x, %v : (!x, !w) -> !x
  %b = tp.einsum "bi,io->bo" %a, %w : (!x, !w) -> !x
  %c = tp.einsum "bo,io->bi" %b, %v : (!x, !w) -> !x
  return %c : !x
}
