// Equal layers are one line: of the largest collectives, of the arguments, and of what
// layers take. A sum belongs to the layer that produced it, not to the one that reads it.

// RUN: tp-opt %s --tp-shard=machine=h100 --tp-report=%t.json -o /dev/null 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json
// RUN: %python %S/schema.py %t.json

// CHECK:      @main: 3 all_reduce;
// CHECK-NEXT:   on model=2, 2 devices (h100)
// CHECK-NEXT:   verified: field, by computing this program and the whole program
// CHECK-NEXT:   predicted: {{[0-9.]+}} us per call, if devices wait for each collective
// CHECK:        largest, by bytes sent
// CHECK-NEXT:     {{.*}} all_reduce {model} of layers.0..2.down, each
// CHECK-NOT:      all_reduce
// CHECK:        arguments, and bytes of each on a device
// CHECK-NEXT:     x              f32[8,1024]     whole              32.0 KiB
// CHECK-NEXT:     layers.0..2.w  f32[1024,4096]  [{}, {"model"}]     8.0 MiB
// CHECK-NEXT:     layers.0..2.v  f32[4096,1024]  [{"model"}, {}]     8.0 MiB
// CHECK:        results
// CHECK-NEXT:     y  f32[8,1024]  whole    32.0 KiB
// CHECK:        layers
// CHECK-NEXT:     layers.0..2, each: communication {{.*}} us, compute {{.*}} us

// JSON-COUNT-3: "layer": "layers.{{[0-2]}}"
// JSON:         "predicted_s": 0.0000{{[0-9]+}}

spmd.mesh @mesh <["model"=2]>

func.func @main(%x: tensor<8x1024xf32> {tp.name = "x"},
                %w0: tensor<1024x4096xf32> {tp.name = "layers.0.w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %v0: tensor<4096x1024xf32> {tp.name = "layers.0.v", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                %w1: tensor<1024x4096xf32> {tp.name = "layers.1.w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %v1: tensor<4096x1024xf32> {tp.name = "layers.1.v", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                %w2: tensor<1024x4096xf32> {tp.name = "layers.2.w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %v2: tensor<4096x1024xf32> {tp.name = "layers.2.v", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x1024xf32> {tp.name = "y"}) {
  %h0 = tp.einsum "bi,io->bo" %x, %w0 : (tensor<8x1024xf32>, tensor<1024x4096xf32>) -> tensor<8x4096xf32> loc("layers.0.up")
  %a0 = tp.relu %h0 : tensor<8x4096xf32> loc("layers.0.relu")
  %y0 = tp.einsum "bo,oi->bi" %a0, %v0 : (tensor<8x4096xf32>, tensor<4096x1024xf32>) -> tensor<8x1024xf32> loc("layers.0.down")
  %z0 = tp.exp %y0 : tensor<8x1024xf32> loc("layers.1.exp")
  %h1 = tp.einsum "bi,io->bo" %z0, %w1 : (tensor<8x1024xf32>, tensor<1024x4096xf32>) -> tensor<8x4096xf32> loc("layers.1.up")
  %a1 = tp.relu %h1 : tensor<8x4096xf32> loc("layers.1.relu")
  %y1 = tp.einsum "bo,oi->bi" %a1, %v1 : (tensor<8x4096xf32>, tensor<4096x1024xf32>) -> tensor<8x1024xf32> loc("layers.1.down")
  %z1 = tp.exp %y1 : tensor<8x1024xf32> loc("layers.2.exp")
  %h2 = tp.einsum "bi,io->bo" %z1, %w2 : (tensor<8x1024xf32>, tensor<1024x4096xf32>) -> tensor<8x4096xf32> loc("layers.2.up")
  %a2 = tp.relu %h2 : tensor<8x4096xf32> loc("layers.2.relu")
  %y2 = tp.einsum "bo,oi->bi" %a2, %v2 : (tensor<8x4096xf32>, tensor<4096x1024xf32>) -> tensor<8x1024xf32> loc("layers.2.down")
  %z2 = tp.exp %y2 : tensor<8x1024xf32>
  return %z2 : tensor<8x1024xf32>
}
