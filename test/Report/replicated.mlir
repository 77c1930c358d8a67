// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What every device computes alike, by layer: what takes and makes whole tensors. A product
// over a cut dimension, and what is done to its partial sum, are each device's own, and so is
// what stands in a manual region.

// RUN: tp-opt %s --tp-report=file=%t.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: %python %S/schema.py %t.json
// RUN: FileCheck %s --input-file=%t.json
// RUN: tp-opt %s --tp-localize --tp-report -o /dev/null 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: tp-opt %s --tp-report="file=%t.html table=false" -o /dev/null
// RUN: FileCheck %s --check-prefix=TABLE --input-file=%t.html

// TABLE-LABEL: @main
// TABLE:       repeated on every device: 50.0 % of the operations, 100.0 % of layers.1, 5.6 % of
// TABLE-LABEL: @cut
// TABLE-NOT:   repeated on every device

// CHECK:      "name": "layers.0",
// CHECK:      "flops_per_device": 1152,
// CHECK-NEXT: "replicated_flops_per_device": 64
// CHECK:      "name": "layers.1",
// CHECK:      "flops_per_device": 1024,
// CHECK-NEXT: "replicated_flops_per_device": 1024
// CHECK:      "memory": {
// CHECK:      "flops_per_device": 2176,
// CHECK-NEXT: "replicated_flops_per_device": 1088,
// CHECK:      "name": "cut",
// CHECK:      "flops_per_device": 32,
// CHECK-NEXT: "replicated_flops_per_device": 0,

spmd.mesh @mesh <["model"=2]>

func.func @main(
    %x: tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
    %w: tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
    %v: tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %a = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : tensor<8x8xf32> loc("layers.0.norm")
  %b = tp.einsum "bi,io->bo" %a, %w {spmd.shardings = [#spmd.sharding<@mesh, [{}, {"model"}]>]}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("layers.0.up")
  %c = tp.einsum "bi,io->bo" %b, %v {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}], unreduced={"model"}>]}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("layers.0.down")
  %d = tp.neg %c {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}], unreduced={"model"}>]} : tensor<8x8xf32> loc("layers.0.neg")
  %e = spmd.all_reduce %d {"model"} in <@mesh, [{}, {}], unreduced={"model"}> out <@mesh, [{}, {}]> : tensor<8x8xf32> -> tensor<8x8xf32>
  %f = tp.einsum "bi,io->bo" %e, %a {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("layers.1.alike")
  return %f : tensor<8x8xf32>
}

func.func @cut(%x: tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>}) {
  %a = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{"model"}, {}]>]} : tensor<8x8xf32>
  return %a : tensor<8x8xf32>
}
