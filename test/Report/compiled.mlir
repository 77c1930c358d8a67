// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The report of a compile counts what the artifact allocates: the input, the result and
// an arena for two products, of 2, 2 and 16 KiB. The plan would keep the third, too.

// RUN: tp-opt %s --tp-compile --tp-artifact=%t.tpx --tp-report=file=%t.json -o %t.steps 2>&1 | FileCheck %s
// RUN: %python %S/schema.py %t.json
// RUN: FileCheck %s --input-file=%t.json --check-prefix=JSON
// RUN: FileCheck %s --input-file=%t.steps --check-prefix=STEPS

// CHECK:      activations       20.0 KiB  as compiled; 26.0 KiB as planned, most at {{.*}}

// JSON:      "activations": 20480,
// JSON:      "compiled": true,
// JSON-NEXT: "planned": [[#PLANNED:]]
// JSON:      "kind": "compiled",

// STEPS:      step.program @main {{.*}} arena 16384

// The artifact does not depend on whether a report was asked for.
// RUN: tp-opt %s --tp-compile --tp-artifact=%t.plain.tpx -o %t.plain.steps
// RUN: cmp %t.tpx %t.plain.tpx

// On GPUs the matrix library has a workspace of 32 MiB, too.
// RUN: tp-opt %s --tp-compile=target=cuda --tp-report=file=%t.cuda.json -o %t.steps
// RUN: %python %S/schema.py %t.cuda.json
// RUN: FileCheck %s --input-file=%t.cuda.json --check-prefix=CUDA
// CUDA: "activations": 33574912,

// Without a compile, it is what the plan counts on.
// RUN: tp-opt %s --tp-shard --tp-report=file=%t.shard.json -o %t.steps
// RUN: FileCheck %s --input-file=%t.shard.json --check-prefix=SHARD
// SHARD:      "activations": [[#PLANNED:]],
// SHARD:      "compiled": false,
// SHARD-NEXT: "planned": [[#PLANNED]]

spmd.mesh @mesh <["model"=2]>

func.func @main(%x: tensor<8x64xf32>,
                %up: tensor<64x512xf32> {tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %down: tensor<512x64xf32> {tp.role = "parameter"}) -> tensor<8x64xf32> {
  %0 = tp.einsum "bi,io->bo" %x, %up : (tensor<8x64xf32>, tensor<64x512xf32>) -> tensor<8x512xf32>
  %1 = tp.tanh %0 : tensor<8x512xf32>
  %2 = tp.mul %1, %0 : tensor<8x512xf32>
  %3 = tp.einsum "bo,oi->bi" %2, %down : (tensor<8x512xf32>, tensor<512x64xf32>) -> tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}
