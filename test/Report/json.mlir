// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every kind of collective, a loop, a sub-axis, a cache and a padded weight give
// the report that the contract asks for, before Localize and after.

// RUN: tp-opt %s --mlir-print-debuginfo --tp-report="file=%t.json table=false machine=h200" -o %t.same 2>&1 | count 0
// RUN: %python %S/schema.py %t.json
// RUN: FileCheck %s --input-file=%t.json
// RUN: tp-opt %s --tp-localize --tp-report="file=%t.local.json table=false machine=h200" -o %t.mlir
// RUN: %python %S/schema.py %t.local.json
// RUN: FileCheck %s --input-file=%t.local.json
// RUN: tp-opt %s --tp-report="table=false machine=h200 file=-" -o %t.same | diff - %t.json

// CHECK:      "version": 1,
// CHECK:      "meshes": [
// CHECK:        "name": "mesh"
// CHECK:      "mesh": [
// CHECK-NEXT:   {
// CHECK-NEXT:    "axis": "data",
// CHECK-NEXT:    "size": 2
// CHECK:      "machine": "h200"
// CHECK:      "name": "main"

spmd.mesh @mesh <["data"=2, "model"=4]>

func.func @main(
    %x: tensor<8x512xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
    %w1: tensor<512x2046xf32> {tp.name = "w1",
        tp.source = #tp.source<"w1", stored=[512, 2046], start=[0, 0], size=[512, 2046], view=[512, 2046], permutation=[0, 1]>,
        spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
    %w2: tensor<2046x512xf32> {tp.name = "w2", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
    %c: tensor<64x16xbf16> {tp.name = "cache", tp.donated = 1 : i64,
        spmd.sharding = #spmd.sharding<@mesh, [{"model":(1)2}, {}]>})
    -> (tensor<8x512xf32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{}, {"data"}]>},
        tensor<64x16xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(1)2}, {}]>}) {
  %h = tp.einsum "bi,io->bo" %x, %w1 {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {"model"}]>]}
      : (tensor<8x512xf32>, tensor<512x2046xf32>) -> tensor<8x2046xf32> loc("model.layers.0.up")
  %p = tp.einsum "bo,oi->bi" %h, %w2 {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {}], unreduced={"model"}>]}
      : (tensor<8x2046xf32>, tensor<2046x512xf32>) -> tensor<8x512xf32> loc("model.layers.0.down")

  // The payload of a reduce-scatter is its whole input, 3/4 of it are sent.
  // CHECK:      "kind": "reduce_scatter",
  // CHECK-NEXT: "axes": [
  // CHECK-NEXT:  "model"
  // CHECK-NEXT: ],
  // CHECK-NEXT: "op": "sum",
  // CHECK-NEXT: "group_size": 4,
  // CHECK-NEXT: "bytes": 8192,
  // CHECK-NEXT: "wire_bytes": 6144,
  // CHECK-NEXT: "shares": [
  // CHECK-NEXT: {
  // CHECK-NEXT: "kind": "reduce_scatter",
  // CHECK-NEXT: "op": "sum",
  // CHECK-NEXT: "bytes": 8192,
  // CHECK-NEXT: "wire_bytes": 6144
  // CHECK-NEXT: }
  // CHECK-NEXT: ],
  // CHECK-NEXT: "times": 1,
  // CHECK-NEXT: "predicted_us": 10.017,
  // CHECK-NEXT: "loc": "{{.*}}json.mlir:[[#@LINE+6]]:8",
  // CHECK-NEXT: "reason": "inner dimension: a dimension cut along {model} was contracted, and tp.add needs the sum",
  // CHECK-NEXT: "value": "model.layers.0.down",
  // CHECK-NEXT: "layer": "layers.0",
  // CHECK-NEXT: "requested": false,
  // CHECK-NEXT: "advice": "",
  %s = spmd.reduce_scatter %p [{}, {"model"}] in <@mesh, [{"data"}, {}], unreduced={"model"}> out <@mesh, [{"data"}, {"model"}]>
      {tp.why = #tp.why<reasons = [<kind = contracted, user = "tp.add", axes = <{"model"}>>]>} : tensor<8x512xf32> -> tensor<8x512xf32>

  // That of a gather is its whole output. The chain leads back to its value.
  // CHECK:      "kind": "all_gather",
  // CHECK:      "op": "none",
  // CHECK-NEXT: "group_size": 4,
  // CHECK-NEXT: "bytes": 8192,
  // CHECK-NEXT: "wire_bytes": 6144,
  // CHECK:      "value": "model.layers.0.down",
  %g = spmd.all_gather %s [{}, {"model"}] in <@mesh, [{"data"}, {"model"}]> out <@mesh, [{"data"}, {}]>
      {tp.why = #tp.why<reasons = [<kind = gathered, user = "tp.for", axes = <{"model"}>>]>} : tensor<8x512xf32> -> tensor<8x512xf32>
  %r = tp.for 3 (%g) {
  ^bb0(%i: tensor<i32>, %a: tensor<8x512xf32>):
    %q = tp.einsum "bo,oi->bi" %h, %w2 {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {}], unreduced={"model"}>]}
        : (tensor<8x2046xf32>, tensor<2046x512xf32>) -> tensor<8x512xf32> loc("model.layers.1.down")

    // CHECK:      "kind": "all_reduce",
    // CHECK:      "bytes": 8192,
    // CHECK-NEXT: "wire_bytes": 12288,
    // CHECK:      "times": 3,
    // CHECK:      "advice": "cut 'model.layers.1.down' along {model}, say on dim 0,
    %t = spmd.all_reduce %q {"model"} in <@mesh, [{"data"}, {}], unreduced={"model"}> out <@mesh, [{"data"}, {}]>
        {tp.why = #tp.why<reasons = [<kind = contracted, user = "tp.yield", axes = <{"model"}>>]>} : tensor<8x512xf32> -> tensor<8x512xf32>
    tp.yield %t : tensor<8x512xf32>
  } {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {}]>]} : (tensor<8x512xf32>) -> tensor<8x512xf32>

  // CHECK:      "kind": "all_to_all",
  // CHECK-NEXT: "axes": [
  // CHECK-NEXT:  "data"
  // CHECK:      "bytes": 8192,
  // CHECK-NEXT: "wire_bytes": 4096,
  // CHECK:      "requested": true,
  %m = spmd.all_to_all %r ["data": 0 -> 1] in <@mesh, [{"data"}, {}]> out <@mesh, [{}, {"data"}]>
      {tp.why = #tp.why<reasons = [<kind = moved, user = "func.return">], requested = true>} : tensor<8x512xf32> -> tensor<8x512xf32>

  // Between the halves of an axis; half as many bytes per element.
  // CHECK:      "kind": "collective_permute",
  // CHECK-NEXT: "axes": [
  // CHECK-NEXT:  "model"
  // CHECK:      "group_size": 4,
  // CHECK-NEXT: "bytes": 1024,
  // CHECK-NEXT: "wire_bytes": 1024,
  // CHECK:      "value": "cache",
  %n = spmd.collective_permute %c in <@mesh, [{"model":(1)2}, {}]> out <@mesh, [{"model":(2)2}, {}]>
      {tp.why = #tp.why<reasons = [<kind = moved, user = "tp.exp">]>} : tensor<64x16xbf16> -> tensor<64x16xbf16>

  // Half of an axis: written with its place.
  // CHECK:      "kind": "all_gather",
  // CHECK-NEXT: "axes": [
  // CHECK-NEXT:  "model:(1)2"
  // CHECK-NEXT: ],
  // CHECK:      "group_size": 2,
  %k = spmd.all_gather %c [{"model":(1)2}, {}] in <@mesh, [{"model":(1)2}, {}]> out <@mesh, [{}, {}]>
      : tensor<64x16xbf16> -> tensor<64x16xbf16>
  return %m, %c : tensor<8x512xf32>, tensor<64x16xbf16>
}

// CHECK:      "inputs": [
// CHECK:      "name": "x",
// CHECK-NEXT: "role": "input",
// CHECK-NEXT: "role_given": false,
// CHECK-NEXT: "global": "f32[8,512]",
// CHECK-NEXT: "local": "f32[4,512]",
// CHECK-NEXT: "sharding": "[{\"data\"}, {}]",
// CHECK-NEXT: "bytes": 8192,
// CHECK-NEXT: "padding_bytes": 0
// CHECK:      "name": "w1",
// CHECK-NEXT: "role": "parameter",
// CHECK-NEXT: "role_given": false,
// CHECK-NEXT: "global": "f32[512,2046]",
// CHECK-NEXT: "local": "f32[512,512]",
// CHECK:      "padding_bytes": 4096
// CHECK:      "name": "cache",
// CHECK-NEXT: "role": "state",
// CHECK-NEXT: "role_given": false,
// CHECK-NEXT: "global": "bf16[64,16]",
// CHECK-NEXT: "local": "bf16[32,16]",
// CHECK-NEXT: "sharding": "[{\"model\":(1)2}, {}]",
// CHECK:      "outputs": [
// CHECK:      "name": "y",
// CHECK-NEXT: "role": "output",
// CHECK:      "name": "result1",
// CHECK-NEXT: "role": "state",
// CHECK:      "layers": [
// CHECK:      "name": "layers.0",
// CHECK-NEXT: "comm_us": 20.033,
// CHECK:      "name": "layers.1",
// CHECK-NEXT: "comm_us": 30.100,
// CHECK:      "memory": {
// CHECK-NEXT: "parameters": 1048576,
// CHECK:      "kv_cache": 0,
// CHECK-NEXT: "state": 1024,
// CHECK:      "capacity": 141000000000,
// CHECK-NEXT: "fits": true,
// CHECK-NEXT: "missing": 0,
// Two products, and the second three times more: 2 * 4 * 512 * 512 each.
// CHECK:      "flops_per_device": 10485760,
// CHECK:      "timed": true,
// CHECK:      "verified": "off",
