// RUN: tp-opt %s --tp-report="file=%t.json table=false" -o /dev/null
// RUN: FileCheck %s --input-file=%t.json

// Layers as models of several libraries call them, in order of appearance; a number that is
// of nothing known, or part of a word, is no layer.
// CHECK:      "layers": [
// CHECK:      "name": "layers.0"
// CHECK:      "name": "h.1"
// CHECK:      "name": "encoder.layer.0"
// CHECK:      "name": "decoder.block.12"
// CHECK-NOT:  "name": "
// CHECK:      "memory"

spmd.mesh @mesh <["model"=2]>

func.func @main(%x: tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>})
    -> (tensor<4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>}) {
  %a = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : tensor<4xf32> loc("layers.0")
  %b = tp.neg %a {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : tensor<4xf32> loc("jit(f)/transformer.h.1/dot")
  %c = tp.neg %b {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : tensor<4xf32> loc("encoder.layer.0.output")
  %d = tp.neg %c {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : tensor<4xf32> loc("decoder.block.12.layer.0/add")
  %e = tp.neg %d {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : tensor<4xf32> loc("experts.3.w1")
  %f = tp.neg %e {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : tensor<4xf32> loc("mylayers.3")
  %g = tp.neg %f {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : tensor<4xf32> loc("layers.3b..")
  return %g : tensor<4xf32>
}
