// RUN: tp-opt %s --verify-roundtrip | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

// A function with the usual annotations prints as it was read: names, the place
// of a weight in its file, a cache that a result overwrites, shardings.
// CHECK: spmd.mesh @mesh <["data"=2, "model"=4]>
spmd.mesh @mesh <["data"=2, "model"=4]>

// CHECK-LABEL: func.func @mlp(
// CHECK-SAME: {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>, tp.name = "x"}
// CHECK-SAME: {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model", ?}p1]>, tp.name = "w1"}
// CHECK-SAME: tp.source = #tp.source<"w2", stored=[512, 2048], start=[0, 0], size=[512, 2048], view=[512, 2048], permutation=[1, 0]>
// CHECK-SAME: {tp.donated = 1 : i64, tp.role = "kv_cache"}
// CHECK-SAME: {tp.micro_batches}
// CHECK-SAME: -> (tensor<8x512xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}], unreduced=max{"model":(1)2}>, tp.name = "y"}, tensor<64xf32> {tp.role = "kv_cache"})
func.func @mlp(%x: tensor<8x512xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
               %w1: tensor<512x2048xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model", ?}p1]>},
               %w2: tensor<2048x512xf32> {tp.name = "w2", tp.source = #tp.source<"w2", stored=[512, 2048], start=[0, 0], size=[512, 2048], view=[512, 2048], permutation=[1, 0]>},
               %cache: tensor<64xf32> {tp.donated = 1, tp.role = "kv_cache"},
               %labels: tensor<4x8xi32> {tp.micro_batches})
    -> (tensor<8x512xf32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}], unreduced=max{"model":(1)2}>},
        tensor<64xf32> {tp.role = "kv_cache"}) {
  // CHECK: tp.einsum "bi,io->bo"
  %0 = tp.einsum "bi,io->bo" %x, %w1 : (tensor<8x512xf32>, tensor<512x2048xf32>) -> tensor<8x2048xf32>
  // CHECK: tp.gelu tanh {{.+}} {tp.gradient = ["w1"]}
  %1 = tp.gelu tanh %0 {tp.gradient = ["w1"]} : tensor<8x2048xf32>
  // CHECK: spmd.constraint %{{.+}} <@mesh, [{?}, {"model"}]> : tensor<8x2048xf32>
  %2 = spmd.constraint %1 <@mesh, [{?}, {"model"}]> : tensor<8x2048xf32>
  // CHECK: tp.einsum "bo,oi->bi" {{.+}} {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]}
  %3 = tp.einsum "bo,oi->bi" %2, %w2 {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : (tensor<8x2048xf32>, tensor<2048x512xf32>) -> tensor<8x512xf32>
  return %3, %cache : tensor<8x512xf32>, tensor<64xf32>
}

// Element types of weights in use, and an argument that is not a tensor.
// CHECK-LABEL: func.func @types
func.func @types(%a: tensor<4xf8E4M3FN>, %b: tensor<4xf8E5M2>, %c: index, %d: tensor<4xi4>) {
  return
}

// A weight that is joined of two stored tensors, as it is and as a rank holds it.
// CHECK-LABEL: func.func @joined
// CHECK-SAME: tp.source = #tp.join<dim = 1, [#tp.source<"gate", stored=[3, 4], start=[0, 0], size=[3, 4], view=[3, 4], permutation=[1, 0]>, #tp.source<"up", stored=[5, 8], start=[0, 4], size=[5, 4], view=[5, 4], permutation=[1, 0]>]>
// CHECK-SAME: tp.source = #tp.join<dim = 0, [#tp.source<"a", {{.+}}>, #tp.source<"b", {{.+}}>]>
func.func @joined(%w: tensor<4x8xf32> {tp.source = #tp.join<dim = 1, [
                    #tp.source<"gate", stored=[3, 4], start=[0, 0], size=[3, 4], view=[3, 4], permutation=[1, 0]>,
                    #tp.source<"up", stored=[5, 8], start=[0, 4], size=[5, 4], view=[5, 4], permutation=[1, 0]>]>},
                  %local: tensor<2xf32, #spmd.local<@mesh, [{"model"}], global=[5]>> {tp.source = #tp.join<dim = 0, [
                    #tp.source<"a", stored=[3], start=[0], size=[3], view=[3], permutation=[0]>,
                    #tp.source<"b", stored=[2], start=[0], size=[2], view=[2], permutation=[0]>]>}) {
  return
}
