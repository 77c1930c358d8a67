// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A manual region keeps its sizes, and this one is too large to be run: a
// warning says so, and the report does not call the program computed.

// RUN: tp-opt %s --tp-shard --tp-report="file=%t.json table=false" -o %t.mlir 2>&1 | FileCheck %s --check-prefix=WARNING
// RUN: FileCheck %s --check-prefix=REPORT --input-file=%t.json
// RUN: sed 's/2097152/2048/g; s/4194304/4096/g' %s > %t.small.mlir
// RUN: tp-opt %t.small.mlir --tp-shard --tp-report="file=%t.json table=false" -o %t.mlir 2>&1 | count 0
// RUN: FileCheck %s --check-prefix=SMALL --input-file=%t.json

// WARNING: uncovered.mlir:[[@LINE+10]]:{{.*}}: warning: the local form of spmd.manual is not verified by computing it: its tensors are too large for the interpreter
// REPORT: "verified": "static"
// SMALL: "verified": "field"

spmd.mesh @mesh <["x"=2]>

func.func @main(%a: tensor<4194304xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>})
    -> (tensor<4194304xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) {
  %0 = tp.neg %a : tensor<4194304xf32>

  %1 = spmd.manual (%0) in [<@mesh, [{"x"}]>] out [<@mesh, [{"x"}]>] axes {"x"} {
  ^bb0(%b: tensor<2097152xf32>):
    %c = spmd.shift %b along @mesh {"x"} by 1 wrap : tensor<2097152xf32>
    spmd.return %c : tensor<2097152xf32>
  } : (tensor<4194304xf32>) -> tensor<4194304xf32>
  return %1 : tensor<4194304xf32>
}
